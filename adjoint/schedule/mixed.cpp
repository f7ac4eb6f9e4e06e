// Restart states and stage records compete for the same memory: mixed (Maddison 2024, arXiv:2305.09568: both of one
// unit) and CAMS (Zhang, Constantinescu 2023: a record takes as many units as the method has stages, and gives back the
// state after its step if the method is stiffly accurate). Totals, recording steps included, by the recurrences of M(n,
// s): the first state is live; N(n, s): it can be had from a record at any time.
#include "adjoint/schedule/mixed.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/kinds.hpp"
#include "src/error.hpp"
#include "src/stop_request.hpp"

namespace hindsight {
namespace {

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

constexpr std::int64_t infeasible = endless / 4;

/// min over 1 <= i < n of i + left[i] + right[n-i], and the least such i.
std::pair<std::int64_t, std::int64_t> best_cut(std::int64_t n, const std::int64_t* left, const std::int64_t* right) {
  std::int64_t best = infeasible, cut = 0;
  for (std::int64_t i = 1; i < n; ++i) {
    const std::int64_t total = i + left[i] + right[n - i];
    if (total < best) {
      best = total;
      cut = i;
    }
  }
  return {best, cut};
}

}  // namespace

MixedProgram::MixedProgram(std::int64_t steps, std::int64_t units, std::int64_t record_units, bool record_gives_state)
    : steps_(steps), units_(units), record_(record_units), gives_state_(record_gives_state) {
  const Row empty{std::vector<std::int64_t>(at(steps) + 1, infeasible), std::vector<std::int32_t>(at(steps) + 1, 0)};
  live_.assign(at(units) + 1, empty);
  if (gives_state_) given_.assign(at(units) + 1, empty);
  for (std::int64_t s = 0; s <= units; ++s) {
    Row& own = live_[at(s)];
    own.total[1] = 1;
    if (gives_state_) given_[at(s)].total[1] = 1;
    const std::vector<Row>& after_record = gives_state_ ? given_ : live_;
    for (std::int64_t n = 2; n <= steps; ++n) {
      stop_if_asked();
      const std::int64_t by_record = s >= record_ ? 1 + after_record[at(s - record_)].total[at(n - 1)] : infeasible;
      std::pair<std::int64_t, std::int64_t> cut{infeasible, 0};
      if (s >= 1 && by_record > n) cut = best_cut(n, own.total.data(), live_[at(s - 1)].total.data());
      own.total[at(n)] = std::min(by_record, cut.first);
      own.cut[at(n)] = by_record <= cut.first ? 0 : static_cast<std::int32_t>(cut.second);
      if (!gives_state_) continue;
      Row& given = given_[at(s)];
      const auto again = best_cut(n, given.total.data(), own.total.data());
      const std::int64_t best = std::min({own.total[at(n)], by_record, again.first});
      given.total[at(n)] = best;
      given.cut[at(n)] =
          best == by_record ? 0 : static_cast<std::int32_t>(best == again.first ? again.second : as_live);
    }
  }
}

double MixedProgram::operations(std::int64_t steps, std::int64_t units) {
  return 0.5 * static_cast<double>(steps) * static_cast<double>(steps) * static_cast<double>(units);
}

std::int64_t MixedProgram::total() const {
  return live_[at(units_)].total[at(steps_)];
}

bool MixedProgram::is_feasible() const {
  return total() < infeasible;
}

namespace {

/// Steps begin to end-1 with the units from `first` on.
struct Part {
  std::int64_t begin, end, first;
  Slot base{Tier::host, -1};         ///< a slot that gives back state `begin`, if any
  Content content = Content::state;  ///< of it; a record belongs to a part below on the stack
  bool is_live = true;
  bool awaits_reverse = false;  ///< step begin-1 of this part is in the record at `base`
};

}  // namespace

ActionStream MixedProgram::actions(std::shared_ptr<const MixedProgram> program) {
  const MixedProgram& p = *program;
  std::vector<Part> open{{0, p.steps_, 0}};
  while (!open.empty()) {
    Part& part = open.back();
    if (part.awaits_reverse) {  // the steps behind a stored record are done: its own turn
      const std::int64_t step = part.begin;
      co_yield Load{part.base, step, Content::record};
      co_yield Release{part.base};
      co_yield Reverse{step};
      open.pop_back();
      continue;
    }
    const std::int64_t n = part.end - part.begin;
    const bool is_kept = part.base.index >= 0 && part.content == Content::state;
    const bool is_given = part.base.index >= 0 && part.content == Content::record;
    if (!part.is_live) {
      const std::int64_t held = is_given ? part.begin - 1 : part.begin;
      co_yield Load{part.base, held, part.content};
      part.is_live = true;
    }
    const std::int64_t units = p.units_ - part.first;
    const Row& row = (is_given ? p.given_ : p.live_)[at(units)];
    std::int64_t cut = row.cut[at(n)];
    if (cut == as_live) cut = p.live_[at(units)].cut[at(n)];
    const bool from_given = is_given && row.cut[at(n)] != as_live;
    const bool by_record = n == 1 || cut == 0;
    if (is_kept && by_record) co_yield Release{part.base};
    if (n == 1) {
      co_yield Record{part.begin};
      if (part.end == p.steps_) co_yield Turn{p.steps_};
      co_yield Reverse{part.begin};
      open.pop_back();
    } else if (by_record) {
      const Slot slot{Tier::host, part.first};
      co_yield Record{part.begin};
      co_yield Save{slot, part.begin, Content::record};
      const Part rest{part.begin + 1, part.end, part.first + p.record_, p.gives_state_ ? slot : Slot{Tier::host, -1},
                      Content::record};
      part.base = slot;
      part.awaits_reverse = true;
      open.push_back(rest);
    } else {
      const std::int64_t middle = part.begin + cut, end = part.end;
      if (!from_given && !is_kept) {
        part.base = {Tier::host, part.first};
        part.content = Content::state;
        co_yield Save{part.base, part.begin, Content::state};
      }
      co_yield Advance{part.begin, middle};
      part.end = middle;
      part.is_live = false;
      open.push_back({middle, end, part.first + (from_given ? 0 : 1)});
    }
  }
  co_yield Done{};
}

namespace {

/// What a dynamic program that was asked for by name may cost.
constexpr double most_operations = 2e11;

Schedule make(const std::string& name, const ScheduleRequest& request) {
  require_known_steps(name, request);
  const std::int64_t n = request.steps;
  if (n > std::numeric_limits<std::int32_t>::max() / 2)
    throw InputError("schedule " + name + ": too many steps for its dynamic program; use revolve");
  const std::int64_t useful = saturating_units(n, request.record_units);
  const std::int64_t units = take_host_slots(name, request, n > 1 ? 1 : 0, useful);
  if (MixedProgram::operations(n, units) > most_operations)
    throw InputError("schedule " + name + ": its dynamic program would take minutes for " + std::to_string(n) +
                     " steps and " + std::to_string(units) + " units of memory; use revolve or auto");
  const auto program = std::make_shared<const MixedProgram>(n, units, request.record_units, request.record_gives_state);
  if (!program->is_feasible()) take_host_slots(name, request, request.record_units, useful);
  Schedule schedule{predict(name, n, program->total() - n), [program] { return MixedProgram::actions(program); }};
  ActionStream stream = schedule.actions();
  while (const Action* action = stream.next()) {
    const auto* save = std::get_if<Save>(action);
    if (save != nullptr && save->content == Content::record) ++schedule.predicted.kept;
  }
  schedule.predicted.peak = only_host(units);
  schedule.predicted.writes = schedule.predicted.reads = only_host(unpredicted);
  return schedule;
}

}  // namespace

std::int64_t saturating_units(std::int64_t steps, std::int64_t record_units) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(steps - 1, record_units, &product) ? endless : product;
}

namespace {

void complete(ScheduleRequest& request, const RecordOffer& records) {
  request.record_units = records.units;
}

double operations(const ScheduleRequest& request) {
  const std::int64_t units = request.capacities[Tier::host], n = request.steps;
  return MixedProgram::operations(n, units < 0 ? n : std::min(units, n));
}

}  // namespace

ScheduleKind mixed_schedule() {
  const auto make_mixed = [](const ScheduleRequest& request) {
    if (request.record_units != 1 || request.record_gives_state)
      throw InputError("schedule mixed: its records take one unit; for records of several use cams");
    return make("mixed", request);
  };
  return {"mixed", "states and stage records share the slots, one unit each", make_mixed, false, complete, operations};
}

ScheduleKind cams_schedule() {
  return {"cams",
          "states and stage records share the memory; a record takes as many units as there are stages",
          [](const ScheduleRequest& request) { return make("cams", request); },
          false,
          complete,
          operations};
}

}  // namespace hindsight
