#include "src/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "runtime/backends.hpp"
#include "runtime/error.hpp"
#include "src/notes.hpp"
#include "src/priors.hpp"

namespace hindsight {
Session::Session(Case c, const Communicator& comm, Sensitivities sensitivities, SessionOptions options)
    : case_(std::move(c)), comm_(comm), options_(std::move(options)), progress_(options_.shows_progress, comm.rank()) {
  const bool has_adjoint = sensitivities != Sensitivities::none;
  simulation_ =
      std::make_shared<Simulation>(read_problem(case_), comm,
                                   Simulation::Wants{.adjoint = has_adjoint,
                                                     .tangent = sensitivities == Sensitivities::adjoint_and_tangent,
                                                     .values_change = options_.gradients > 1,
                                                     .machine = options_.machine.get()});
  notes_ = notes_on(case_, *simulation_);
  if (options_.journal != nullptr && options_.journal->moves() && simulation_->stepper().solved_to() > 0.0)
    notes_.push_back(
        "PETSc solves by iterations, whose sums follow the ranks: on another number of them this run "
        "ends with other bits than it would have");
  for (const std::string& note : notes_) progress_.warn(note);
  give_back_freed();  // tables that were read
  resident_at_start_ = resident();
  counted_at_start_ = simulation_->memory()->used();
  if (options_.journal != nullptr) options_.journal->bind(simulation_->grid());
  if (options_.journal != nullptr || options_.only_plan)  // it is logged too
    simulation_->memory()->take(simulation_->kept_bytes() + 2 * simulation_->gradient_bytes());
  if (has_adjoint) gradients_ = std::make_unique<Gradients>(simulation_, comm_, gradient_options());
}

Session::~Session() {
  if (has_failed_ && gradients_) gradients_->discard();
}

GradientOptions Session::gradient_options() {
  GradientOptions options;
  options.checkpoints = case_.checkpoints;
  DiskOptions disk = options_.disk;
  if (!case_.checkpoint_folder.empty()) disk.scratch = scratch_folder(case_.checkpoint_folder);
  options.disk = std::make_shared<CheckpointFiles>(std::move(disk), comm_);
  options.costs = options_.costs;
  options.gradients = options_.gradients;
  options.only_plan = options_.only_plan;
  options.penalty = [this](UnknownValues& gradient) { return add_priors(case_, *simulation_, &gradient); };
  options.keeper = options_.journal;
  options.watch.begins = [this](std::int64_t steps) {
    steps_of_gradient_ = steps;
    progress_.phase("gradient");
  };
  options.watch.progress = [this](std::int64_t forward, std::int64_t reversed) {
    tell_position(position_of(simulation_->time(), {has_condition(), true, steps_of_gradient_}, forward, reversed));
  };
  options.watch.ends = [this] { progress_.finish(); };
  options.watch.warns = [this](const std::string& text) { progress_.warn(text); };
  return options;
}

std::vector<std::string> Session::warnings() const {
  return gradients_ ? gradients_->warnings() : std::vector<std::string>();
}

void Session::look_at_end() {
  const TimeLine& time = simulation_->time();
  const double end = time.time(time.steps());
  if (!has_condition() || simulation_->has_met_end_condition() || end < time.landings().back()) return;
  const std::string& steps = case_.time.steps;
  const bool ends_at_time = steps == "adaptive" || steps == "table";
  notes_.push_back(fmt::format(
      "the condition of time.until was not met: the run ended at t = {:.10g}, {}", end,
      ends_at_time ? "its latest end (time.to)" : fmt::format("after {} steps (time.at most)", time.steps())));
  progress_.warn(notes_.back());
}

ResidentBytes Session::resident_bytes() const {
  const Resident &start = resident_at_start_, end = resident();
  const std::int64_t own = start.now - start.files - counted_at_start_;
  return {comm_.max(start.now), comm_.max(end.most), comm_.max(most_without_files(start, end) - own)};
}

std::int64_t Session::epoch_bytes() const {
  return simulation_->kept_bytes() + (gradients_ ? tiers().places_bytes() : 0);
}

double Session::objective(const StateObserver& observer) {
  return once("forward", known_steps(simulation_->time().steps()),
              [&](Logged& result) {
                progress_.phase("forward");
                if (options_.journal != nullptr) options_.journal->keep_sweeps(true);
                result.evaluation.objective = simulation_->run(watched(observer));
                progress_.finish();
                result.evaluation.objective += add_priors(case_, *simulation_, nullptr);
              })
      .evaluation.objective;
}

Evaluation Session::gradient(const StateObserver& observer) {
  const std::int64_t plain = std::max<std::int64_t>(0, plan().schedule.predicted.plain);
  return once("gradient", known_steps(simulation_->steps_of(plain) + 2 * simulation_->time().steps()),
              [&](Logged& result) { result.evaluation = gradients_->evaluate(observer); })
      .evaluation;
}

std::pair<double, double> Session::tangent(const UnknownValues& direction) {
  const Logged result = once("tangent", known_steps(simulation_->time().steps()), [&](Logged& now) {
    if (options_.journal != nullptr) options_.journal->keep_sweeps(true);
    progress_.phase("tangent");
    std::tie(now.evaluation.objective, now.derivative) = simulation_->tangent(direction, watched({}));
    progress_.finish();
    UnknownValues prior_gradient;
    for (const auto& values : simulation_->values()) prior_gradient.emplace_back(values.size(), 0.0);
    now.evaluation.objective += add_priors(case_, *simulation_, &prior_gradient);
    now.derivative += dot(prior_gradient, direction);
  });
  return {result.evaluation.objective, result.derivative};
}

/// Of a sweep forward, kept by the journal if there is one.
SweepOptions Session::watched(const StateObserver& observer) {
  RunJournal* const journal = options_.journal;
  const ProgressObserver progress = [this, steps = simulation_->time().steps()](std::int64_t done, std::int64_t) {
    tell_position(position_of(simulation_->time(), {has_condition(), false, steps}, done, 0));
  };
  if (journal == nullptr) return {observer, progress, nullptr, nullptr};
  return {observer, progress, journal, journal->kept_sweep()};
}

/// 0 where no number of steps is known in advance.
std::int64_t Session::known_steps(std::int64_t steps) const {
  return counts_in_advance(simulation_->time(), has_condition()) ? steps : 0;
}

void Session::tell_position(const SweepPosition& position) {
  if (options_.journal != nullptr) options_.journal->progress(position);
  progress_.update(position);
}

}  // namespace hindsight
