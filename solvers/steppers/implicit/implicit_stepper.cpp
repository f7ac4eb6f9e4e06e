#include "solvers/steppers/implicit/implicit_stepper.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "solvers/steppers/implicit/jacobian_entries.hpp"
#include "solvers/steppers/reads.hpp"

namespace hindsight {

ImplicitStepper::ImplicitStepper(Model model, const Active& active, Wants wants, int scratch, Solves solves)
    : model_(std::move(model)),
      active_(active),
      wants_(std::move(wants)),
      operators_(model_, active_, {wants_.adjoint, wants_.tangent}),
      scratch_states_(scratch),
      factors_(solves == Solves::linear_systems || wants_.adjoint || wants_.tangent) {
  add_operators(operators_);
  if (solves != Solves::nothing) {
    systems_ =
        make_stage_systems(model_, active_, operators_, {all_variables(model_), "step_", wants_.petsc, wants_.changes});
    add_kernels(systems_->kernels());
  }
  if (!model_.has_constraints()) return;
  constraints_.emplace(model_, active_, Derivatives{wants_.adjoint, wants_.tangent}, wants_.petsc, wants_.changes);
  add_operators(constraints_->operators());
  add_kernels(constraints_->system_kernels());
}

void ImplicitStepper::add_operators(ModelOperators& operators) {
  all_operators_.push_back(&operators);
  add_kernels(operators.kernels());
}

std::array<int, 3> ImplicitStepper::halo() const {
  std::array<int, 3> deepest{0, 0, 0};
  for (const KernelSet* kernels : kernel_sets_) deepest = deeper(deepest, kernels->halo());
  return deepest;
}

void ImplicitStepper::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series) {
  grid_ = &grid;
  const std::size_t fields = model_.fields.size();
  const Layout& layout = grid.layout();
  const Index3& cells = grid.cells();
  grid.communicator().together([&] {
    for (int i = 0; i < scratch_states_; ++i) scratch_.emplace_back(state_doubles(grid, fields), grid.machine());
    for (std::size_t f = 0; f < fields; ++f)
      for (std::int64_t k = 0; k < cells[2]; ++k)
        for (std::int64_t j = 0; j < cells[1]; ++j) {
          for (std::int64_t i = 0; f == 0 && i < cells[0]; ++i) places_.push_back(layout.at(i, j, k));
          const std::int64_t first = layout.at(0, j, k) + layout.field_stride * static_cast<std::int64_t>(f);
          if (!runs_.empty() && runs_.back().first + runs_.back().count == first)
            runs_.back().count += cells[0];
          else
            runs_.push_back({first, cells[0]});
        }
  });
  operators_.prepare(grid, tables, series, longest_beside_systems);
  if (systems_) systems_->prepare(grid, tables, places_, factors_);
  if (constraints_) constraints_->prepare(grid, tables, series, places_);
}

void ImplicitStepper::warm_up(Tables& tables, StepTime at, std::span<const double> lengths, double* state) {
  const bool differentiates = wants_.adjoint || wants_.tangent;
  std::vector<double> shares;
  for (const double length : lengths) shares.push_back(implicit_share() * length);
  if (systems_)
    systems_->warm_up(tables, series(), at.stage(0.0), shares, state, scratch(0), scratch(1), differentiates);
  if (constraints_) constraints_->warm_up(tables, at.stage(0.0), state);
}

std::int64_t ImplicitStepper::passing_bytes() const {
  return std::max(systems_ ? systems_->passing_bytes() : 0, constraints_ ? constraints_->passing_bytes() : 0) +
         (systems_ ? systems_->reserved_bytes() : 0) + (constraints_ ? constraints_->reserved_bytes() : 0);
}

double ImplicitStepper::solved_to() const {
  return std::max(systems_ ? systems_->solved_to() : 0.0, constraints_ ? constraints_->solved_to() : 0.0);
}

