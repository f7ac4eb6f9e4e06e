#include "src/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <sstream>
#include <tuple>

#include "adjoint/shots/makespan.hpp"
#include "runtime/backends.hpp"
#include "runtime/error.hpp"
#include "runtime/stopwatch.hpp"
#include "src/illumination.hpp"
#include "src/notes.hpp"
#include "src/priors.hpp"

namespace hindsight {
/// Parts of a sum over shots that may wait at once, with those that are added, in whatever order they come (TreeSum).
std::int64_t Session::parts_of(std::size_t shots) {
  return shots < 2 ? 0 : static_cast<std::int64_t>((shots + 1) / 2) + 2;
}

Session::Session(Case c, const Communicator& comm, Sensitivities sensitivities, SessionOptions options)
    : case_(std::move(c)), comm_(comm), options_(std::move(options)), progress_(options_.shows_progress, comm.rank()) {
  const bool has_adjoint = sensitivities != Sensitivities::none;
  if (options_.groups != nullptr) node_memory_ = node_memory(options_.groups->world());
  in_all_groups([&] { experiments_ = std::make_unique<Experiments>(case_, comm, wants(sensitivities)); });
  notes_ = notes_on(case_, *experiments_);
  for (const ExcludedShot& shot : case_.excluded_shots)
    notes_.push_back("shot '" + shot.name + "' is excluded: " + shot.reason);
  shots_ = std::make_unique<SharedShots>(options_.groups, comm_, experiments_->count(), options_.shuffle_shots);
  parts_in_memory_ = parts_in_memory();
  for (Shot& shot : case_.shots) shot.problem = {};  // the experiments have what is needed
  if (options_.journal != nullptr && options_.journal->moves() && simulation().stepper().solved_to() > 0.0)
    notes_.push_back(
        "PETSc solves by iterations, whose sums follow the ranks: on another number of them this run "
        "ends with other bits than it would have");
  for (const std::string& note : notes_) progress_.warn(note);
  give_back_freed();  // tables that were read
  resident_at_start_ = resident();
  experiments_->for_each_kind(
      [&](const Simulation& one, const Gradients*) { counted_at_start_ += one.memory()->used(); });
  in_all_groups([&] {
    if (options_.journal != nullptr)
      options_.journal->bind(simulation().grid(), [this](const RunJournal::KeptShots& kept) { read_shots(kept); });
    if (const std::int64_t kept = kept_bytes(); kept > 0) simulation().memory()->take(kept);
    if (has_adjoint) experiments_->plan([&](std::size_t kind) { return gradient_options(kind); });
  });
  if (has_adjoint) in_all_groups([&] { share_costs(); });
}

/// Groups have measured beside each other, which is how they will work, but each its own: with what the first found,
/// all have one plan, and need the same memory. Unless one goes on with the plan of an epoch.
void Session::share_costs() {
  if (groups().count() == 1 || groups().world().any(gradients().is_restored())) return;
  OperationSeconds costs = plan_inputs().seconds;
  MPI_Bcast(&costs, sizeof costs, MPI_BYTE, 0, groups().across().handle());
  const std::string codec = groups().across().broadcast(tiers().disk_codec());
  if (groups().index() > 0) experiments_->plan_alike(costs, codec);
}

Simulation::Wants Session::wants(Sensitivities sensitivities) const {
  using Changes = Stepper::Changes;
  const Changes changes = !case_.shots.empty()     ? Changes::of_all
                          : options_.gradients > 1 ? Changes::of_unknowns
                                                   : Changes::none;
  return {.adjoint = sensitivities != Sensitivities::none,
          .tangent = sensitivities == Sensitivities::adjoint_and_tangent,
          .changes = changes,
          .machine = options_.machine.get(),
          .node = node_memory_,
          .may_start_unstable = case_.excludes_failing_shots};
}

/// Parts of the sum over shots that may be in memory at once: all that wait, whatever the order in which they come,
/// with those that are added; or, where a journal has the others, as many as take about a sixteenth of the memory.
std::size_t Session::parts_in_memory() const {
  constexpr std::int64_t least = 4, part = 16;
  const std::int64_t all = parts_of(experiments_->count());
  const bool has_journal = options_.journal != nullptr || options_.only_plan;
  if (all == 0 || !has_journal) return static_cast<std::size_t>(all);
  const std::optional<TierBudget>& given = case_.checkpoints.host;
  const bool is_given = given && given->unit == TierBudget::Unit::bytes;
  const NodeMemory node = node_memory_ ? *node_memory_ : node_memory(comm_);
  const std::int64_t memory =
      (is_given ? given->amount : node.share() / 2) / static_cast<std::int64_t>(experiments_->kinds());
  const std::int64_t fit = memory / part / std::max<std::int64_t>(1, simulation().gradient_bytes());
  const std::int64_t here = std::max(least, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(fit))));
  return static_cast<std::size_t>(std::min(all, -comm_.max(-here)));
}

