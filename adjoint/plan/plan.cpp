#include "adjoint/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "adjoint/plan/timeline.hpp"
#include "adjoint/schedule/level_counts.hpp"
#include "adjoint/schedule/levels.hpp"
#include "adjoint/schedule/roles.hpp"
#include "runtime/error.hpp"
#include "runtime/host_memory.hpp"
#include "runtime/memory.hpp"
#include "runtime/stop_request.hpp"

namespace hindsight {
namespace {

/// What dynamic programs may cost at start-up: well below a second, and a small part of the gradients' time.
double affordable_operations(const PlanInputs& inputs) {
  constexpr double most = 4e8, least = 1e6, per_second = 1e9, part = 0.01;
  const double steps = static_cast<double>(inputs.steps) * static_cast<double>(inputs.gradients);
  return std::clamp(per_second * part * steps * (inputs.seconds.record + inputs.seconds.reverse_kept), least, most);
}

ScheduleRequest request_of(const PlanInputs& inputs, TierRoles roles) {
  ScheduleRequest request;
  request.roles = roles;
  request.steps = inputs.steps;
  request.at_most = inputs.at_most;
  request.records = open_records(inputs);
  request.capacities = inputs.units;
  request.period = inputs.period;
  request.table_bytes = inputs.host_bytes / 8;  // most is for checkpoints
  request.costs = inputs.seconds.of_schedule();
  const auto memory = static_cast<std::size_t>(inputs.memory());
  request.costs.write[memory] = request.costs.read[memory] = 0;  // too little to shape a schedule
  // A slower tier that was measured to be faster, by chance or because it is coded otherwise, counts as equal.
  for (std::size_t t = memory + 1; t < tier_count; ++t) {
    request.costs.write[t] = std::max(request.costs.write[t], request.costs.write[t - 1]);
    request.costs.read[t] = std::max(request.costs.read[t], request.costs.read[t - 1]);
  }
  return request;
}

/// Tiers that are slower than the memory that states are made in, and have slots.
std::vector<Tier> slow_tiers(const PlanInputs& inputs) {
  std::vector<Tier> all;
  for (const Tier tier : {Tier::device, Tier::host, Tier::disk})
    if (tier != inputs.memory() && inputs.units[tier] != 0) all.push_back(tier);
  return all;
}

/// Whether a gradient whose steps are all kept takes less time with their records than with their states.
bool gain_by_records(const StepSeconds& s) {
  const double by_state = s.forward + s.save + s.load + s.record_last + s.reverse;
  return !s.reverses_from_state || s.record + s.reverse_kept <= by_state;
}

/// A schedule to look at, by name; which tiers it plays in; of those that keep states or records, what goes into
/// memory.
struct Candidate {
  Candidate(std::string schedule, const PlanInputs& inputs, bool records = false)
      : name(std::move(schedule)), keeps_records(records) {
    const std::vector<Tier> slow = slow_tiers(inputs);
    roles = {inputs.memory(), slow.empty() || slow[0] == Tier::device ? Tier::disk : slow[0]};
  }
  /// A family that was asked for: store-all keeps records where all fit and gain anything.
  static Candidate by_name(const std::string& schedule, const PlanInputs& inputs) {
    const bool is_of_records = inputs.are_spans || inputs.are_first_levels || gain_by_records(inputs.seconds);
    return {schedule, inputs, schedule == "store-all" && is_of_records};
  }
  std::string name;
  TierRoles roles;
  bool keeps_records = false;
};

/// The request as a family completes it.
ScheduleRequest request_for(const Candidate& candidate, const PlanInputs& inputs) {
  const ScheduleKind& kind = schedules().find(candidate.name);
  const ScheduleRequest request = request_of(inputs, candidate.roles);
  if (kind.complete == nullptr) return request;
  ScheduleRequest seen = seen_by(kind, request);
  kind.complete(seen, {inputs.keeps_records, candidate.keeps_records, inputs.record_units,
                       inputs.seconds.record + inputs.seconds.reverse_kept});
  seen.capacities = request.capacities;
  const double reverse = seen.costs.reverse;
  seen.costs = request.costs;
  seen.costs.reverse = reverse;
  return seen;
}

ScheduleMemory memory_of(const ScheduleKind& kind, const ScheduleRequest& request) {
  return kind.memory != nullptr ? kind.memory(seen_by(kind, request)) : ScheduleMemory();
}

/// Of this family's schedule of a request, with what walking back needs of its steps; one that looks ahead runs through
/// its actions twice.
std::int64_t bytes_kept(const ScheduleKind& kind, const ScheduleRequest& request, const PlanInputs& inputs) {
  const ScheduleMemory memory = memory_of(kind, request);
  const std::int64_t streams = inputs.overlap.prefetch > 0 && !kind.is_online ? 2 : 1;
  const bool leaves = kind.walks_back && inputs.left_behind_bytes > 0;
  const std::int64_t left =
      leaves ? saturating_sum(saturating_product(inputs.steps, inputs.left_behind_bytes), Memory::most_stagger) : 0;
  return saturating_sum(saturating_sum(memory.shared, saturating_product(streams, memory.stream)), left);
}

/// The same while it is made, when no checkpoints are there.
std::int64_t bytes_to_make(const ScheduleKind& kind, const ScheduleRequest& request, const PlanInputs& inputs) {
  return saturating_sum(bytes_kept(kind, request, inputs), memory_of(kind, request).making);
}

/// Takes units of host memory away, then of a device's, until what the schedule keeps fits beside those in host memory.
/// @throws InputError
void make_room(const ScheduleKind& kind, ScheduleRequest& request, const PlanInputs& inputs) {
  const auto needed = [&](Tier tier, std::int64_t units) {
    request.capacities[tier] = units;
    const std::int64_t in_host = std::max<std::int64_t>(0, request.capacities[Tier::host]);
    const std::int64_t slots = saturating_product(in_host, inputs.host_unit_bytes);
    return std::max(saturating_sum(bytes_kept(kind, request, inputs), slots), bytes_to_make(kind, request, inputs));
  };
  if (inputs.host_bytes == unlimited_bytes) return;
  for (const Tier tier : {Tier::host, inputs.memory()}) {
    std::int64_t low = 0, high = request.capacities[tier];
    if (needed(tier, high) <= inputs.host_bytes) return;
    if (high < 1 || needed(tier, 0) > inputs.host_bytes) continue;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (needed(tier, middle) <= inputs.host_bytes ? low : high) = middle;
    }
    request.capacities[tier] = low;
    return;
  }
  throw InputError(fmt::format("schedule {}: what it keeps takes {} of host memory, {} are free", kind.name,
                               bytes_text(needed(inputs.memory(), 0)), bytes_text(inputs.host_bytes)));
}

bool is_affordable(const Candidate& candidate, const PlanInputs& inputs) {
  const ScheduleKind& kind = schedules().find(candidate.name);
  return kind.operations == nullptr ||
         kind.operations(seen_by(kind, request_of(inputs, candidate.roles))) <= affordable_operations(inputs);
}

/// States that are saved and loaded in all tiers, or about as many where that is not predicted: nearly every step that
/// is recorded to be reversed at once follows a load, and every second or third state is saved before.
struct StateTransfers {
  explicit StateTransfers(const ScheduleCounts& counts) {
    std::int64_t counted = 0;
    for (const std::int64_t n : counts.reads) counted += std::max<std::int64_t>(0, n);
    const auto loads = static_cast<double>(std::max<std::int64_t>(0, counts.recorded - counts.kept - counted));
    for (std::size_t t = 0; t < tier_count; ++t) {
      writes[t] = counts.writes[t] == unpredicted ? 0.4 * loads : static_cast<double>(counts.writes[t]);
      reads[t] = counts.reads[t] == unpredicted ? loads : static_cast<double>(counts.reads[t]);
    }
  }
  std::array<double, tier_count> writes{}, reads{};
};

/// About as many as a schedule has: a load or a save comes with an advance or a release.
double actions_of(const ScheduleCounts& counts) {
  const StateTransfers transfers(counts);
  double sum = static_cast<double>(counts.recorded) + static_cast<double>(counts.reversed) +
               static_cast<double>(counts.retreated);
  for (std::size_t t = 0; t < tier_count; ++t) sum += 2.0 * (transfers.writes[t] + transfers.reads[t]);
  return sum;
}

/// What a schedule takes with transfers as they will be made.
double seconds_of(const ScheduleKind& kind, const Schedule& schedule, const PlanInputs& inputs) {
  constexpr std::int64_t followed = 3'000'000;  // steps; longer runs are bounded from below
  const double one_by_one = predicted_seconds(schedule, inputs.seconds);
  const PerTier& peak = schedule.predicted.peak;
  bool transfers = false;
  for (std::size_t t = 0; t < tier_count; ++t) transfers = transfers || (inputs.overlap.transfers[t] && peak[t] > 0);
  if (!inputs.overlap.is_on() || !transfers || schedule.predicted.reversed == unpredicted) return one_by_one;
  if (schedule.predicted.total() <= followed)
    return overlapped_seconds(schedule, kind.is_online, inputs.steps, inputs.seconds, inputs.overlap);
  OperationSeconds free = inputs.seconds, beside = inputs.seconds;
  free.write = free.read = {};
  beside.write = beside.write_delay;
  beside.read = beside.read_delay;
  const double looks = inputs.overlap.prefetch > 0 ? inputs.seconds.look * actions_of(schedule.predicted) : 0.0;
  return looks + std::max(predicted_seconds(schedule, beside), one_by_one - predicted_seconds(schedule, free));
}

/// Of making the memory of a plan's checkpoints and of what its schedule keeps. Memory of devices takes no time worth
/// counting.
double memory_seconds(const CheckpointPlan& plan, const PlanInputs& inputs) {
  const auto units = static_cast<double>(plan.schedule.predicted.peak[index_of(Tier::host)]);
  const double bytes_per_unit = std::max(1.0, static_cast<double>(inputs.host_unit_bytes));
  return inputs.seconds.of_memory(units + static_cast<double>(plan.schedule_bytes) / bytes_per_unit);
}

/// A plan as far as its request.
CheckpointPlan request_with(const Candidate& candidate, const PlanInputs& inputs) {
  stop_if_asked();
  CheckpointPlan plan;
  plan.kind = &schedules().find(candidate.name);
  plan.request = request_for(candidate, inputs);
  make_room(*plan.kind, plan.request, inputs);
  plan.schedule_bytes = schedule_bytes(plan, inputs);
  return plan;
}

/// Memory with a codec holds states: of a record of several units it would lose the stages. @throws InputError when the
/// schedule keeps such records there.
void refuse_coded_records(const CheckpointPlan& plan, const PlanInputs& inputs) {
  if (inputs.keeps_records || inputs.record_units == 1 || plan.schedule.predicted.kept <= 0) return;
  throw InputError("schedule " + plan.kind->name +
                   ": it keeps stage records, and memory with a codec holds states alone; leave out its codec, or "
                   "choose another schedule");
}

/// Schedules that must know the number of steps are told apart by what they are, before they are asked.
void refuse_open_end(const CheckpointPlan& plan, const PlanInputs& inputs) {
  if (inputs.steps != unknown_steps || plan.kind->is_online || inputs.open_because.empty()) return;
  throw InputError(fmt::format(
      "schedule {}: it needs to know the number of steps, and {}: use 'online' or 'auto' (checkpoints.schedule)",
      plan.kind->name, inputs.open_because));
}

void refuse_walking_back(const CheckpointPlan& plan, const PlanInputs& inputs) {
  if (plan.kind->walks_back && !inputs.no_walking_back.empty())
    throw InputError("schedule " + plan.kind->name + ": " + inputs.no_walking_back);
}

/// @throws InputError when it cannot be met.
void meet_request(CheckpointPlan& plan, const PlanInputs& inputs) {
  refuse_open_end(plan, inputs);
  refuse_walking_back(plan, inputs);
  plan.schedule = make_schedule(*plan.kind, plan.request);
  refuse_coded_records(plan, inputs);
  plan.request.capacities.slots = plan.schedule.predicted.peak;
  plan.schedule_bytes = schedule_bytes(plan, inputs);
  plan.seconds = seconds_of(*plan.kind, plan.schedule, inputs);
  plan.memory_seconds = memory_seconds(plan, inputs);
}

CheckpointPlan plan_with(const Candidate& candidate, const PlanInputs& inputs) {
  CheckpointPlan plan = request_with(candidate, inputs);
  meet_request(plan, inputs);
  return plan;
}

/// The part of a gradient's time below which nobody asks how much memory was made for it.
constexpr double next_to_nothing = 0.01;

/// How much more than its time memory is taken to cost where nobody knows what takes longer than the pages that lie
/// ready: twenty times as long, on virtual machines that have to ask for more.
double caution(const OperationSeconds& seconds) {
  return seconds.touch_more > 0.0 ? 1 : 4;
}

/// Whether keeping all records would take next to no time for making the memory.
bool is_memory_free(const PlanInputs& inputs) {
  const OperationSeconds& s = inputs.seconds;
  return caution(s) * std::max(s.touch, s.touch_more) * static_cast<double>(inputs.record_units) <=
         next_to_nothing * (s.record + s.reverse_kept) * static_cast<double>(inputs.gradients);
}

/// The best of the plans that it has looked at.
class Search {
 public:
  explicit Search(const PlanInputs& inputs) : inputs_(inputs) {}

