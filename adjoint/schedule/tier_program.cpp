#include "adjoint/schedule/tier_program.hpp"

#include <algorithm>
#include <limits>

#include "runtime/stop_request.hpp"

namespace hindsight {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// Steps begin to end-1 with tiers up to k, `free` slots of tier k free (the live state may be one of those in it).
struct Part {
  std::size_t k;
  std::int64_t free, begin, end;
  bool is_kept;  ///< state `begin` is in tier k; `free` counts its slot too
  bool is_live;
};
constexpr auto part_bytes = static_cast<std::int64_t>(sizeof(Part));

}  // namespace

TierProgram::TierProgram(std::int64_t steps, std::vector<ProgramTier> tiers, const ScheduleCosts& costs)
    : steps_(steps), tiers_(std::move(tiers)), costs_(costs), live_(tiers_.size()), kept_(tiers_.size()) {
  for (ProgramTier& tier : tiers_) tier.slots = std::min(tier.slots, std::max<std::int64_t>(1, steps - 1));
  for (std::size_t k = 0; k < tiers_.size(); ++k) fill(k);
}

double TierProgram::operations(std::int64_t steps, const std::vector<ProgramTier>& tiers) {
  double slots = 0;
  for (const ProgramTier& tier : tiers) slots += static_cast<double>(std::min(tier.slots, steps));
  return 0.5 * static_cast<double>(steps) * static_cast<double>(steps) * slots;
}

ScheduleMemory TierProgram::memory(std::int64_t steps, const std::vector<ProgramTier>& tiers) {
  std::int64_t rows = 1, slots = 1;
  for (const ProgramTier& tier : tiers) {
    rows += 2 * (std::min(tier.slots, steps) + 1);
    slots += std::min(tier.slots, steps) + 1;
  }
  const auto row = static_cast<std::int64_t>(sizeof(Row)) + steps * static_cast<std::int64_t>(sizeof(double));
  return {slots * part_bytes, rows * row};
}

/// With tier k not used at all.
double TierProgram::lower(std::size_t k, std::int64_t l) const {
  if (l == 0) return costs_.reverse;
  return k == 0 ? infinite : live_[k - 1].back()[at(l)];
}

const double& TierProgram::live(std::size_t k, std::int64_t l, std::int64_t free) const {
  return live_[k][at(free)][at(l)];
}

/// P of schedules.md without its first term: `cut` steps forward, the rest with one slot less, back, the cut steps.
double TierProgram::cut_cost(std::size_t k, std::int64_t l, std::int64_t own, std::int64_t cut) const {
  return static_cast<double>(cut) * costs_.forward + live(k, l - cut, own - 1) + tiers_[k].read +
         kept_[k][at(own)][at(cut - 1)];
}

void TierProgram::fill(std::size_t k) {
  live_[k].assign(at(tiers_[k].slots) + 1, Row(at(steps_), infinite));
  kept_[k] = live_[k];
  for (std::int64_t m = 0; m <= tiers_[k].slots; ++m)
    for (std::int64_t l = 0; l < steps_; ++l) {
      stop_if_asked();
      double kept = lower(k, l);
      for (std::int64_t cut = 1; m > 0 && cut <= l; ++cut) kept = std::min(kept, cut_cost(k, l, m, cut));
      kept_[k][at(m)][at(l)] = kept;
      live_[k][at(m)][at(l)] = m == 0 ? lower(k, l) : std::min(lower(k, l), tiers_[k].write + kept);
    }
}

double TierProgram::cost() const {
  return live_.back().back()[at(steps_ - 1)];
}

TierProgram::Choice TierProgram::when_live(std::size_t k, std::int64_t l, std::int64_t free) const {
  return {live(k, l, free) < lower(k, l) ? Choice::Kind::save : Choice::Kind::lower};
}

TierProgram::Choice TierProgram::when_kept(std::size_t k, std::int64_t l, std::int64_t own) const {
  const double best = kept_[k][at(own)][at(l)];
  if (lower(k, l) <= best) return {Choice::Kind::lower};
  std::int64_t cut = 1;
  while (cut_cost(k, l, own, cut) > best) ++cut;
  return {Choice::Kind::cut, cut};
}

ActionStream program_actions(const TierProgram& program) {
  const std::vector<ProgramTier> tiers = program.tiers();
  const std::int64_t n = program.steps();
  const auto slot = [&](std::size_t k, std::int64_t free) { return Slot{tiers[k].tier, tiers[k].slots - free}; };
  CountedVector<Part> open;
  std::int64_t deepest = 1;
  for (const ProgramTier& tier : tiers) deepest += tier.slots + 1;
  open.reserve(at(deepest));
  open.push_back({tiers.size() - 1, tiers.back().slots, 0, n, false, true});
  while (!open.empty()) {
    Part& part = open.back();
    const std::int64_t l = part.end - part.begin - 1;
    if (part.is_kept && !part.is_live) co_yield Load{slot(part.k, part.free), part.begin, Content::state};
    part.is_live = true;
    const TierProgram::Choice choice =
        part.is_kept ? program.when_kept(part.k, l, part.free) : program.when_live(part.k, l, part.free);
    if (choice.kind == TierProgram::Choice::Kind::save) {
      co_yield Save{slot(part.k, part.free), part.begin, Content::state};
      part.is_kept = true;
    } else if (choice.kind == TierProgram::Choice::Kind::cut) {
      const std::int64_t middle = part.begin + choice.cut, end = part.end;
      co_yield Advance{part.begin, middle};
      part.end = middle;
      part.is_live = false;
      open.push_back({part.k, part.free - 1, middle, end, false, true});
    } else {
      if (part.is_kept) co_yield Release{slot(part.k, part.free)};
      if (l == 0) {
        co_yield Record{part.begin};
        if (part.end == n) co_yield Turn{n};
        co_yield Reverse{part.begin};
        open.pop_back();
      } else {
        part = {part.k - 1, tiers[part.k - 1].slots, part.begin, part.end, false, true};
      }
    }
  }
  co_yield Done{};
}

ScheduleCounts program_counts(const TierProgram& program) {
  ScheduleCounts counts;
  ActionStream stream = program_actions(program);
  while (const Action* action = stream.next()) {
    if (const auto* a = std::get_if<Advance>(action)) counts.plain += a->to - a->from;
    if (const auto* s = std::get_if<Save>(action)) ++counts.writes[index_of(s->slot.tier)];
    if (const auto* s = std::get_if<Load>(action)) ++counts.reads[index_of(s->slot.tier)];
  }
  counts.recorded = counts.reversed = program.steps();
  for (const ProgramTier& tier : program.tiers()) counts.peak[index_of(tier.tier)] = tier.slots;
  return counts;
}

}  // namespace hindsight
