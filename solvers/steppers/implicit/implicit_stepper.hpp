// What implicit methods share: the operators of a model, its systems, its constraints, and sums of states.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "solvers/steppers/implicit/constraints.hpp"
#include "solvers/steppers/implicit/stage_systems.hpp"
#include "solvers/steppers/model_operators.hpp"
#include "solvers/steppers/stepper.hpp"

namespace hindsight {

/// The part of a Stepper that does not depend on the method. In states that steps begin and end with, fields that
/// constraints fix have their values; they have no slopes, and where sums of states belong to others, zeros.
class ImplicitStepper : public Stepper {
 public:
  std::array<int, 3> halo() const override;
  std::int64_t working_states() const override {
    return scratch_states_ + (constraints_ ? Constraints::working_states : 0);
  }
  int sums() const override { return operators_.sums(); }
  StateShape state(const Grid& grid) const override { return shape_of_fields(grid, model_.fields.size()); }

  void prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) override;
  void warm_up(Tables& tables, StepTime at, std::span<const double> lengths, double* state) override;
  std::int64_t passing_bytes() const override;
  double solved_to() const override;
  void loosen_solvers(double factor) override;
  SolverReport solver_report() const override;
  void bind_series_sums(std::size_t active_series, double* knots) override;
  void set_series(std::size_t series, const std::vector<double>& values) override;
  void set_series_directions(std::vector<Series> directions) override;

  void begin(Tables& tables, StepTime at, double* state) override;
  void begin_tangent(Tables& tables, StepTime at, double* state, double* direction) override;
  void begin_adjoint(Tables& tables, StepTime at, double* state, double* lambda) override;

  void parameters_changed(Tables& tables, bool tangent) override;
  void clear_sums() override;
  void save_sums(BlockWriter& to) const override;
  void restore_sums(BlockReader& from) override;
  std::vector<double> sizes_seen() const override;
  void set_sizes_seen(const std::vector<double>& sizes) override;
  void add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const override;

  std::vector<Described> describe() const override;
  std::vector<const KernelLibrary*> libraries() const override;
  StepFailure failure() const override;
  void watch_slopes(bool wanted) override { watches_slopes_ = wanted; }
  void judge_by(Tables& /*tables*/, std::optional<std::size_t> field) override { judged_ = field; }
  WorstError worst_error(const Tables& tables) const override;

 protected:
  /// Whose systems a method solves beside those of constraints: none; those of stages; linear ones in steps forward,
  /// too. Derivatives of stages need linear ones.
  enum class Solves { nothing, stages, linear_systems };
  /// @param scratch number of blocks of the model's fields that the method needs.
  ImplicitStepper(Model model, const Active& active, Wants wants, int scratch, Solves solves);
  /// What another part of the equations has beside operators_, to be called by constructors.
  void add_kernels(KernelSet& kernels) { kernel_sets_.push_back(&kernels); }
  void add_operators(ModelOperators& operators);

  /// By which the length of a step is multiplied in the systems of its first implicit stage.
  virtual double implicit_share() const = 0;

  struct Term {
    double factor;
    const double* state;
  };
  // Over the owned cells of the model's fields. Of combine(), out may be the state of the first term.
  /// out = sum of the terms.
  void combine(double* out, std::initializer_list<Term> terms) const { combine(out, terms.begin(), terms.size()); }
  /// out += sum of the terms.
  void add(double* out, std::initializer_list<Term> terms) const { add(out, terms.begin(), terms.size()); }
  void copy(const double* from, double* to) const { combine(to, {{1.0, from}}); }
  /// Zero in place of what constraints fix.
  void clear_constrained(double* block) const {
    if (constraints_) constraints_->clear(block);
  }
  /// Forgets failures.
  void begin_step();
  /// F(y), by the operators of this or of another part of the equations; it is looked at where that is wanted.
  void find_slope(ModelOperators& operators, Tables& tables, StepTime at, double* y, double* slope);
  void find_slope(Tables& tables, StepTime at, double* y, double* slope) {
    find_slope(operators_, tables, at, y, slope);
  }
  bool watches_slopes() const { return watches_slopes_; }
  void look_at_slope(StepTime at, const double* y, const double* slope);
  /// See Stepper::try_step(). Collective.
  double error_ratio(const double* error, const double* u, const double* next) const;
  /// Offsets of the owned cells in the array of a field.
  const CountedVector<std::int64_t>& places() const { return places_; }
  double* scratch(int i) const { return scratch_[static_cast<std::size_t>(i)].data(); }
  const SeriesData& series() { return operators_.series(); }
  bool has_active() const {
    return !active_.scalars.empty() || !active_.series.empty() || !active_.parameter_fields.empty();
  }

  const Model model_;
  const Active active_;
  const Wants wants_;
  ModelOperators operators_;
  std::optional<Constraints> constraints_;
  std::unique_ptr<StageSystems> systems_;  // null where it solves nothing

 private:
  /// Numbers that follow each other in a block of fields.
  struct Run {
    std::int64_t first = 0, count = 0;
  };
  void combine(double* out, const Term* terms, std::size_t count) const;
  void add(double* out, const Term* terms, std::size_t count) const;

  int scratch_states_;
  bool factors_;
  bool watches_slopes_ = false;
  StepFailure bad_slope_;
  std::optional<std::size_t> judged_;  // the field that error_ratio() looks at alone
  mutable std::size_t worst_ = 0;      // the cell that it found, on this rank, and what
  mutable double largest_ = 0.0;
  std::vector<ModelOperators*> all_operators_;
  std::vector<KernelSet*> kernel_sets_;
  const Grid* grid_ = nullptr;
  CountedVector<Run> runs_;
  CountedVector<std::int64_t> places_;
  mutable std::vector<Memory> scratch_;
};

}  // namespace hindsight