  /// A family's plan with all host memory, then with half as much again and again: until its dynamic program can be
  /// afforded, and as long as making the memory takes a part of the time that counts and less of it is better.
  /// Where the end is open no plan has a time: then with all memory. @throws InputError when none fits.
  void look_at(const Candidate& candidate) {
    if (inputs_.steps == unknown_steps) {
      price_with(candidate, inputs_, true);
      return;
    }
    constexpr int patience = 2;  // times cost steps with the memory
    PlanInputs fewer = inputs_;
    std::int64_t& units = fewer.units[Tier::host];
    std::optional<Price> least;
    for (int worse = 0; worse < patience; units /= 2) {
      if (is_affordable(candidate, fewer)) {
        const std::optional<Price> price = price_with(candidate, fewer, !least);
        if (!price) return;
        const bool gains = !least || is_better(*price, *least);
        worse = gains ? 0 : worse + 1;
        if (gains) least = price;
        units = price->units;
        if (least->memory <= next_to_nothing * least->gradients) return;
      }
      if (units <= 1) break;
    }
    if (!least) throw InputError("schedule " + candidate.name + ": its dynamic program would take too long");
  }

  bool has_found() const { return best_.has_value(); }
  CheckpointPlan best() {
    if (!best_->schedule.actions) best_->schedule = make_schedule(*best_->kind, best_->request);
    return std::move(*best_);
  }

