#include "adjoint/schedule/action.hpp"

#include <string>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

std::string held(const char* verb, Slot slot, std::int64_t step, Content content) {
  return verb + to_text(slot) + (content == Content::state ? " state " : " record ") + std::to_string(step);
}

struct Describe {
  std::string operator()(const Advance& a) const {
    return "Advance " + std::to_string(a.from) + " -> " + std::to_string(a.to);
  }
  std::string operator()(const Record& a) const { return "Record " + std::to_string(a.step); }
  std::string operator()(const Reverse& a) const { return "Reverse " + std::to_string(a.step); }
  std::string operator()(const Retreat& a) const {
    return "Retreat " + std::to_string(a.from) + " -> " + std::to_string(a.to);
  }
  std::string operator()(const Save& a) const { return held("Save ", a.slot, a.step, a.content); }
  std::string operator()(const Load& a) const { return held("Load ", a.slot, a.step, a.content); }
  std::string operator()(const Move& a) const { return "Move " + to_text(a.from) + " -> " + to_text(a.to); }
  std::string operator()(const Release& a) const { return "Release " + to_text(a.slot); }
  std::string operator()(const Turn& a) const { return "Turn at " + std::to_string(a.steps); }
  std::string operator()(const Done&) const { return "Done"; }
};

}  // namespace

std::string to_text(const Action& action) {
  return std::visit(Describe{}, action);
}

std::string to_text(Tier tier) {
  switch (tier) {
    case Tier::device:
      return "device";
    case Tier::host:
      return "host";
    case Tier::disk:
      return "disk";
  }
  return "tier " + std::to_string(static_cast<int>(tier));
}

std::string to_text(Slot slot) {
  return to_text(slot.tier) + ":" + std::to_string(slot.index);
}

std::string to_text(Content content, std::int64_t step) {
  return (content == Content::state ? "state " : "record ") + std::to_string(step);
}

std::string live_text(Content content, std::optional<std::int64_t> step) {
  const std::string what = content == Content::state ? "live state" : "live record";
  return step ? "the " + what + " is " + std::to_string(*step) : "there is no " + what;
}

void refuse_action(std::int64_t number, const Action& action, const std::string& why) {
  throw Error(ExitCode::bug,
              "checkpoint schedule broken at action " + std::to_string(number) + ", " + to_text(action) + ": " + why);
}

void refuse_end(std::int64_t actions, std::int64_t reversed, std::int64_t steps) {
  throw Error(ExitCode::bug, "checkpoint schedule broken: it ended after action " + std::to_string(actions) +
                                 " without Done, " + std::to_string(reversed) + " of " + std::to_string(steps) +
                                 " steps reversed");
}

}  // namespace hindsight
