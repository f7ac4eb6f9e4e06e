#include "src/program/session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <tuple>

#include "adjoint/schedule/report.hpp"
#include "io/checkpoints/checkpoint_file.hpp"
#include "src/error.hpp"
#include "src/ordered_sum.hpp"
#include "src/program/assemble.hpp"

namespace hindsight {
namespace {

/// Costs that lie this far from the prediction are measured again.
constexpr double drift = 1.2;
/// Shorter gradients tell nothing about costs.
constexpr double telling_seconds = 0.1;

std::int64_t whole_pages(std::int64_t bytes) {
  constexpr std::int64_t page = 4096;
  return (bytes + page - 1) / page * page;
}

/// Checkpoints of a run whose end is open, when no budget is given: all slots are touched before it is known how many
/// steps there will be.
constexpr std::int64_t open_end_bytes = std::int64_t{1} << 30;

std::int64_t bytes_of_slots(const CaseBudget& budget, std::int64_t working, std::int64_t state) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(budget.amount, state, &bytes) || __builtin_add_overflow(bytes, working, &bytes))
    throw InputError("checkpoints.host: so many slots are more bytes than can be counted");
  return bytes;
}

/// Sum over the owned cells of all ranks, in global order.
template <class Summand>
double sum_over_cells(const Grid& grid, Summand summand) {
  const std::int64_t row_length = grid.dimensions() <= 1 ? 1 : grid.cells()[0];
  std::vector<double> rows(static_cast<std::size_t>(grid.local_rows()), 0.0);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < row_length; ++i)
      rows[r] += summand(r * static_cast<std::size_t>(row_length) + static_cast<std::size_t>(i));
  return grid_sum(grid, rows.data());
}

}  // namespace

Session::Session(Case c, const Communicator& comm, bool adjoint, bool tangent, bool quiet, PlanOptions options)
    : case_(std::move(c)), comm_(comm), options_(std::move(options)), progress_(!quiet, comm.rank()) {
  tag_ = comm_.broadcast(fmt::format("{:x}", getpid()));
  const auto& checkpoints = case_.checkpoints;
  if (adjoint && checkpoints.device)
    throw InputError(checkpoints.device->place,
                     "checkpoints.device: this version computes on the host and has no device memory; remove the key");
  simulation_ = std::make_unique<Simulation>(assemble(case_), comm, Simulation::Wants{adjoint, tangent});
  if (!adjoint) return;
  try {
    read_budgets();
    require_memory(inputs_);
    simulation_->memory()->set_limit(host_budget_);
    measure();
    make_plan();
  } catch (const InputError& error) {
    throw InputError(checkpoints.host ? checkpoints.host->place : checkpoints.place, error.what());
  }
}

/// All ranks plan with the capacities of the one that has the least.
void Session::read_budgets() {
  const auto& checkpoints = case_.checkpoints;
  const std::int64_t n = simulation_->plan().steps(), state = simulation_->state_bytes();
  inputs_.schedule = checkpoints.schedule;
  inputs_.steps = case_.time.until ? unknown_steps : n;
  inputs_.at_most = n;
  inputs_.period = checkpoints.period;
  inputs_.record_units = simulation_->record_units();
  inputs_.state_bytes = state;
  inputs_.working_bytes = simulation_->working_bytes();
  const auto& host = checkpoints.host;
  const bool in_slots = host && host->unit == CaseBudget::Unit::slots;
  if (!in_slots) host_budget_ = host ? host->amount : default_host_budget(comm_);
  if (!host && case_.time.until) host_budget_ = std::min(host_budget_, inputs_.working_bytes + open_end_bytes);
  if (checkpoints.disk) read_transfers();
  if (in_slots) host_budget_ = bytes_of_slots(*host, inputs_.working_bytes, state);
  const std::int64_t units = (host_budget_ - inputs_.working_bytes) / state;
  inputs_.units[Tier::host] = std::max<std::int64_t>(0, -comm_.max(-units));
}

/// Slots on disk, and the memory that moving states to and from them takes: a state of scratch per thread, and the
/// states that wait to be written or were read ahead.
void Session::read_transfers() {
  const auto& checkpoints = case_.checkpoints;
  const std::int64_t n = inputs_.at_most, state = inputs_.state_bytes;
  const bool in_slots = checkpoints.host && checkpoints.host->unit == CaseBudget::Unit::slots;
  inputs_.slot_bytes = whole_pages(simulation_->shape().bytes());
  const auto& disk = *checkpoints.disk;
  const std::int64_t slots = disk.unit == CaseBudget::Unit::slots ? disk.amount : disk.amount / inputs_.slot_bytes;
  inputs_.units[Tier::disk] = -comm_.max(-std::min(slots, std::max<std::int64_t>(1, n - 1)));
  constexpr std::int64_t roomy = 16;  // states that fit beside the working memory
  const std::int64_t fit = (host_budget_ - inputs_.working_bytes) / state;
  const bool is_roomy = in_slots || -comm_.max(-fit) >= roomy;
  const int depth = is_roomy ? 2 : 1;
  inputs_.overlap = {checkpoints.queue.value_or(depth), checkpoints.prefetch.value_or(depth)};
  threads_ = std::make_shared<TransferThreads>(is_roomy ? 2 : 1);
  inputs_.working_bytes += threads_->count() * inputs_.slot_bytes +
                           (std::max(1, inputs_.overlap.queue) + inputs_.overlap.prefetch) * state;
}