 private:
  /// What plans are compared by: seconds of all gradients, of making the memory; units of it that it uses.
  struct Price {
    double gradients = 0.0, memory = 0.0;
    std::int64_t units = 0;
    double all() const { return gradients + memory; }
  };
  Price price_of(const CheckpointPlan& plan) const {
    return {plan.seconds * static_cast<double>(inputs_.gradients), caution(inputs_.seconds) * plan.memory_seconds,
            plan.schedule.predicted.peak[index_of(Tier::host)]};
  }
  /// The faster one; of two that take next to the same time, the smaller one.
  bool is_better(const Price& one, const Price& other) const {
    if (inputs_.seconds.touch == 0.0) return one.all() < other.all();
    return one.all() < (one.memory < other.memory ? 1 + next_to_nothing : 1 - next_to_nothing) * other.all();
  }
  /// Nothing when it does not fit, unless that is to be thrown.
  std::optional<Price> price_with(const Candidate& candidate, const PlanInputs& inputs, bool throws) {
    try {
      CheckpointPlan plan = request_with(candidate, inputs);
      if (best_ &&
          saturating_sum(best_->schedule_bytes, bytes_to_make(*plan.kind, plan.request, inputs)) > inputs_.host_bytes)
        best_->schedule.actions = nullptr;  // with its tables
      meet_request(plan, inputs);
      const Price price = price_of(plan);
      if (!best_ || is_better(price, price_of(*best_))) best_ = std::move(plan);
      return price;
    } catch (const InputError&) {
      if (throws) throw;
      return std::nullopt;
    }
  }