/// Sums over shots, and, with a journal, what it is given at once.
std::int64_t Session::kept_bytes() const {
  const auto parts = static_cast<std::int64_t>(parts_in_memory_);
  const std::int64_t gradient = simulation().gradient_bytes();
  if (options_.journal == nullptr && !options_.only_plan) return parts * gradient;
  return simulation().kept_bytes() + (2 * parts + 2) * gradient + simulated_bytes() +
         (case_.inversion && case_.inversion->preconditions ? illumination_bytes(simulation()) : 0);
}

/// What misfits see in all shots, which are kept for the result and go to the journal.
std::int64_t Session::simulated_bytes() const {
  std::int64_t all = 0;
  for (std::size_t i = 0; has_shots() && i < experiments_->count(); ++i)
    for (const auto& of_misfit : experiments_->observations(i)) all += std::ssize(*of_misfit);
  return all * std::int64_t{sizeof(double)};
}

void Session::for_each_compared(const std::function<void(std::size_t misfit, const Compared&)>& look) const {
  if (!has_shots()) {
    const Objective& objective = simulation().objective();
    return look_at_compared("", 0, objective.residuals(), objective.observed(), look);
  }
  for (std::size_t i = 0; i < experiments_->count(); ++i)
    if (const std::optional<ShotResult>& shot = shots_->results()[i]; shot && !shot->simulated.empty())
      look_at_compared(experiments_->name(i), i, shot->residuals, shot->simulated, look);
}

void Session::look_at_compared(const std::string& shot, std::size_t experiment,
                               const std::vector<Term::Residuals>& residuals, const std::vector<double>& simulated,
                               const std::function<void(std::size_t misfit, const Compared&)>& look) const {
  const auto observations = experiments_->observations(experiment);
  auto next = simulated.begin();
  for (std::size_t m = 0; m < observations.size(); ++m) {
    const auto end = next + std::ssize(*observations[m]);
    look(m, {shot, residuals[m], observations[m], {next, end}, [&](std::span<double> values) {
               return experiments_->simulation_of(experiment).objective().filter(m, values);
             }});
    next = end;
  }
}

/// What one group throws, all throw.
void Session::in_all_groups(const std::function<void()>& work) const {
  options_.groups != nullptr ? options_.groups->together(work) : work();
}

Session::~Session() {
  if (!has_failed_) return;
  experiments_->for_each_kind([](Simulation&, Gradients* gradients) {
    if (gradients != nullptr) gradients->discard();
  });
}

namespace {

/// Budgets of one of several that share them.
CheckpointOptions shared(CheckpointOptions options, std::int64_t sharers) {
  for (std::optional<TierBudget>* budget : {&options.host, &options.device, &options.disk})
    if (*budget) (*budget)->amount /= sharers;
  return options;
}

}  // namespace

GradientOptions Session::gradient_options(std::size_t kind) {
  GradientOptions options;
  options.sharers = static_cast<int>(experiments_->kinds());
  options.memory = node_memory_;
  options.checkpoints = shared(case_.checkpoints, options.sharers);
  DiskOptions disk = options_.disk;
  if (!case_.checkpoint_folder.empty()) disk.scratch = scratch_folder(case_.checkpoint_folder);
  if (kind > 0) {
    options.name += "-" + std::to_string(kind);
    if (!disk.tag.empty()) disk.tag += "-" + std::to_string(kind);
  }
  options.disk = std::make_shared<CheckpointFiles>(std::move(disk), comm_);
  options.costs = options_.costs;
  options.gradients = options_.gradients;
  options.only_plan = options_.only_plan;
  options.keeper = options_.journal;
  options.watch.begins = [this](std::int64_t steps) {
    steps_of_gradient_ = steps;
    progress_.phase(shown("gradient"));
  };
  options.watch.progress = [this](std::int64_t forward, std::int64_t reversed) {
    tell_position(position_of(simulation().time(), {has_condition(), true, steps_of_gradient_}, forward, reversed));
  };
  options.watch.ends = [this] { progress_.finish(); };
  options.watch.warns = [this](const std::string& text) { progress_.warn(text); };
  return options;
}

