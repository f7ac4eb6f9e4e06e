#include "adjoint/schedule/action.hpp"

#include <string>

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

}  // namespace hindsight