  const PlanInputs& inputs_;
  std::optional<CheckpointPlan> best_;
};

/// Families worth a look; those that others always beat are left out.
std::vector<Candidate> candidates(const PlanInputs& inputs) {
  const std::int64_t n = inputs.steps, units = inputs.units[inputs.memory()];
  const std::vector<Tier> slow = slow_tiers(inputs);
  const auto holds_more = [&](Tier a, Tier b) { return inputs.units[a] < inputs.units[b]; };
  if (n == unknown_steps) {
    // Where the run ends is not known, so times cannot be compared: a slow tier counts when it holds more than memory.
    const auto largest = std::max_element(slow.begin(), slow.end(), holds_more);
    if (largest == slow.end() || units < 0 || inputs.units[*largest] <= units || units >= inputs.at_most - 1)
      return {{"online", inputs}};
    Candidate two_level("twolevel", inputs);
    two_level.roles.slow = *largest;
    return {two_level};
  }
  if (inputs.are_spans || inputs.are_first_levels) return {{"store-all", inputs, true}};
  std::vector<Candidate> all;
  if (inputs.keeps_records && (units < 0 || (n - 1) <= units / inputs.record_units)) {
    if (gain_by_records(inputs.seconds) && is_memory_free(inputs)) return {{"store-all", inputs, true}};
    all.emplace_back("store-all", inputs, true);
  }
  if (n - 1 <= units || units < 0) all.emplace_back("store-all", inputs);
  if (units >= 1) all.emplace_back("revolve", inputs);
  if (units >= 1 && inputs.no_walking_back.empty()) all.emplace_back("walk-back", inputs);
  if (inputs.keeps_records && inputs.record_units > 1 && units >= inputs.record_units) all.emplace_back("cams", inputs);
  if (slow.empty()) return all;
  all.emplace_back("hrevolve", inputs);
  for (const Tier tier : slow) {
    if (!inputs.overlap.is_on() || !inputs.overlap.transfers[index_of(tier)] || tier == Tier::device) continue;
    for (const bool records : {false, true}) {
      if (records && !inputs.keeps_records) continue;
      all.emplace_back("stride", inputs, records);
      all.back().roles.slow = tier;
    }
  }
  return all;
}

/// Counts the traffic that the schedule left open, unless that would take long.
void count_traffic(Schedule& schedule) {
  constexpr std::int64_t most_steps = 2'000'000;
  ScheduleCounts& counts = schedule.predicted;
  const bool is_open = std::count(counts.writes.begin(), counts.writes.end(), unpredicted) +
                           std::count(counts.reads.begin(), counts.reads.end(), unpredicted) >
                       0;
  if (!is_open || counts.reversed == unpredicted || counts.total() > most_steps) return;
  counts.writes = counts.reads = {};
  ActionStream stream = schedule.actions();
  while (const Action* action = stream.next()) {
    if (const auto* save = std::get_if<Save>(action)) ++counts.writes[index_of(save->slot.tier)];
    if (const auto* load = std::get_if<Load>(action)) ++counts.reads[index_of(load->slot.tier)];
  }
}

/// With a slow tier: how good the plan is at least.
void add_certificate(CheckpointPlan& plan, const PlanInputs& inputs) {
  if (plan.kind->name != "hrevolve" || inputs.overlap.is_on()) return;
  Levels::Problem problem{inputs.steps, inputs.memory(), inputs.units[inputs.memory()], {}, inputs.seconds.forward};
  for (const Tier tier : slow_tiers(inputs)) {
    const auto t = index_of(tier);
    const std::int64_t slots = inputs.units[tier];
    problem.slow.push_back(
        {tier, slots < 0 ? inputs.steps : slots, plan.request.costs.write[t], plan.request.costs.read[t]});
  }
  if (problem.slow.empty()) return;
  const double reversal = static_cast<double>(inputs.steps) * (plan.request.costs.reverse + inputs.seconds.aside);
  plan.proven_least_seconds = reversal + Levels::best(problem).lower_bound(0.999 * plan.seconds - reversal);
}

}  // namespace

