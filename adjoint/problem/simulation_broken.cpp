// Adjoints that are wrong on purpose, so that checks can be checked.
#include <algorithm>

#include "adjoint/problem/simulation.hpp"
#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {

const std::vector<std::string>& Simulation::breakable_parts() {
  static const std::vector<std::string> parts{"steps", "integrals", "misfits", "initial", "walls"};
  return parts;
}

void Simulation::break_gradient(const std::string& what, double size) {
  std::vector<std::string> known = breakable_parts();
  known.emplace_back("all");
  for (const Unknown& unknown : spec_.unknowns) known.push_back(unknown.label());
  if (std::find(known.begin(), known.end(), what) == known.end())
    throw InputError("'" + what + "' cannot be broken" + did_you_mean(what, known) + " (there are: " + join(known) +
                     ")");
  broken_ = Broken{what, size};
}

void Simulation::Broken::scale_increments(const std::vector<double>& before, std::vector<double>& after) const {
  for (std::size_t i = 0; i < after.size(); ++i) after[i] += size * (after[i] - before[i]);
}

void Simulation::Broken::scale_increments(const Sums& before, Sums& after) const {
  scale_increments(before.scalars, after.scalars);
  for (std::size_t q = 0; q < after.knots.size(); ++q) scale_increments(before.knots[q], after.knots[q]);
}

void Simulation::break_unknown(const Unknown& unknown, std::vector<double>& derivatives) const {
  if (broken_->what != "all" && broken_->what != unknown.label()) return;
  broken_->scale_increments(std::vector<double>(derivatives.size(), 0.0), derivatives);
}

/// Everything that a sweep backwards adds to: cells of lambda and of fields' derivatives, rows of sums.
std::vector<std::vector<double>> Simulation::adjoint_arrays() const {
  std::vector<std::vector<double>> arrays;
  const Layout& layout = grid_->layout();
  for (std::size_t f = 0; f < spec_.model.fields.size(); ++f)
    arrays.push_back(unpadded(lambda_.data() + layout.origin + layout.field_stride * static_cast<std::int64_t>(f)));
  for (const int bar : gradient_fields()) arrays.push_back(unpadded(tables_->field(bar)));
  for (const auto* all : {&scalar_sums_, &series_sums_})
    for (const Memory& sums : *all) arrays.push_back(machine().values(sums.data(), sums.size()));
  return arrays;
}

void Simulation::set_adjoint_arrays(const std::vector<std::vector<double>>& arrays) {
  auto next = arrays.begin();
  const Layout& layout = grid_->layout();
  for (std::size_t f = 0; f < spec_.model.fields.size(); ++f)
    padded(*next++, lambda_.data() + layout.origin + layout.field_stride * static_cast<std::int64_t>(f));
  for (const int bar : gradient_fields()) padded(*next++, tables_->field(bar));
  for (const auto* all : {&scalar_sums_, &series_sums_})
    for (const Memory& sums : *all) machine().copy(sums.data(), (next++)->data(), sums.size());
}

void Simulation::contribute_broken(const std::function<void()>& work) {
  const std::vector<std::vector<double>> before = adjoint_arrays();
  work();
  std::vector<std::vector<double>> after = adjoint_arrays();
  for (std::size_t i = 0; i < after.size(); ++i) broken_->scale_increments(before[i], after[i]);
  set_adjoint_arrays(after);
}

}  // namespace hindsight