/// Costs as given, else as measured on a few steps.
void Session::measure() {
  const int repeats = inputs_.at_most < 50 ? 1 : inputs_.at_most < 500 ? 3 : 5;
  const double batch = options_.only_plan ? 5e-3 : 1e-3;
  const StepSeconds steps = simulation_->measure(repeats, batch, inputs_.units[Tier::host]);
  OperationSeconds& seconds = inputs_.seconds;
  seconds = {steps.forward, steps.record, steps.reverse_kept, steps.record_last, steps.reverse, {}, {}};
  seconds.write[static_cast<std::size_t>(Tier::host)] = steps.save;
  seconds.read[static_cast<std::size_t>(Tier::host)] = steps.load;
  if (inputs_.units[Tier::disk] > 0) {
    constexpr auto disk = static_cast<std::size_t>(Tier::disk);
    constexpr std::int64_t sample = 6;
    open_disk(std::min(sample, inputs_.units[Tier::disk]));
    if (disk_) std::tie(seconds.write[disk], seconds.read[disk]) = simulation_->measure(*disk_);
  }
  const ScheduleCosts measured{seconds.forward, seconds.record_last + seconds.reverse, seconds.write, seconds.read};
  const ScheduleCosts costs = parse_costs(options_.costs, measured);
  seconds.record_last *= costs.reverse / measured.reverse;
  seconds.reverse *= costs.reverse / measured.reverse;
  seconds.reverse_kept *= costs.reverse / measured.reverse;
  seconds.record *= costs.forward / measured.forward;
  seconds.forward = costs.forward;
  seconds.write = costs.write;
  seconds.read = costs.read;
}

/// Plans until what is planned has its place on disk.
void Session::make_plan() {
  while (true) {
    plan_ = hindsight::make_plan(inputs_);
    const std::int64_t slots = plan_.request.capacities[Tier::disk];
    if (options_.only_plan) return disk_.reset();
    if (slots == 0) disk_.reset();
    if (slots == 0 || (disk_ && disk_->settings().slots >= slots)) break;
    open_disk(slots);
    if (disk_ && disk_->settings().slots >= slots) break;
  }
  simulation_->reserve_checkpoints(plan_.request.capacities[Tier::host], {nullptr, nullptr, disk_.get()});
}

std::unique_ptr<SlotTier> Session::make_disk(std::int64_t slots) {
  const StateShape shape = simulation_->shape();
  const auto per_byte = [&](double seconds) { return seconds / static_cast<double>(inputs_.slot_bytes); };
  std::unique_ptr<Medium> medium;
  if (options_.emulated_disk) {
    medium = std::make_unique<ThrottledMedium>(std::make_unique<MemoryMedium>(slots, inputs_.slot_bytes),
                                               per_byte(options_.emulated_disk->first),
                                               per_byte(options_.emulated_disk->second));
  } else {
    CheckpointFileSettings file;
    file.owns_folder = case_.checkpoints.directory.empty();
    file.path = fmt::format("{}/checkpoints-{}-rank{}.h5",
                            file.owns_folder ? options_.scratch : case_.checkpoints.directory, tag_, comm_.rank());
    file.slots = file.pages = slots;
    file.page_bytes = inputs_.slot_bytes;
    for (const CaseState& state : case_.state) file.fields.push_back(state.name);
    file.shape = shape;
    file.time = [plan = &simulation_->plan()](std::int64_t step) { return plan->time(step); };
    file.direct = options_.direct;
    file.open = options_.open_file;
    medium = std::make_unique<CheckpointFile>(std::move(file));
    if (options_.slow_disk)
      medium = std::make_unique<ThrottledMedium>(std::move(medium), per_byte(options_.slow_disk->first),
                                                 per_byte(options_.slow_disk->second));
  }
  const CountMemory counted(simulation_->memory());
  return std::make_unique<SlotTier>(TierSettings{slots, inputs_.overlap.queue, inputs_.overlap.prefetch}, shape,
                                    std::move(medium), nullptr, threads_);
}

