#include "adjoint/problem/used_unknowns.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>

namespace hindsight {
namespace {

/// Walks from the objective's terms to all that they depend on.
class Dependence {
 public:
  explicit Dependence(const SimulationSpec& spec)
      : spec_(spec), graph_(*spec.model.graph), has_wall_(spec.model.fields.size()) {
    for (const auto& term : spec.terms)
      for (const Expr& e : term->reads()) look_at(e);
  }

  bool reads(const Unknown& unknown) const { return (unknown.is_field() ? fields_ : scalars_).contains(unknown.name); }

 private:
  void look_at(Expr e) {
    for (const NodeId id : reachable({e})) {
      const Node& node = graph_[id];
      if (node.op == Op::scalar) scalars_.insert(graph_.scalars()[node.symbol]);
      if (node.op == Op::field) look_at_field(graph_.fields()[node.symbol], node.offset);
    }
  }

  void look_at_field(const std::string& name, const Offset& offset) {
    const auto found = std::find(spec_.model.fields.begin(), spec_.model.fields.end(), name);
    const bool is_new = fields_.insert(name).second;
    if (found == spec_.model.fields.end()) return;
    const auto f = static_cast<std::size_t>(found - spec_.model.fields.begin());
    if (is_new) {
      look_at(spec_.model.right_hand_sides[f]);
      for (const PointSource& source : spec_.model.sources)
        if (source.field == f) scalars_.insert(spec_.model.series[source.series]);
      if (!is_unknown(Unknown::Kind::initial, name)) look_at(spec_.initial[f]);
      if (spec_.model.is_second_order) {
        look_at(spec_.model.damping[f]);
        if (!is_unknown(Unknown::Kind::rate, name)) look_at(spec_.rates[f]);
      }
      for (const Jump& jump : spec_.jumps)
        for (const Jump::Assignment& assignment : jump.set)
          if (assignment.field == f) look_at(assignment.value);
    }
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (offset[axis] != 0) look_at_walls(f, axis);
  }

  /// Neighbours in the direction of an axis lie beyond its walls somewhere.
  void look_at_walls(std::size_t f, std::size_t axis) {
    if (!spec_.model.has_walls[axis] || has_wall_[f][axis]) return;
    has_wall_[f][axis] = true;
    for (const ModelWall& wall : spec_.model.walls[f][axis]) look_at(wall.value);
  }

  bool is_unknown(Unknown::Kind kind, const std::string& field) const {
    return std::any_of(spec_.unknowns.begin(), spec_.unknowns.end(),
                       [&](const Unknown& u) { return u.kind == kind && u.name == field; });
  }

  const SimulationSpec& spec_;
  const Graph& graph_;
  std::set<std::string> scalars_, fields_;  // read: parameters and series; states and parameter fields
  std::vector<std::array<bool, 3>> has_wall_;
};

}  // namespace

std::vector<bool> used_unknowns(const SimulationSpec& spec) {
  const Dependence dependence(spec);
  std::vector<bool> used;
  for (const Unknown& unknown : spec.unknowns) used.push_back(dependence.reads(unknown));
  return used;
}

}  // namespace hindsight