Session::Planned Session::planned() const {
  Planned sum;
  std::vector<double> seconds;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < experiments_->count(); ++i) {
    const Simulation& one = experiments_->simulation_of(i);
    const CheckpointPlan& plan = experiments_->gradients_of(i)->plan();
    seconds.push_back(plan.seconds);
    order.push_back(i);
    sum.plain += one.steps_of(plan.schedule.predicted.plain);
    sum.recorded += one.steps_of(plan.schedule.predicted.recorded);
  }
  sum.seconds = makespan(seconds, order, groups().count());
  return sum;
}

std::int64_t Session::steps() const {
  if (!has_shots()) return simulation().time().steps();
  std::int64_t sum = 0;
  for (const ShotResult& shot : shot_results_) sum += shot.steps;
  return sum;
}

std::vector<Term::Residuals> Session::residuals() const {
  if (!has_shots()) return simulation().objective().residuals();
  std::vector<Term::Residuals> all;
  for (const ShotResult& shot : shot_results_)
    for (std::size_t i = 0; i < shot.residuals.size(); ++i) {
      if (i == all.size()) all.push_back({shot.residuals[i].name, 0, 0.0, shot.residuals[i].noise});
      all[i].count += shot.residuals[i].count;
      all[i].sum_of_squares += shot.residuals[i].sum_of_squares;
    }
  return all;
}

std::int64_t Session::budget(Tier tier) const {
  std::int64_t sum = 0;
  experiments_->for_each_kind([&](const Simulation&, const Gradients* own) { sum += own->budget(tier); });
  return sum;
}

std::int64_t Session::peak_bytes(Tier tier) const {
  std::int64_t sum = 0;
  experiments_->for_each_kind([&](const Simulation&, const Gradients* own) { sum += own->peak_bytes(tier); });
  return sum;
}

void Session::fix_end() {
  experiments_->for_each_kind([](Simulation& simulation, Gradients*) { simulation.fix_end(); });
}

void Session::loosen_solvers(double factor) {
  experiments_->for_each_kind([&](Simulation& simulation, Gradients*) { simulation.loosen_solvers(factor); });
}

void Session::break_gradient(const std::string& what, double size) {
  experiments_->for_each_kind([&](Simulation& simulation, Gradients*) { simulation.break_gradient(what, size); });
}

std::optional<double> Session::drift() const {
  double largest = -1.0;
  experiments_->for_each_kind([&](const Simulation&, const Gradients* own) {
    if (own != nullptr) largest = std::max(largest, own->drift().value_or(-1.0));
  });
  largest = groups().world().max(largest);
  return largest < 0.0 ? std::nullopt : std::optional(largest);
}

std::vector<std::string> Session::warnings() const {
  std::string own;
  experiments_->for_each_kind([&](const Simulation&, const Gradients* gradients) {
    if (gradients == nullptr) return;
    for (const std::string& warning : gradients->warnings()) own += warning + "\n";
  });
  std::vector<std::string> all;
  for (int group = 0; group < groups().count(); ++group) {
    std::istringstream lines(groups().across().first_text(group == groups().index() ? own : ""));
    for (std::string line; std::getline(lines, line);) all.push_back(line);
  }
  return all;
}

void Session::look_at_end() {
  const TimeLine& time = simulation().time();
  const double end = time.time(time.steps());
  if (!has_condition() || simulation().has_met_end_condition() || end < time.landings().back()) return;
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
  const Communicator& all = groups().world();
  return {all.max(start.now), all.max(end.most), all.max(most_without_files(start, end) - own)};
}

std::int64_t Session::epoch_bytes() const {
  const std::int64_t all = parts_of(experiments_->count());
  const std::int64_t parts = std::min(static_cast<std::int64_t>(parts_in_memory_), all / groups().count());
  return simulation().kept_bytes() + parts * simulation().gradient_bytes() + simulated_bytes() +
         (has_gradients() ? tiers().places_bytes() : 0);
}

std::string Session::named(const std::string& phase) const {
  return has_shots() ? phase + " of " + experiments_->name(experiments_->in_use()) : phase;
}

std::string Session::shown(const std::string& phase) const {
  return named(phase) + (stage_.empty() ? "" : ", " + stage_);
}

