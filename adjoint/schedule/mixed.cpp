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
#include "adjoint/schedule/level_counts.hpp"
#include "runtime/error.hpp"
#include "runtime/stop_request.hpp"

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

/// Steps begin to end-1 with the units from `first` on.
struct Part {
  std::int32_t begin, end, first;
  std::int32_t base = -1;            ///< the slot that gives back state `begin`, if any
  Content content = Content::state;  ///< of it; a record belongs to a part below on the stack
  bool is_live = true;
  bool awaits_reverse = false;  ///< step begin-1 of this part is in the record at `base`
  Slot slot() const { return {Tier::host, base}; }
};

/// Each takes a unit, or is a piece of one that does.
std::int64_t most_parts(std::int64_t steps, std::int64_t units) {
  return std::min(steps, saturating_sum(saturating_sum(units, units), 2));
}

}  // namespace

/// Totals of the latest rows, by units.
class MixedProgram::Totals {
 public:
  Totals(std::int64_t rows, std::int64_t steps)
      : rows_(rows), row_(steps + 1), totals_(at(saturating_product(rows_, row_)), infeasible) {}
  std::int64_t* operator[](std::int64_t units) { return totals_.data() + units % rows_ * row_; }
  /// The row takes the place of the one that is no longer needed.
  std::int64_t* begin(std::int64_t units) {
    if (rows_ == 0) return nullptr;
    std::fill_n((*this)[units], row_, infeasible);
    (*this)[units][1] = 1;
    return (*this)[units];
  }

 private:
  std::int64_t rows_, row_;
  CountedVector<std::int64_t> totals_;
};

MixedProgram::MixedProgram(std::int64_t steps, std::int64_t units, std::int64_t record_units, bool record_gives_state)
    : steps_(steps),
      units_(units),
      record_(record_units),
      gives_state_(record_gives_state),
      live_(at((units + 1) * (steps + 1)), 0),
      given_(gives_state_ ? live_.size() : 0, 0) {
  Totals live(record_ + 1, steps), given(gives_state_ ? record_ + 1 : 0, steps);
  for (std::int64_t s = 0; s <= units; ++s) {
    std::int64_t* const own = live.begin(s);
    std::int64_t* const own_given = given.begin(s);
    const std::int64_t* const after_record = s < record_ ? nullptr : (gives_state_ ? given : live)[s - record_];
    for (std::int64_t n = 2; n <= steps; ++n) {
      stop_if_asked();
      const std::int64_t by_record = after_record != nullptr ? 1 + after_record[n - 1] : infeasible;
      std::pair<std::int64_t, std::int64_t> cut{infeasible, 0};
      if (s >= 1 && by_record > n) cut = best_cut(n, own, live[s - 1]);
      own[n] = std::min(by_record, cut.first);
      live_[place(s, n)] = by_record <= cut.first ? 0 : static_cast<std::int32_t>(cut.second);
      if (!gives_state_) continue;
      const auto again = best_cut(n, own_given, own);
      own_given[n] = std::min({own[n], by_record, again.first});
      given_[place(s, n)] = own_given[n] == by_record
                                ? 0
                                : static_cast<std::int32_t>(own_given[n] == again.first ? again.second : as_live);
    }
  }
  total_ = live[units][steps];
}

ScheduleMemory MixedProgram::memory(std::int64_t steps, std::int64_t units, std::int64_t record_units,
                                    bool record_gives_state) {
  const std::int64_t row = saturating_product(record_gives_state ? 2 : 1, steps + 1);
  return {saturating_product(most_parts(steps, units), sizeof(Part)),
          saturating_product(row, saturating_product(sizeof(std::int32_t), saturating_sum(units, 1))),
          saturating_product(row, saturating_product(sizeof(std::int64_t), record_units + 1))};
}

double MixedProgram::operations(std::int64_t steps, std::int64_t units) {
  return 0.5 * static_cast<double>(steps) * static_cast<double>(steps) * static_cast<double>(units);
}

bool MixedProgram::is_feasible() const {
  return total_ < infeasible;
}

ActionStream MixedProgram::actions(std::shared_ptr<const MixedProgram> program) {
  const MixedProgram& p = *program;
  const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
  CountedVector<Part> open;
  open.reserve(at(most_parts(p.steps_, p.units_)));
  open.push_back({0, narrow(p.steps_), 0});
  while (!open.empty()) {
    Part& part = open.back();
    if (part.awaits_reverse) {  // the steps behind a stored record are done: its own turn
      const std::int64_t step = part.begin;
      co_yield Load{part.slot(), step, Content::record};
      co_yield Release{part.slot()};
      co_yield Reverse{step};
      open.pop_back();
      continue;
    }
    const std::int64_t n = part.end - part.begin;
    const bool is_kept = part.base >= 0 && part.content == Content::state;
    const bool is_given = part.base >= 0 && part.content == Content::record;
    if (!part.is_live) {
      const std::int64_t held = is_given ? part.begin - 1 : part.begin;
      co_yield Load{part.slot(), held, part.content};
      part.is_live = true;
    }
    const std::int64_t units = p.units_ - part.first;
    std::int64_t cut = (is_given ? p.given_ : p.live_)[p.place(units, n)];
    const bool from_given = is_given && cut != as_live;
    if (cut == as_live) cut = p.live_[p.place(units, n)];
    const bool by_record = n == 1 || cut == 0;
    if (is_kept && by_record) co_yield Release{part.slot()};
    if (n == 1) {
      co_yield Record{part.begin};
      if (part.end == p.steps_) co_yield Turn{p.steps_};
      co_yield Reverse{part.begin};
      open.pop_back();
    } else if (by_record) {
      const Slot slot{Tier::host, part.first};
      co_yield Record{part.begin};
      co_yield Save{slot, part.begin, Content::record};
      const Part rest{part.begin + 1, part.end, narrow(part.first + p.record_), p.gives_state_ ? part.first : -1,
                      Content::record};
      part.base = part.first;
      part.awaits_reverse = true;
      open.push_back(rest);
    } else {
      const std::int32_t middle = narrow(part.begin + cut), end = part.end;
      if (!from_given && !is_kept) {
        part.base = part.first;
        part.content = Content::state;
        co_yield Save{part.slot(), part.begin, Content::state};
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

ScheduleMemory memory(const ScheduleRequest& request) {
  const std::int64_t n = request.steps;
  const std::int64_t units = useful_of(request.capacities[Tier::host], saturating_units(n, request.record_units));
  return MixedProgram::memory(n, units, request.record_units, request.record_gives_state);
}

}  // namespace

ScheduleKind mixed_schedule() {
  const auto make_mixed = [](const ScheduleRequest& request) {
    if (request.record_units != 1 || request.record_gives_state)
      throw InputError("schedule mixed: its records take one unit; for records of several use cams");
    return make("mixed", request);
  };
  return {"mixed",    "states and stage records share the slots, one unit each",
          make_mixed, false,
          complete,   operations,
          false,      memory};
}

ScheduleKind cams_schedule() {
  return {"cams",
          "states and stage records share the memory; a record takes as many units as there are stages",
          [](const ScheduleRequest& request) { return make("cams", request); },
          false,
          complete,
          operations,
          false,
          memory};
}

}  // namespace hindsight
