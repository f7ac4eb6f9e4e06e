// The misfit between a simulation and observations at points and times.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/memory.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/grid/block_archive.hpp"
#include "solvers/steppers/tables.hpp"
#include "solvers/steppers/time_plan.hpp"

namespace hindsight {

struct PointObservation {
  double time = 0.0;
  std::array<double, 3> at{0, 0, 0};
  double value = 0.0;
};

/// One misfit term: 1/2 sum ((simulated - observed)/noise)^2, of logarithms if `logarithmic`.
struct MisfitSpec {
  Expr of;                                     ///< an expression of fields at the point (no neighbours)
  std::vector<PointObservation> observations;  ///< sorted by time
  double noise = 1.0;
  bool logarithmic = false;
  double weight = 1.0;
  std::string name = {};  ///< for messages: "misfit of u"
};

/// Values between cell centres are interpolated linearly per axis (beyond the outermost centres: extrapolated). One
/// message per observation time in the forward sweep, none backward. Memory made by the constructor and prepare()
/// counts (runtime/memory.hpp), so both are called with the same account.
class Misfit {
 public:
  Misfit(const Model& model, const Active& active, MisfitSpec spec);
  void prepare(const Grid& grid, const TimePlan& plan);

  /// True when something is observed at state k.
  bool counts_at(std::int64_t k) const;
  /// At state k: evaluates what is observed then. Fields of the model are bound in `tables` under stage "0".
  void observe(Tables& tables, std::int64_t k);
  /// Adds dJ/du_k to lambda, bound under the fields' lambda names. Call after observe() has seen all states.
  void add_adjoint(Tables& tables, std::int64_t k);
  /// dJ in the direction bound under the d() names of fields and scalars; to be added up over k.
  double tangent(Tables& tables, std::int64_t k) const;
  /// Adds derivatives with respect to active scalars that the expression uses itself. Collective.
  void add_scalar_sums(std::vector<double>& scalars) const;

  double value() const;           ///< the term, weight included
  double sum_of_squares() const;  ///< of (simulated - observed), or of the logarithms: neither noise nor weight
  std::int64_t count() const { return static_cast<std::int64_t>(observations_.size()); }
  double noise() const { return spec_.noise; }
  const std::string& name() const { return spec_.name; }
  void reset();
  /// What was observed and differentiated so far.
  void save(BlockWriter& to) const;
  void restore(BlockReader& from);
  /// Memory that observe(), tangent() and add_scalar_sums() take, and give back.
  std::int64_t passing_bytes() const;
  /// What save() writes, about.
  std::int64_t kept_bytes() const;

 private:
  struct Corner {
    bool here = false;  ///< this rank owns the cell
    std::int64_t cell = 0;
    double weight = 0.0;
  };
  std::pair<std::size_t, std::size_t> range(std::int64_t k) const;
  /// Values of fields at corners: what expressions of them are evaluated with.
  class Samples;
  std::vector<double> evaluate(Tables& tables, const Samples& samples, const std::vector<Expr>& roots,
                               std::size_t corner) const;
  bool is_needed(const Corner& corner) const;
  std::int64_t most_at_once() const;
  void locate(const PointObservation& observation);
  double residual(std::size_t i) const;
  double slope(std::size_t i) const;

  const Model& model_;
  Active active_;
  MisfitSpec spec_;
  const Grid* grid_ = nullptr;
  Expr value_, dot_;
  std::vector<Expr> partials_;  // with respect to fields, then active scalars
  std::vector<int> lambda_;
  CountedVector<PointObservation> observations_;
  CountedVector<std::int64_t> state_;  // of each observation
  std::size_t corners_each_ = 1;
  CountedVector<Corner> corners_;  // corners_each_ per observation
  CountedVector<double> simulated_;
  std::vector<CountedVector<double>> scalar_parts_;  // [active scalar][corner]
};

}  // namespace hindsight