/// Over all experiments, and the terms and priors that they share.
Session::Logged Session::sum(const Work& work) {
  Logged shared;
  if (has_shots()) {
    experiments_->use(0);
    GradientResult of_parameters = simulation().of_parameters();
    shared.evaluation.objective = of_parameters.objective;
    if (work.with_gradient) shared.evaluation.gradient = std::move(of_parameters.gradient);
  }
  Logged total = once(work);
  if (has_shots()) total.add(shared);
  add_priors(total);
  return total;
}

void Session::add_priors(Logged& total) const {
  UnknownValues& gradient = total.evaluation.gradient;
  total.evaluation.objective += hindsight::add_priors(case_, simulation(), gradient.empty() ? nullptr : &gradient);
}

double Session::objective(const StateObserver& observer) {
  const Work work{"forward", false, [this] { return known_steps(simulation().time().steps()); },
                  [&](Evaluation& result, double&) {
                    progress_.phase(shown("forward"));
                    if (options_.journal != nullptr) options_.journal->keep_sweeps(true);
                    const Stopwatch watch;
                    result.objective = simulation().run(watched(observer));
                    result.seconds = watch.seconds();
                    progress_.finish();
                  }};
  return sum(work).evaluation.objective;
}

Evaluation Session::gradient(const StateObserver& observer) {
  const Work work{"gradient", true,
                  [this] {
                    const std::int64_t plain = std::max<std::int64_t>(0, plan().schedule.predicted.plain);
                    return known_steps(simulation().steps_of(plain) + 2 * simulation().time().steps());
                  },
                  [&](Evaluation& result, double&) { result = experiments_->gradients()->evaluate(observer); }};
  return sum(work).evaluation;
}

UnknownValues Session::illumination() {
  const Work work{"illumination", true, [this] { return known_steps(simulation().time().steps()); },
                  [&](Evaluation& result, double&) {
                    progress_.phase(shown("illumination"));
                    if (options_.journal != nullptr) options_.journal->keep_sweeps(false);
                    Illumination sum(simulation());
                    SweepOptions sweep =
                        watched([&](std::int64_t k, double, StateBlocks state) { sum.observe(k, state); });
                    sweep.kept = nullptr;
                    const Stopwatch watch;
                    result.objective = simulation().run(sweep);
                    result.seconds = watch.seconds();
                    for (std::size_t i = 0; i < simulation().values().size(); ++i)
                      result.gradient.push_back(simulation().spec().unknowns[i].kind == Unknown::Kind::field
                                                    ? sum.cells()
                                                    : std::vector<double>(simulation().values()[i].size(), 0.0));
                    progress_.finish();
                  }};
  return once(work).evaluation.gradient;
}

std::pair<double, double> Session::tangent(const UnknownValues& direction) {
  const Work work{"tangent", false, [this] { return known_steps(simulation().time().steps()); },
                  [&](Evaluation& result, double& derivative) {
                    if (options_.journal != nullptr) options_.journal->keep_sweeps(true);
                    progress_.phase(shown("tangent"));
                    std::tie(result.objective, derivative) = simulation().tangent(direction, watched({}));
                    progress_.finish();
                  }};
  const Logged total = sum(work);
  UnknownValues of_shared;  // by what the experiments share
  if (has_shots()) {
    experiments_->use(0);
    of_shared = simulation().of_parameters().gradient;
  }
  if (of_shared.empty())
    for (const auto& values : simulation().values()) of_shared.emplace_back(values.size(), 0.0);
  hindsight::add_priors(case_, simulation(), &of_shared);
  return {total.evaluation.objective, total.derivative + dot(of_shared, direction)};
}

/// Of a sweep forward, kept by the journal if there is one.
SweepOptions Session::watched(const StateObserver& observer) {
  RunJournal* const journal = options_.journal;
  const ProgressObserver progress = [this, steps = simulation().time().steps()](std::int64_t done, std::int64_t) {
    tell_position(position_of(simulation().time(), {has_condition(), false, steps}, done, 0));
  };
  if (journal == nullptr) return {observer, progress, nullptr, nullptr};
  return {observer, progress, journal, journal->kept_sweep()};
}

/// 0 where no number of steps is known in advance.
std::int64_t Session::known_steps(std::int64_t steps) const {
  return counts_in_advance(simulation().time(), has_condition()) ? steps : 0;
}

void Session::tell_position(const SweepPosition& position) {
  shots_->serve();
  if (options_.journal != nullptr) options_.journal->progress(position);
  progress_.update(position);
}

}  // namespace hindsight