void ImplicitStepper::loosen_solvers(double factor) {
  if (systems_) systems_->loosen(factor);
  if (constraints_) constraints_->loosen(factor);
}

SolverReport ImplicitStepper::solver_report() const {
  SolverReport report = systems_ ? systems_->solver_report() : SolverReport{};
  if (!constraints_) return report;
  const SolverReport of_constraints = constraints_->solver_report();
  report.solvers.insert(of_constraints.solvers.begin(), of_constraints.solvers.end());
  for (const std::string& note : of_constraints.notes)
    if (std::ranges::find(report.notes, note) == report.notes.end()) report.notes.push_back(note);
  return report;
}

void ImplicitStepper::bind_series_sums(std::size_t active_series, double* knots) {
  for (ModelOperators* operators : all_operators_) operators->series().bind_sums(active_series, knots);
}

void ImplicitStepper::set_series(std::size_t series, const std::vector<double>& values) {
  for (ModelOperators* operators : all_operators_) operators->series().set_values(series, values);
}

void ImplicitStepper::set_series_directions(std::vector<Series> directions) {
  for (ModelOperators* operators : all_operators_) operators->series().set_directions(directions);
}

void ImplicitStepper::begin_step() {
  bad_slope_ = {};
  if (systems_) systems_->begin();
  if (constraints_) constraints_->begin();
}

void ImplicitStepper::begin(Tables& tables, StepTime at, double* state) {
  begin_step();
  if (constraints_) constraints_->solve(tables, at, state);
}

void ImplicitStepper::begin_tangent(Tables& tables, StepTime at, double* state, double* direction) {
  if (constraints_) constraints_->tangent(tables, at, state, direction);
}

void ImplicitStepper::begin_adjoint(Tables& tables, StepTime at, double* state, double* lambda) {
  if (constraints_) constraints_->adjoint(tables, at, state, lambda);
}

void ImplicitStepper::parameters_changed(Tables& /*tables*/, bool /*tangent*/) {
  if (systems_) systems_->parameters_changed();
  if (constraints_) constraints_->parameters_changed();
}

void ImplicitStepper::clear_sums() {
  for (KernelSet* kernels : kernel_sets_) kernels->clear_sums();
  set_sizes_seen(std::vector<double>(sizes_seen().size(), 0.0));
}

/// Of the systems of stages, then of constraints.
std::vector<double> ImplicitStepper::sizes_seen() const {
  std::vector<double> sizes = systems_ ? systems_->sizes_seen() : std::vector<double>();
  const std::vector<double> more = constraints_ ? constraints_->sizes_seen() : std::vector<double>();
  sizes.insert(sizes.end(), more.begin(), more.end());
  return sizes;
}

void ImplicitStepper::set_sizes_seen(const std::vector<double>& sizes) {
  const std::size_t first = systems_ ? systems_->sizes_seen().size() : 0;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(first);
  if (systems_) systems_->set_sizes_seen({sizes.begin(), middle});
  if (constraints_) constraints_->set_sizes_seen({middle, sizes.end()});
}

void ImplicitStepper::save_sums(BlockWriter& to) const {
  for (const KernelSet* kernels : kernel_sets_) kernels->save_sums(to);
}

void ImplicitStepper::restore_sums(BlockReader& from) {
  for (KernelSet* kernels : kernel_sets_) kernels->restore_sums(from);
}

void ImplicitStepper::add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const {
  for (const KernelSet* kernels : kernel_sets_) kernels->add_sums(scalars, knots);
}

StepFailure ImplicitStepper::failure() const {
  StepFailure found = systems_ ? systems_->failure() : StepFailure{};
  if (!found.is_known() && constraints_) found = constraints_->failure();
  return found.is_known() ? found : bad_slope_;
}

void ImplicitStepper::find_slope(ModelOperators& operators, Tables& tables, StepTime at, double* y, double* slope) {
  operators.rhs(tables, at, y, slope);
  if (watches_slopes_) look_at_slope(at, y, slope);
}

