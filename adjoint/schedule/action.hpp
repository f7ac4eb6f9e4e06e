// What a checkpoint schedule says: a story of actions, each with one effect. A schedule knows nothing of fields, files
// or solvers. Steps are numbered 0 to n-1; step k leads from state k to state k+1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace hindsight {

enum class Tier : std::uint8_t { device, host, disk };
inline constexpr int tier_count = 3;
constexpr std::size_t index_of(Tier tier) {
  return static_cast<std::size_t>(tier);
}
enum class Content : std::uint8_t { state, record };

/// One word: it is written and copied for every action.
struct Slot {
  Tier tier : 8 = Tier::host;
  std::int64_t index : 56 = 0;
  friend bool operator==(const Slot&, const Slot&) = default;
};
static_assert(sizeof(Slot) == 8);

// clang-format off
struct Advance { std::int64_t from, to; };                     ///< live state moves forward, recording nothing
struct Record { std::int64_t step; };                          ///< one step forward, keeping live what reversing needs
struct Reverse { std::int64_t step; };                         ///< consumes the live record; adjoint moves one step back
struct Retreat { std::int64_t from, to; };                     ///< live state, or the state that the live record starts from, moves one step back; inexact
struct Save { Slot slot; std::int64_t step; Content content; };  ///< live state, live record, or the state that it starts from -> free slot
struct Load { Slot slot; std::int64_t step; Content content; };  ///< slot -> live; the slot stays full
struct Move { Slot from, to; };                                ///< slot -> free slot of another tier
struct Release { Slot slot; };                                 ///< the slot is free
struct Turn { std::int64_t steps; };                           ///< the end is reached: count known, adjoint seeded
struct Done {};
// clang-format on

using Action = std::variant<Advance, Record, Reverse, Retreat, Save, Load, Move, Release, Turn, Done>;

/// One line for a person, e.g. "Save host:3 state 17".
std::string to_text(const Action& action);
std::string to_text(Tier tier);
std::string to_text(Slot slot);

// Words about schedules that break a rule, of the simulated machine and of the driver.
/// "state 17"
std::string to_text(Content content, std::int64_t step);
/// "the live state is 17" or "there is no live state"
std::string live_text(Content content, std::optional<std::int64_t> step);
/// @param number of the action, from 1. @throws Error(ExitCode::bug) naming the action and the rule that it breaks.
[[noreturn]] void refuse_action(std::int64_t number, const Action& action, const std::string& why);
/// The stream has ended after so many actions. @throws Error(ExitCode::bug)
[[noreturn]] void refuse_end(std::int64_t actions, std::int64_t reversed, std::int64_t steps);

}  // namespace hindsight
