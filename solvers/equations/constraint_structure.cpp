#include "solvers/equations/constraint_structure.hpp"

#include <algorithm>
#include <map>

namespace hindsight {
namespace {

/// Those among `fields` that the derivative of the field's equation may have.
std::vector<std::size_t> read_by(const Model& model, std::size_t field, const std::vector<std::size_t>& fields) {
  const Graph& graph = *model.graph;
  const auto is_condition = [&](NodeId id) {
    const Op op = graph[id].op;
    return op == Op::less || op == Op::less_equal || op == Op::equal;
  };
  std::vector<std::size_t> read;
  const std::vector<NodeId> nodes = reachable({model.right_hand_sides[field]}, is_condition);
  for (const std::size_t f : fields)
    if (std::ranges::any_of(nodes, [&](NodeId id) {
          return graph[id].op == Op::field && graph.fields()[graph[id].symbol] == model.fields[f];
        }))
      read.push_back(f);
  return read;
}

/// Deals the fields out (by paths that take a field away from one constraint, which gets another).
class Matching {
 public:
  explicit Matching(const std::map<std::size_t, std::vector<std::size_t>>& reads) : reads_(reads) {}

  /// @returns whether the constraint has got a field, too.
  bool add(std::size_t constraint) {
    asked_ = {};
    return give(constraint);
  }
  /// Those that the last add() has looked at.
  const Overdetermined& asked() const { return asked_; }

 private:
  bool give(std::size_t constraint) {
    asked_.constraints.push_back(constraint);
    for (const std::size_t field : reads_.at(constraint)) {
      if (std::ranges::find(asked_.fields, field) != asked_.fields.end()) continue;
      asked_.fields.push_back(field);
      const auto owner = owners_.find(field);
      if (owner != owners_.end() && !give(owner->second)) continue;
      owners_[field] = constraint;
      return true;
    }
    return false;
  }

  const std::map<std::size_t, std::vector<std::size_t>>& reads_;
  std::map<std::size_t, std::size_t> owners_;  // by field
  Overdetermined asked_;
};

}  // namespace

Overdetermined overdetermined(const Model& model) {
  std::vector<std::size_t> fields;
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    if (model.is_constrained(f)) fields.push_back(f);
  std::map<std::size_t, std::vector<std::size_t>> reads;
  for (const std::size_t f : fields) reads[f] = read_by(model, f, fields);
  Matching matching(reads);
  for (const std::size_t f : fields)
    if (!matching.add(f)) return matching.asked();
  return {};
}

}  // namespace hindsight
