#include "adjoint/schedule/action.hpp"

namespace hindsight {
namespace {

std::string to_text(Content content) { return content == Content::state ? "state" : "record"; }

struct Describe {
  std::string operator()(const Advance& a) const {
    return "Advance " + std::to_string(a.from) + " to " + std::to_string(a.to);
  }
  std::string operator()(const Record& a) const { return "Record " + std::to_string(a.step); }
  std::string operator()(const Reverse& a) const { return "Reverse " + std::to_string(a.step); }
  std::string operator()(const Save& a) const { return "Save " + held(a.slot, a.step, a.content); }
  std::string operator()(const Load& a) const { return "Load " + held(a.slot, a.step, a.content); }
  std::string operator()(const Move& a) const {
    return "Move " + hindsight::to_text(a.from) + " to " + hindsight::to_text(a.to);
  }
  std::string operator()(const Release& a) const { return "Release " + hindsight::to_text(a.slot); }
  std::string operator()(const Turn& a) const { return "Turn after " + std::to_string(a.steps); }
  std::string operator()(const Done&) const { return "Done"; }

  static std::string held(Slot slot, std::int64_t step, Content content) {
    return hindsight::to_text(slot) + " " + to_text(content) + " " + std::to_string(step);
  }
};

}  // namespace

std::string to_text(Tier tier) {
  switch (tier) {
    case Tier::device: return "device";
    case Tier::host: return "host";
    default: return "disk";
  }
}

std::string to_text(Slot slot) { return to_text(slot.tier) + ":" + std::to_string(slot.index); }
std::string to_text(const Action& action) { return std::visit(Describe{}, action); }

}  // namespace hindsight
