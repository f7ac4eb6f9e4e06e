#include "adjoint/schedule/simulated_machine.hpp"

#include <algorithm>

#include "adjoint/schedule/roles.hpp"
#include "runtime/error.hpp"

namespace hindsight {
SimulatedMachine::SimulatedMachine(const ScheduleRequest& request, bool is_online)
    : request_(request),
      steps_(request.steps == unknown_steps ? request.at_most : request.steps),
      is_online_(is_online) {}

void SimulatedMachine::refuse(const std::string& why) const {
  refuse_action(action_number_, action_, why);
}

void SimulatedMachine::require(bool holds, const char* why) const {
  if (!holds) refuse(why);
}

void SimulatedMachine::execute(const Action& action) {
  ++action_number_;
  action_ = action;
  require(!done_, "the schedule is done already");
  std::visit([this](const auto& one) { apply(one); }, action);
}

/// What Advance and Record have in common: they start from the live state, stay behind the front, spoil no record.
void SimulatedMachine::check_step_ahead(std::int64_t from, std::int64_t to) const {
  if (live_state_ != from)
    refuse("it starts from state " + std::to_string(from) + ", but " + live_text(Content::state, live_state_));
  if (from == 0 && is_walked_) refuse("state 0 was walked back to: it is complete only where it is loaded");
  if (front_ < 0 && to > steps_) refuse("it passes the end at state " + std::to_string(steps_));
  if (front_ >= 0 && to > front_) refuse("it passes the adjoint's front at state " + std::to_string(front_));
  if (record_needed_)
    refuse("it overwrites the live record " + std::to_string(*live_record_) + ", which is still needed");
}

void SimulatedMachine::apply(const Advance& action) {
  require(action.to > action.from, "it does not move forward");
  check_step_ahead(action.from, action.to);
  if (front_ >= 0 && action.to == front_)
    refuse("it passes step " + std::to_string(front_ - 1) + ", the next to be reversed");
  live_state_ = action.to;
  is_walked_ = false;
  live_record_.reset();
  counts_.plain += action.to - action.from;
}

void SimulatedMachine::apply(const Record& action) {
  check_step_ahead(action.step, action.step + 1);
  live_state_ = action.step + 1;
  is_walked_ = false;
  live_record_ = action.step;
  record_needed_ = front_ >= 0 || !is_online_ || action.step == steps_ - 1;
  ++counts_.recorded;
}

void SimulatedMachine::apply(const Reverse& action) {
  require(front_ >= 0, "nothing is reversed before Turn");
  if (action.step != front_ - 1) refuse("the next step to be reversed is " + std::to_string(front_ - 1));
  if (live_record_ != action.step) refuse("its record is not live: " + live_text(Content::record, live_record_));
  live_record_.reset();
  record_needed_ = false;
  --front_;
  ++counts_.reversed;
}

void SimulatedMachine::apply(const Retreat& action) {
  require(front_ >= 0, "nothing walks back before Turn");
  require(action.to == action.from - 1, "it does not move one step back");
  require(action.to >= 0, "there is no state before the first one");
  if (live_state_ != action.from && live_record_ != action.from)  // a record holds the state that it starts from
    refuse("it starts from state " + std::to_string(action.from) + ", but " + live_text(Content::state, live_state_));
  live_state_ = action.to;
  is_walked_ = true;
  ++counts_.retreated;
}

void SimulatedMachine::apply(const Save& action) {
  const bool state = action.content == Content::state;
  const auto live = state ? live_state_ : live_record_;
  if (live != action.step && live_record_ != action.step) {  // a record holds the state that it starts from
    refuse("it saves " + to_text(action.content, action.step) + ", but " + live_text(action.content, live));
  }
  fill(action.slot, {action.step, action.content});
  if (!state) {
    record_needed_ = false;
    ++counts_.kept;
  }
}

void SimulatedMachine::apply(const Load& action) {
  const Held& held = full(action.slot);
  if (held.step != action.step || held.content != action.content) {
    refuse("the slot holds " + to_text(held.content, held.step));
  }
  ++counts_.reads[index_of(action.slot.tier)];
  if (record_needed_)
    refuse("it overwrites the live record " + std::to_string(*live_record_) + ", which is still needed");
  live_state_.reset();
  is_walked_ = false;
  live_record_.reset();
  (action.content == Content::state ? live_state_ : live_record_) = action.step;
  if (action.content == Content::record && request_.record_gives_state) live_state_ = action.step + 1;
}

void SimulatedMachine::apply(const Move& action) {
  require(action.from.tier != action.to.tier, "it stays in its tier");
  require(!record_needed_, "a record is live that is in no slot: no run could go on from here");
  fill(action.to, full(action.from));
  ++counts_.reads[index_of(action.from.tier)];
  clear(action.from);
}

void SimulatedMachine::apply(const Release& action) {
  const Held& held = full(action.slot);
  if (held.content == Content::record && live_record_ == held.step) record_needed_ = true;
  clear(action.slot);
}

void SimulatedMachine::apply(const Turn& action) {
  require(front_ < 0, "the schedule has turned already");
  if (action.steps != steps_) refuse("the number of steps is " + std::to_string(steps_));
  if (live_state_ != steps_) refuse("the end is not reached: " + live_text(Content::state, live_state_));
  front_ = steps_;
}

void SimulatedMachine::apply(const Done&) {
  require(front_ >= 0, "the schedule never turned");
  if (front_ > 0) refuse("step " + std::to_string(front_ - 1) + " is not reversed");
  for (std::size_t tier = 0; tier < slots_.size(); ++tier) {
    if (in_use_[tier] == 0) continue;
    const auto& all = slots_[tier];
    const auto kept = std::find_if(all.begin(), all.end(), [](const auto& held) { return held.has_value(); });
    const Slot leak{static_cast<Tier>(tier), kept - all.begin()};
    refuse(to_text(leak) + " leaks: it still holds " + to_text((*kept)->content, (*kept)->step));
  }
  done_ = true;
}

std::int64_t SimulatedMachine::units(Content content) const {
  return content == Content::record ? request_.record_units : 1;
}

/// The slot, which has to exist within the capacity; storage grows as slots are used.
std::optional<SimulatedMachine::Held>& SimulatedMachine::slot(Slot slot) {
  const std::int64_t capacity = request_.capacities[slot.tier];
  if (slot.index < 0 || (capacity >= 0 && slot.index >= capacity)) {
    refuse(to_text(slot) + " is beyond the capacity of " + std::to_string(capacity) + " slots");
  }
  auto& all = slots_[index_of(slot.tier)];
  const auto index = static_cast<std::size_t>(slot.index);
  if (index >= all.size()) all.resize(index + 1);
  return all[index];
}

SimulatedMachine::Held& SimulatedMachine::full(Slot where) {
  auto& held = slot(where);
  if (!held || !held->is_head) refuse(to_text(where) + " is empty");
  return *held;
}

void SimulatedMachine::fill(Slot where, Held held) {
  const std::size_t tier = index_of(where.tier);
  const std::int64_t count = units(held.content);
  for (std::int64_t unit = 0; unit < count; ++unit) {
    auto& free = slot({where.tier, where.index + unit});
    if (free) refuse(to_text(where) + " is not free: it holds " + to_text(free->content, free->step));
    free = held;
    free->is_head = unit == 0;
  }
  ++counts_.writes[tier];
  in_use_[tier] += count;
  counts_.peak[tier] = std::max(counts_.peak[tier], in_use_[tier]);
}

void SimulatedMachine::clear(Slot where) {
  const std::int64_t count = units(slot(where)->content);
  for (std::int64_t unit = 0; unit < count; ++unit) slot({where.tier, where.index + unit}).reset();
  in_use_[index_of(where.tier)] -= count;
}

void SimulatedMachine::finish() const {
  if (!done_) refuse_end(action_number_, counts_.reversed, steps_);
}

namespace {

void expect_predicted(const ScheduleKind& kind, const char* what, std::int64_t predicted, std::int64_t executed) {
  if (predicted == unpredicted || predicted == executed) return;
  throw Error(ExitCode::bug, "checkpoint schedule " + kind.name + " predicted " + std::to_string(predicted) + " " +
                                 what + " and took " + std::to_string(executed));
}

void compare(const ScheduleKind& kind, const ScheduleCounts& predicted, const ScheduleCounts& executed) {
  expect_predicted(kind, "plain steps", predicted.plain, executed.plain);
  expect_predicted(kind, "recorded steps", predicted.recorded, executed.recorded);
  expect_predicted(kind, "kept records", predicted.kept, executed.kept);
  expect_predicted(kind, "reversed steps", predicted.reversed, executed.reversed);
  expect_predicted(kind, "steps walked back", predicted.retreated, executed.retreated);
  for (std::size_t tier = 0; tier < tier_count; ++tier) {
    expect_predicted(kind, "writes", predicted.writes[tier], executed.writes[tier]);
    expect_predicted(kind, "reads", predicted.reads[tier], executed.reads[tier]);
    if (executed.peak[tier] > predicted.peak[tier])
      expect_predicted(kind, "units at most", predicted.peak[tier], executed.peak[tier]);
  }
}

}  // namespace

ScheduleCounts simulate(const ScheduleKind& kind, const ScheduleRequest& request) {
  const Schedule schedule = make_schedule(kind, request);
  const std::int64_t steps = request.steps == unknown_steps ? request.at_most : request.steps;
  SimulatedMachine machine(request, kind.is_online);
  ActionStream stream = schedule.actions();
  bool is_found = !kind.is_online;
  while (const Action* action = stream.next()) {
    machine.execute(*action);
    if (!is_found && machine.live_state() == steps) {
      is_found = true;
      stream.finish_at(steps);
    }
  }
  machine.finish();
  compare(kind, schedule.predicted, machine.counts());
  return machine.counts();
}

}  // namespace hindsight