/// With so many slots, or as many as there is room for on the rank that has the least; inputs_ say so then.
void Session::open_disk(std::int64_t slots) {
  while (slots > 0) {
    disk_.reset();
    std::string failure, shortage;
    try {
      disk_ = make_disk(slots);
    } catch (const MediumError& error) {
      (error.is_full() ? shortage : failure) = error.what();
    } catch (const Error& error) {
      failure = error.what();
    }
    comm_.agree(failure, static_cast<int>(ExitCode::resource));
    if (!comm_.any(!disk_)) return;
    slots = slots - std::max<std::int64_t>(1, slots / 8);
    disk_.reset();
    inputs_.units[Tier::disk] = slots;
    warn(fmt::format("checkpoints.disk: {}; going on with {} states on disk, {}", comm_.first_text(shortage), slots,
                     bytes_text(slots * inputs_.slot_bytes)));
  }
}

double Session::add_priors(UnknownValues* gradient) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < case_.unknowns.size(); ++i) {
    if (!case_.unknowns[i].prior) continue;
    const Prior& prior = *case_.unknowns[i].prior;
    const std::vector<double>& values = simulation_->values()[i];
    const auto distance = [&](std::size_t k) { return (values[k] - prior.mean) / prior.sd; };
    if (simulation_->spec().unknowns[i].is_field()) {
      sum += sum_over_cells(simulation_->grid(), [&](std::size_t k) { return 0.5 * distance(k) * distance(k); });
    } else {
      for (std::size_t k = 0; k < values.size(); ++k) sum += 0.5 * distance(k) * distance(k);
    }
    if (gradient != nullptr)
      for (std::size_t k = 0; k < values.size(); ++k) (*gradient)[i][k] += distance(k) / prior.sd;
  }
  return sum;
}

double Session::objective(const StateObserver& observer) {
  progress_.phase("forward", simulation_->plan().steps());
  const double value = simulation_->run(observer, [&](std::int64_t done, std::int64_t) { progress_.update(done); });
  progress_.finish();
  return value + add_priors(nullptr);
}

Evaluation Session::gradient(const StateObserver& observer) {
  if (has_drifted_) {
    measure();
    make_plan();
  }
  const std::int64_t plain = std::max<std::int64_t>(0, plan_.schedule.predicted.plain);
  progress_.phase("gradient", plain + 2 * simulation_->plan().steps());
  const auto begin = std::chrono::steady_clock::now();
  const auto progress = [&](std::int64_t forward, std::int64_t reversed) { progress_.update(forward + reversed); };
  GradientResult result;
  for (bool is_done = false; !is_done;) {
    try {
      result = simulation_->gradient(plan_.schedule, plan_.kind->is_online, observer, progress);
      is_done = true;
    } catch (const TierIsFull& full) {
      warn(fmt::format("checkpoints.disk: {}; beginning again with {} states on disk", full.what(),
                       full.slots_that_fit()));
      inputs_.units[full.tier()] = full.slots_that_fit();
      make_plan();
    }
  }
  report_damage(result.counts);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  progress_.finish();
  const bool is_off = seconds > plan_.seconds * drift || seconds * drift < plan_.seconds;
  has_drifted_ = comm_.any(options_.costs.empty() && plan_.is_automatic && !plan_.is_open() &&
                           seconds > telling_seconds && is_off);
  Evaluation evaluation{result.objective, std::move(result.gradient), result.counts, seconds};
  evaluation.objective += add_priors(&evaluation.gradient);
  return evaluation;
}

void Session::warn(const std::string& text) {
  warnings_.push_back(text);
  progress_.warn(text);
}

void Session::report_damage(const DriverCounts& counts) {
  if (counts.repaired == 0) return;
  warn(fmt::format("{} of {} checkpoints on disk could not be read back and were computed again in {} steps; the last: {}",
                   counts.repaired, counts.reads[static_cast<std::size_t>(Tier::disk)], counts.repairing_steps,
                   comm_.first_text(disk_->problem())));
}

std::pair<double, double> Session::tangent(const UnknownValues& direction) {
  auto [objective, derivative] = simulation_->tangent(direction);
  UnknownValues prior_gradient;
  for (const auto& values : simulation_->values()) prior_gradient.emplace_back(values.size(), 0.0);
  objective += add_priors(&prior_gradient);
  return {objective, derivative + dot(prior_gradient, direction)};
}

double Session::dot(const UnknownValues& a, const UnknownValues& b) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].empty() || b[i].empty()) continue;
    if (simulation_->spec().unknowns[i].is_field()) {
      sum += sum_over_cells(simulation_->grid(), [&](std::size_t k) { return a[i][k] * b[i][k]; });
    } else {
      for (std::size_t k = 0; k < a[i].size(); ++k) sum += a[i][k] * b[i][k];
    }
  }
  return sum;
}

}  // namespace hindsight