double CheckpointPlan::recomputation() const {
  const ScheduleCounts& counts = schedule.predicted;
  return static_cast<double>(counts.total()) / static_cast<double>(counts.reversed);
}

std::int64_t CheckpointPlan::checkpoint_bytes(Tier tier, const PlanInputs& inputs) const {
  return schedule.predicted.peak[index_of(tier)] * taken_bytes(tier, inputs) +
         (tier == Tier::host ? schedule_bytes : 0);
}

std::int64_t schedule_bytes(const CheckpointPlan& plan, const PlanInputs& inputs) {
  return bytes_kept(*plan.kind, plan.request, inputs);
}

std::int64_t bytes_to_make(const CheckpointPlan& plan, const PlanInputs& inputs) {
  return bytes_to_make(*plan.kind, plan.request, inputs);
}

double predicted_seconds(const Schedule& schedule, const OperationSeconds& seconds) {
  const ScheduleCounts& counts = schedule.predicted;
  if (counts.reversed == unpredicted) return 0.0;
  double sum = seconds.aside * static_cast<double>(counts.reversed) +
               seconds.forward * static_cast<double>(counts.plain + counts.retreated) +
               seconds.record * static_cast<double>(counts.kept) +
               seconds.record_last * static_cast<double>(counts.recorded - counts.kept) +
               seconds.reverse_kept * static_cast<double>(counts.kept) +
               seconds.reverse * static_cast<double>(counts.reversed - counts.kept);
  const StateTransfers transfers(counts);
  for (std::size_t t = 0; t < tier_count; ++t)
    if (static_cast<Tier>(t) != seconds.memory || counts.kept == 0)  // kept records include their traffic
      sum += seconds.write[t] * transfers.writes[t] + seconds.read[t] * transfers.reads[t];
  return sum;
}

