#include "adjoint/problem/discretisation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/nearest_name.hpp"
#include "solvers/steppers/device_walk.hpp"
#include "solvers/steppers/methods.hpp"
#include "solvers/steppers/reads.hpp"
#include "solvers/steppers/stage_names.hpp"
#include "solvers/steppers/wavefront.hpp"
#include "solvers/time/step_sources.hpp"

namespace hindsight {
namespace {

std::vector<std::string> names_of(const std::vector<Unknown>& unknowns, Unknown::Kind kind) {
  std::vector<std::string> names;
  for (const Unknown& u : unknowns)
    if (u.kind == kind) names.push_back(u.name);
  return names;
}

/// Before anything is made of parts that visit cells.
void require_host(const SimulationSpec& spec) {
  const auto refuse = [](const SourcePlace& place, const std::string& what) {
    throw InputError(place, what + " computes on the host alone: run on the host (--backend host)");
  };
  if (spec.model.has_constraints()) refuse(spec.time_place, "an equation zero(...)");
  if (methods().find(spec.method).host_only) refuse(spec.time_place, "time.method '" + spec.method + "'");
  if (step_sources().find(spec.steps).host_only) refuse(spec.time_place, "time.steps '" + spec.steps + "'");
  if (!spec.host_only.empty()) refuse(spec.host_only.front().place, spec.host_only.front().what);
}

/// The names of the methods of which that is so.
template <class Which>
std::vector<std::string> methods_that(Which which) {
  std::vector<std::string> names;
  for (const Method& method : methods().all())
    if (which(method)) names.push_back(method.name);
  return names;
}

/// Of the equations, and what goes with them.
void require_order(const SimulationSpec& spec, const Method& method) {
  const auto fail = [&](const std::string& why) { throw InputError(spec.time_place, why); };
  const bool is_second = spec.model.is_second_order;
  if (is_second != method.is_of_second_order)
    fail("time.method '" + method.name + "' takes equations " + (is_second ? "dt(...), and " : "dtt(...), and ") +
         spec.names.equations.front() + " is none; " + (is_second ? "those of second order" : "others") + " take " +
         join(methods_that([&](const Method& m) { return m.is_of_second_order == is_second; })));
  if (!is_second) return;
  const std::string all = "time.method '" + method.name + "' takes all steps of one length: ";
  if (spec.steps != "fixed" || spec.tolerances) fail(all + "give time.step, without tolerance and times");
  if (!spec.jumps.empty()) fail("time.method '" + method.name + "' takes no events");
  if (!spec.switches.empty()) fail(all + "time.switches would need others");
}

/// Of fields that are singles.
void require_singles(const SimulationSpec& spec, const Method& method) {
  if (spec.model.graph->element() == Element::float64) return;
  const auto refuse = [&](const std::string& why) {
    throw InputError(spec.precision_place, "precision: float32 " + why);
  };
  if (spec.axes.empty()) refuse("is for fields on a grid, and this is an ODE");
  if (!method.takes_singles)
    refuse("has steps of the methods " + join(methods_that([](const Method& m) { return m.takes_singles; })) +
           ", not of time.method '" + method.name + "'");
  if (spec.model.has_constraints()) refuse("has no equations zero(...), whose solver computes in doubles");
  if (spec.tolerances)
    refuse("has steps of a fixed length, and not those of time.tolerance: rounding would hide the errors of steps");
  if (!spec.host_only.empty()) refuse("does not go with " + spec.host_only.front().what + ", which reads doubles");
}

/// Can steps by it be differentiated as it is wanted?
const Method& method_for(const SimulationSpec& spec, const Stepper::Wants& wants) {
  const Method& method = methods().find(spec.method);
  const auto refuse = [&](const char* what, const char* who) {
    throw InputError(spec.time_place, "time.method '" + method.name + "' has no " + what + ", which " + who + " need");
  };
  if (wants.adjoint && !method.has_adjoint) refuse("adjoint", "gradients");
  if (wants.tangent && !method.has_tangent) refuse("tangent", "checks of gradients");
  if (spec.model.has_constraints() && !method.takes_constraints)
    throw InputError(spec.time_place, "time.method '" + method.name + "' takes no equations zero(...); these do: " +
                                          join(methods_that([](const Method& m) { return m.takes_constraints; })));
  if (!spec.model.sources.empty() && (!method.takes_sources || spec.model.has_constraints()))
    throw InputError(spec.time_place,
                     "time.method '" + method.name + "' takes no sources" +
                         (spec.model.has_constraints() ? " beside equations zero(...)" : "") +
                         "; these do: " + join(methods_that([](const Method& m) { return m.takes_sources; })));
  if (!spec.model.sources.empty() && spec.model.is_pointwise())
    throw InputError(spec.time_place, "sources act at points of a grid on equations that read neighbours");
  if (!spec.model.sources.empty() && spec.tolerances)
    throw InputError(spec.time_place, "sources need steps of a fixed length: time.step without time.tolerance");
  for (std::size_t f = 0; method.takes_two_parts && f < spec.model.fields.size(); ++f)
    if (spec.model.implicit_parts.empty() || !spec.model.implicit_parts[f].is_valid())
      throw InputError(spec.time_place, "time.method '" + method.name +
                                            "' takes one part of the equations explicitly and "
                                            "one implicitly, and " +
                                            spec.names.equations[f] +
                                            " does not tell them: {explicit: \"...\", implicit: \"...\"}");
  require_order(spec, method);
  require_singles(spec, method);
  const PetscOptions& petsc = spec.petsc;
  const std::string of_steps = petsc.first_with("-step_"), of_constraints = petsc.first_with("-constraint_");
  if (!of_steps.empty() && (!method.uses_petsc || spec.model.is_pointwise()))
    throw InputError(petsc.origin(of_steps) +
                     " the options -step_... are for implicit steps of equations that read neighbours, which these "
                     "are not");
  if (!of_constraints.empty() && (!spec.model.has_constraints() || spec.model.is_pointwise()))
    throw InputError(petsc.origin(of_constraints) +
                     " the options -constraint_... are for equations zero(...) that read neighbours");
  return method;
}

}  // namespace

bool solves_by_petsc(const SimulationSpec& spec) {
  return (methods().find(spec.method).uses_petsc || spec.model.has_constraints()) && !spec.model.is_pointwise();
}

Discretisation::Discretisation(SimulationSpec& spec, const Communicator& comm, Stepper::Wants wants, Machine& machine)
    : spec_(spec),
      comm_(comm),
      wants_(wants),
      machine_(machine),
      active_{names_of(spec.unknowns, Unknown::Kind::scalar), names_of(spec.unknowns, Unknown::Kind::series),
              names_of(spec.unknowns, Unknown::Kind::field)} {
  if (!machine.is_host()) require_host(spec);
  wants_.tolerances = spec.tolerances;
  wants_.theta = spec.theta;
  wants_.petsc = spec.petsc;
  stepper_ = method_for(spec, wants).make(spec.model, active_, wants_);
  sums_ = stepper_->sums();
  objective_ = std::make_unique<Objective>(spec.terms, TermPlace{spec.model, active_, 0, sums_});
  sums_ += objective_->sums();
  halo_ = deeper(stepper_->halo(), objective_->halo());
  if (spec.until) {
    const int number = static_cast<int>(spec.terms.size());
    stop_.emplace(*spec.until, TermPlace{spec.model, active_, number, sums_});
    sums_ += stop_->sums();
    halo_ = deeper(halo_, stop_->halo());
  }
  TimeSpan span{spec.from, spec.to, spec.step, spec.outputs, spec.switches, spec.model.is_second_order};
  for (const Jump& jump : spec.jumps) span.landings.insert(span.landings.end(), jump.times.begin(), jump.times.end());
  for (const Series& series : spec.series)  // knots, where rates bend
    if (spec.tolerances) span.landings.insert(span.landings.end(), series.times.begin(), series.times.end());
  for (const auto& term : spec.terms)
    for (const double t : term->landings()) span.landings.push_back(t);
  time_ = std::make_unique<TimeLine>(span, step_sources().find(spec.steps).make(spec.rules));
  if (time_->tries_steps()) require_estimates();
  if (spec.model.has_constraints() && !spec.switches.empty()) spec.jumps.push_back({spec.switches, {}, {}});
  if (!spec.jumps.empty()) make_jumps();
  make_symbols();
}

void Discretisation::make_jumps() {
  jumps_ = std::make_unique<Jumps>(spec_.model, active_, spec_.jumps, *time_, sums_,
                                   Derivatives{wants_.adjoint, wants_.tangent});
  sums_ += jumps_->sums();
  auto jumping = std::make_unique<JumpingStepper>(std::move(stepper_), *jumps_, spec_.model);
  jumping_ = jumping.get();
  stepper_ = std::move(jumping);
}

void Discretisation::require_estimates() const {
  const auto fail = [&](const std::string& why) {
    throw InputError(spec_.time_place, "time.steps '" + spec_.steps + "' needs " + why);
  };
  if (!spec_.tolerances) fail("a tolerance of errors: time.tolerance");
  if (stepper_->error_order() == 0)
    fail("a method that estimates its errors, and time.method '" + spec_.method + "' does not; " +
         join(methods_that([](const Method& m) { return m.estimates_errors; })) + " do");
  if (std::ranges::any_of(spec_.model.graph->noises(), &Noise::changes_with_step))
    fail(
        "steps that may be tried again, and noise(...) has other numbers in each (but for initial values and parameter "
        "fields): take steps of a fixed length (time.step without time.tolerance)");
}

void Discretisation::make_symbols() {
  const auto field = [&](const std::string& name) { return int{spec_.model.graph->field(name).node().symbol}; };
  const auto put = [&](LevelSymbols& symbols, const std::string& now, const std::string& before) {
    symbols.now.push_back(field(now));
    if (stepper_->levels() > 1) symbols.before.push_back(field(before));
  };
  const auto put_state = [&](LevelSymbols& symbols, LevelSymbols& directions, const std::string& array) {
    const std::string before = StageNames::before(array);
    put(symbols, array, before);
    put(directions, StageNames::dot(array), StageNames::dot(before));
  };
  StateSymbols& s = symbols_;
  for (const std::string& name : spec_.model.fields) {
    put_state(s.first, s.dot_first, StageNames::stage(name, 1));
    put_state(s.between, s.dot_between, StageNames::stage(name, 0));
    put(s.lambda, StageNames::lambda(name), StageNames::before(StageNames::lambda(name)));
  }
}

void Discretisation::make_grid() {
  std::array<int, 3> halo = halo_;
  const std::int64_t bytes_of_cell = std::ssize(spec_.model.fields) * bytes_of(element());
  if (machine_.is_host())
    halo = Wavefront::halo(spec_.axes, comm_.size(), halo_, stepper_->halos_of_step(), bytes_of_cell);
  else
    halo = DeviceWalk::halo(spec_.axes, comm_.size(), halo_, stepper_->halo_of_launch());
  grid_ = std::make_unique<Grid>(spec_.axes, comm_, halo, machine_, element());
  tables_ = std::make_unique<Tables>(*spec_.model.graph, *grid_, sums_);
  shape_ = stepper_->state(*grid_);
}

void Discretisation::prepare(const std::vector<double*>& knot_sums) {
  stepper_->prepare(*grid_, *tables_, spec_.series);
  for (std::size_t q = 0; q < knot_sums.size(); ++q) stepper_->bind_series_sums(q, knot_sums[q]);
  const TermSetting setting{*grid_, *time_, *tables_, spec_.series, knot_sums};
  if (!spec_.sources.empty()) stepper_->set_sources(spec_.sources);
  objective_->prepare(setting);
  if (stop_) stop_->prepare(setting);
}

std::string Discretisation::instability() const {
  const double most = stepper_->largest_step(*tables_);
  const double step = std::isfinite(most) ? time_->step(0).h : 0.0;
  if (!(step > (1.0 + 1e-9) * most)) return "";
  const double digits = most > 0.0 ? std::pow(10.0, 3.0 - std::floor(std::log10(most))) : 1.0;
  return fmt::format("a step of {:.9g} is unstable: the longest stable one is {:.4g} (time.step)", step,
                     std::floor(most * digits) / digits);  // rounded down: what is said is stable
}

void Discretisation::set_series(std::size_t series, const std::vector<double>& values) {
  spec_.series[series].values = values;
  stepper_->set_series(series, values);
  objective_->set_series(series, values);
  if (stop_) stop_->set_series(series, values);
}

bool Discretisation::ends_with(std::int64_t k, double* state) {
  tables_->bind_state(symbols_.between, state);
  const std::int64_t steps = time_->steps();
  time_->end_at(k);
  const Moment moment = time_->moment(k);
  time_->end_at(steps);
  return stop_->is_met(moment.is_switch ? moment.before_break() : moment);
}

std::vector<const KernelLibrary*> Discretisation::libraries() const {
  std::vector<const KernelLibrary*> all = stepper_->libraries();
  const auto add = [&](const std::vector<const KernelLibrary*>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  add(objective_->libraries());
  if (stop_) add(stop_->libraries());
  return all;
}

}  // namespace hindsight
