#include "adjoint/schedule/simulated_machine.hpp"

#include <algorithm>

#include "src/error.hpp"

namespace hindsight {

namespace {
template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
}  // namespace

SimulatedMachine::SimulatedMachine(std::int64_t steps, Capacities capacities)
    : steps_(steps), capacities_(capacities) {}

void SimulatedMachine::refuse(const std::string& why) const {
  throw Error(ExitCode::bug,
              "schedule broken at action " + std::to_string(action_number_) + ", " + action_text_ + ": " + why);
}

std::optional<SimulatedMachine::Held>& SimulatedMachine::slot(Slot slot) {
  auto& tier = slots_[static_cast<std::size_t>(slot.tier)];
  const std::int64_t capacity = capacities_[slot.tier];
  if (slot.index < 0 || (capacity >= 0 && slot.index >= capacity))
    refuse("there is no slot " + to_text(slot) + ": the tier has " + std::to_string(capacity));
  if (slot.index >= static_cast<std::int64_t>(tier.size())) tier.resize(static_cast<std::size_t>(slot.index) + 1);
  return tier[static_cast<std::size_t>(slot.index)];
}

void SimulatedMachine::fill(Slot where, Held held) {
  auto& target = slot(where);
  if (target) refuse("the slot is full");
  target = held;
  const auto t = static_cast<std::size_t>(where.tier);
  counts_.peak[t] = std::max(counts_.peak[t], ++in_use_[t]);
  ++counts_.writes[t];
}

SimulatedMachine::Held SimulatedMachine::read(Slot where) {
  const auto& source = slot(where);
  if (!source) refuse("the slot is empty");
  ++counts_.reads[static_cast<std::size_t>(where.tier)];
  return *source;
}

void SimulatedMachine::clear(Slot where) {
  auto& target = slot(where);
  if (!target) refuse("the slot is empty");
  target.reset();
  --in_use_[static_cast<std::size_t>(where.tier)];
}

void SimulatedMachine::move_live(std::int64_t from, std::int64_t to) {
  if (live_record_ && !record_saved_) refuse("a live record that is still needed would be overwritten");
  if (live_state_ != from)
    refuse(live_state_ ? "the live state is " + std::to_string(*live_state_) : "there is no live state");
  const std::int64_t end = front_ < 0 ? steps_ : front_;
  if (to <= from || to > end) refuse("the live state would pass " + std::to_string(end));
  live_state_ = to;
  live_record_.reset();
}

void SimulatedMachine::execute(const Action& action) {
  ++action_number_;
  action_text_ = to_text(action);
  if (done_) refuse("an action after Done");
  std::visit(Overloaded{
                 [&](const Advance& a) {
                   if (front_ >= 0 && a.to >= front_) refuse("the advance passes the adjoint's front");
                   move_live(a.from, a.to);
                   counts_.plain += a.to - a.from;
                 },
                 [&](const Record& a) {
                   move_live(a.step, a.step + 1);
                   live_record_ = a.step;
                   record_saved_ = false;
                   ++counts_.recorded;
                 },
                 [&](const Reverse& a) {
                   if (front_ < 0) refuse("reversing before Turn");
                   if (a.step != front_ - 1) refuse("the next step to reverse is " + std::to_string(front_ - 1));
                   if (live_record_ != a.step) refuse("its record is not live");
                   live_record_.reset();
                   front_ = a.step;
                   ++counts_.reversed;
                 },
                 [&](const Save& a) {
                   const auto& live = a.content == Content::state ? live_state_ : live_record_;
                   if (live != a.step) refuse("this is not what is live");
                   fill(a.slot, {a.step, a.content});
                   if (a.content == Content::record) record_saved_ = true;
                 },
                 [&](const Load& a) {
                   const Held held = read(a.slot);
                   if (held.step != a.step || held.content != a.content) refuse("the slot holds something else");
                   if (live_record_ && !record_saved_) refuse("a live record that is still needed would be overwritten");
                   live_state_.reset();
                   live_record_.reset();
                   (a.content == Content::state ? live_state_ : live_record_) = a.step;
                   record_saved_ = true;
                 },
                 [&](const Move& a) {
                   const Held held = read(a.from);
                   fill(a.to, held);
                   clear(a.from);
                 },
                 [&](const Release& a) { clear(a.slot); },
                 [&](const Turn& a) {
                   if (front_ >= 0) refuse("a second Turn");
                   if (a.steps != steps_ || live_state_ != steps_) refuse("the end is not reached");
                   front_ = steps_;
                 },
                 [&](const Done&) {
                   if (front_ != 0) refuse("steps are left to reverse");
                   for (int tier = 0; tier < tier_count; ++tier)
                     if (in_use_[static_cast<std::size_t>(tier)] > 0)
                       refuse("slots of tier " + to_text(static_cast<Tier>(tier)) + " are still in use");
                   done_ = true;
                 },
             },
             action);
}

void SimulatedMachine::finish() const {
  if (!done_) throw Error(ExitCode::bug, "schedule broken: it ended without Done");
}

ScheduleCounts simulate(const ScheduleKind& kind, const ScheduleRequest& request) {
  SimulatedMachine machine(request.steps, request.capacities);
  ActionStream stream = kind.start(request);
  while (const Action* action = stream.next()) machine.execute(*action);
  machine.finish();
  return machine.counts();
}

}  // namespace hindsight