namespace {

/// Host memory that a schedule keeps with one slot in the memory that states are made in.
std::int64_t least_bytes_kept(const PlanInputs& inputs) {
  ScheduleRequest least;
  least.steps = inputs.steps;
  least.at_most = inputs.at_most;
  least.roles = {inputs.memory(), Tier::disk};
  least.capacities[inputs.memory()] = 1;
  return bytes_kept(schedules().find(inputs.steps == unknown_steps ? "online" : "revolve"), least, inputs);
}

bool has_a_checkpoint(const PlanInputs& inputs) {
  const std::int64_t checkpoint = inputs.memory() == Tier::host ? inputs.host_unit_bytes : 0;
  return inputs.units[inputs.memory()] >= 1 && checkpoint + least_bytes_kept(inputs) <= inputs.host_bytes;
}

}  // namespace

std::int64_t least_checkpoint_bytes(Tier tier, const PlanInputs& inputs) {
  const std::int64_t checkpoint = tier == inputs.memory() ? taken_bytes(tier, inputs) : 0;
  return checkpoint + (tier == Tier::host ? least_bytes_kept(inputs) : 0);
}

namespace {

/// With the needs of the rank that needs the most.
[[noreturn]] void refuse_memory(const PlanInputs& inputs) {
  const bool is_host = inputs.memory() == Tier::host || inputs.units[inputs.memory()] >= 1;
  const Tier tier = is_host ? Tier::host : inputs.memory();
  const std::int64_t working = std::max(inputs.working(tier), inputs.most_working[index_of(tier)]);
  const bool has_checkpoint = tier == inputs.memory() && taken_bytes(tier, inputs) > 0;
  const std::int64_t more = tier == Tier::host && has_checkpoint
                                ? std::max<std::int64_t>(0, inputs.host_unit_bytes - taken_bytes(tier, inputs))
                                : 0;
  const std::int64_t needed = least_checkpoint_bytes(tier, inputs) + more;
  throw InputError(
      fmt::format("checkpoints.{}: too little memory: a gradient needs {} of working memory{} and {}{}, together {}",
                  to_text(tier), bytes_text(working), tier == Tier::host ? inputs.working_note : "",
                  has_checkpoint ? "at least one checkpoint of " : "for its schedule ", bytes_text(needed),
                  enough_text(working + needed)));
}

}  // namespace

void require_memory(const PlanInputs& inputs) {
  if (!has_a_checkpoint(inputs) && slow_tiers(inputs).empty() && inputs.steps != 1) refuse_memory(inputs);
}