/// The first one of a step that is not finite, where what it follows from is.
void ImplicitStepper::look_at_slope(StepTime at, const double* y, const double* slope) {
  const std::int64_t stride = grid_->layout().field_stride;
  const int fields = static_cast<int>(model_.fields.size());
  for (std::size_t c = 0; c < places_.size() && !bad_slope_.is_known(); ++c) {
    StepFailure failure;
    bool is_finite = true;
    for (int f = 0; f < fields; ++f) {
      const std::int64_t i = places_[c] + f * stride;
      failure.at.push_back(y[i]);
      is_finite = is_finite && std::isfinite(y[i]);
      if (!model_.is_constrained(static_cast<std::size_t>(f)) && !std::isfinite(slope[i]) && failure.bad.field < 0)
        failure.bad = {f, owned_cell(*grid_, static_cast<std::int64_t>(c))};
    }
    if (!is_finite || failure.bad.field < 0) continue;
    failure.t = at.t;
    if (halo() != std::array{0, 0, 0}) {  // it follows from neighbours too
      failure.at.clear();
      failure.why = "the equations have no finite value there within the step";
    }
    bad_slope_ = failure;
  }
}

std::vector<Stepper::Described> ImplicitStepper::describe() const {
  std::vector<Described> all;
  for (const KernelSet* kernels : kernel_sets_) std::ranges::copy(kernels->describe(), std::back_inserter(all));
  return all;
}

std::vector<const KernelLibrary*> ImplicitStepper::libraries() const {
  std::vector<const KernelLibrary*> all;
  for (const KernelSet* kernels : kernel_sets_) std::ranges::copy(kernels->libraries(), std::back_inserter(all));
  return all;
}

void ImplicitStepper::combine(double* out, const Term* terms, std::size_t count) const {
  for (const Run& run : runs_)
    for (std::int64_t i = run.first; i < run.first + run.count; ++i) out[i] = terms->factor * terms->state[i];
  add(out, terms + 1, count - 1);
}

void ImplicitStepper::add(double* out, const Term* terms, std::size_t count) const {
  for (const Run& run : runs_)
    for (const Term* term = terms; term != terms + count; ++term) {
      if (term->factor == 0.0) continue;
      for (std::int64_t i = run.first; i < run.first + run.count; ++i) out[i] += term->factor * term->state[i];
    }
}

double ImplicitStepper::error_ratio(const double* error, const double* u, const double* next) const {
  const Tolerances& allowed = *wants_.tolerances;
  const std::int64_t stride = grid_->layout().field_stride;
  const int fields = static_cast<int>(model_.fields.size());
  const auto counted = fields - static_cast<int>(std::ranges::count(model_.constrained, true));
  largest_ = 0.0;
  if (constraints_ && grid_->communicator().any(constraints_->failure().is_known()))  // of fields that none looks at
    return std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < places_.size(); ++c) {
    const std::int64_t place = places_[c];
    double sum = 0.0;
    for (int f = 0; f < fields; ++f) {
      if (model_.is_constrained(static_cast<std::size_t>(f)) || (judged_ && f != static_cast<int>(*judged_))) continue;
      const std::int64_t i = place + f * stride;
      const double ratio = error[i] / (allowed.absolute[static_cast<std::size_t>(f)] +
                                       allowed.relative * std::max(std::fabs(u[i]), std::fabs(next[i])));
      sum += ratio * ratio;
    }
    if (!std::isfinite(sum)) sum = std::numeric_limits<double>::infinity();
    if (!(sum > largest_)) continue;
    largest_ = sum;
    worst_ = c;
  }
  return std::sqrt(grid_->communicator().max(largest_) / counted);
}

Stepper::WorstError ImplicitStepper::worst_error(const Tables& /*tables*/) const {
  return {largest_, owned_cell(*grid_, static_cast<std::int64_t>(worst_))};
}

}  // namespace hindsight