std::int64_t open_records(const PlanInputs& inputs) {
  constexpr std::int64_t little = std::int64_t{4} << 20U, few = 50;
  const std::int64_t r = inputs.record_units, units = inputs.units[inputs.memory()], most = inputs.at_most - 1;
  if (inputs.steps != unknown_steps || r == 1 || !inputs.keeps_records || units < 0) return 0;
  if (inputs.likely_steps > 0) {
    const std::int64_t wanted = std::min(most, inputs.likely_steps + inputs.likely_steps / 4 + 16);
    return std::clamp<std::int64_t>((units - wanted) / (r - 1), 0, wanted);
  }
  const std::int64_t beside_all = (units - most) / (r - 1), of_a_quarter = units / 4 / r;
  const std::int64_t small = little / (r * std::max<std::int64_t>(1, taken_bytes(inputs.memory(), inputs)));
  const std::int64_t records = std::min({most, small, std::max(beside_all, of_a_quarter)});
  return records < std::min(few, most) ? 0 : records;
}

CheckpointPlan make_plan(const PlanInputs& inputs) {
  require_memory(inputs);
  if (inputs.schedule != "auto") {
    CheckpointPlan plan = plan_with(Candidate::by_name(inputs.schedule, inputs), inputs);
    if (!plan.kind->is_online) count_traffic(plan.schedule);
    return plan;
  }
  Search search(inputs);
  const std::vector<Candidate> all = candidates(inputs);
  for (const Candidate& candidate : all) {
    try {
      search.look_at(candidate);
    } catch (const InputError&) {  // it does not fit
      if (&candidate == &all.back() && !search.has_found() && has_a_checkpoint(inputs)) throw;
    }
  }
  if (!search.has_found()) refuse_memory(inputs);
  CheckpointPlan best = search.best();
  best.is_automatic = true;
  if (!best.kind->is_online) count_traffic(best.schedule);
  add_certificate(best, inputs);
  return best;
}

std::vector<CheckpointPlan> all_plans(const PlanInputs& inputs) {
  std::vector<CheckpointPlan> plans;
  for (const ScheduleKind& kind : schedules().all()) {
    const Candidate candidate = Candidate::by_name(kind.name, inputs);
    if (!is_affordable(candidate, inputs)) continue;
    try {
      plans.push_back(plan_with(candidate, inputs));
    } catch (const InputError&) {
      continue;  // it does not fit, or not here
    }
    if (plans.back().schedule.predicted.reversed == unpredicted) plans.pop_back();
  }
  std::sort(plans.begin(), plans.end(),
            [](const CheckpointPlan& a, const CheckpointPlan& b) { return a.seconds < b.seconds; });
  return plans;
}

std::string bytes_text(std::int64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

std::string bytes_text(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 6; ++unit) bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.4g} {}", bytes, units[unit]);
}

std::string enough_text(std::int64_t bytes) {
  constexpr double digits = 1000;  // and one more
  double unit = 1;
  while (static_cast<double>(bytes) / unit >= 1024 && unit < std::pow(1024.0, 4)) unit *= 1024;
  const double value = static_cast<double>(bytes) / unit;
  const double last = unit > 1 ? std::pow(10.0, std::floor(std::log10(std::max(1.0, value)))) / digits : 1;
  return bytes_text(static_cast<std::int64_t>(std::ceil(std::ceil(value / last) * last * unit)));
}

std::string seconds_text(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.3g} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  const double minutes = std::round(seconds / 60);
  if (minutes < 120) return fmt::format("{:.0f} min", minutes);
  return fmt::format("{:.0f} h {:02.0f} min", std::floor(minutes / 60), std::fmod(minutes, 60));
}

HostBudget default_host_budget(const Communicator& comm, const std::optional<NodeMemory>& known) {
  const NodeMemory node = known ? *known : node_memory(comm);
  const std::int64_t mine = node.share() / 2, least = -comm.max(-mine);
  std::string source = fmt::format("half of {} {}", bytes_text(node.room.bytes), node.room.source);
  if (node.ranks > 1) source += fmt::format(", shared by {} ranks", node.ranks);
  return {least, comm.first_text(mine == least ? source : "")};
}

std::string warning_of_budget(std::int64_t bytes, const Communicator& comm, const std::optional<NodeMemory>& known) {
  const NodeMemory node = known ? *known : node_memory(comm);
  if (bytes <= node.share()) return comm.first_text("");
  const std::string asked = node.ranks > 1 ? fmt::format(" for each of {} ranks", node.ranks) : "";
  return comm.first_text(fmt::format("checkpoints.host: {}{} is more than there is: {} {}", bytes_text(bytes), asked,
                                     bytes_text(node.room.bytes), node.room.source));
}

}  // namespace hindsight
