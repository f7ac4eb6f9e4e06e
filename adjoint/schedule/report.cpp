#include "adjoint/schedule/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {
namespace {

std::string tier_name(std::size_t tier) {
  return to_text(static_cast<Tier>(tier));
}

nlohmann::ordered_json per_tier(const PerTier& values) {
  nlohmann::ordered_json json;
  for (std::size_t tier = 0; tier < tier_count; ++tier)
    json[tier_name(tier)] =
        values[tier] == unpredicted ? nlohmann::ordered_json() : nlohmann::ordered_json(values[tier]);
  return json;
}

std::string count_text(std::int64_t count) {
  return count == unpredicted ? "not counted" : std::to_string(count);
}

/// Whether all is counted that has a price.
bool has_cost(const ScheduleCounts& counts, const ScheduleCosts& costs) {
  for (std::size_t tier = 0; tier < tier_count; ++tier)
    if ((counts.writes[tier] == unpredicted && costs.write[tier] > 0) ||
        (counts.reads[tier] == unpredicted && costs.read[tier] > 0))
      return false;
  return true;
}

struct Setting {
  std::string name, value;
};

/// Splits "a=1,b=2"; nothing from "". `option` names the command-line option in messages.
std::vector<Setting> split_settings(const std::string& option, const std::string& text,
                                    const std::vector<std::string>& known) {
  std::vector<Setting> settings;
  std::set<std::string> seen;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) {
      throw InputError(option + " '" + text + "': '" + item + "' is not of the form name=number");
    }
    const std::string name = item.substr(0, equals);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw InputError(option + " '" + text + "': unknown name '" + name + "'" + did_you_mean(name, known) +
                       " (allowed: " + join(known) + ")");
    }
    if (!seen.insert(name).second) throw InputError(option + " '" + text + "': '" + name + "' is given twice");
    settings.push_back({name, item.substr(equals + 1)});
  }
  return settings;
}

template <class Number>
bool parse_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end;
}

std::int64_t parse_slot_count(const std::string& text, const Setting& setting) {
  if (setting.value == "unlimited") return -1;
  std::int64_t slots = 0;
  if (!parse_number(setting.value, slots) || slots < 0) {
    throw InputError("--slots '" + text + "': " + setting.name + " is '" + setting.value +
                     "', allowed are whole numbers from 0 and 'unlimited'");
  }
  return slots;
}

}  // namespace

double total_cost(const ScheduleCounts& counts, const ScheduleCosts& costs) {
  const std::int64_t forward = counts.plain + counts.retreated + counts.recorded - counts.reversed;
  double cost = costs.forward * static_cast<double>(forward) + costs.reverse * static_cast<double>(counts.reversed);
  for (std::size_t tier = 0; tier < tier_count; ++tier) {
    cost += costs.write[tier] * static_cast<double>(counts.writes[tier]);
    cost += costs.read[tier] * static_cast<double>(counts.reads[tier]);
  }
  return cost;
}

std::string counts_table(const std::string& name, const ScheduleRequest& request, const ScheduleCounts& counts,
                         const ScheduleCosts& costs) {
  std::string text = fmt::format("schedule {}, {} steps\n", name, request.steps);
  auto out = std::back_inserter(text);
  const auto line = [&out](const char* what, std::int64_t value) {
    fmt::format_to(out, "  {:<22}{:>20}\n", what, value);
  };
  line("plain steps", counts.plain);
  line("recorded steps", counts.recorded);
  line("reversed steps", counts.reversed);
  if (counts.retreated > 0) line("steps walked back", counts.retreated);
  line("total forward steps", counts.total());
  fmt::format_to(out, "  {:<22}{:>20}\n", "cost",
                 has_cost(counts, costs) ? fmt::format("{:.15g}", total_cost(counts, costs)) : "not counted");
  fmt::format_to(out, "  {:<8}{:>14}{:>14}{:>14}{:>14}\n", "tier", "slots", "peak", "writes", "reads");
  for (std::size_t tier = 0; tier < tier_count; ++tier) {
    const std::int64_t slots = request.capacities.slots[tier];
    if (slots == 0) continue;
    fmt::format_to(out, "  {:<8}{:>14}{:>14}{:>14}{:>14}\n", tier_name(tier),
                   slots < 0 ? "unlimited" : std::to_string(slots), counts.peak[tier], count_text(counts.writes[tier]),
                   count_text(counts.reads[tier]));
  }
  return text;
}

std::string counts_json(const std::string& name, const ScheduleRequest& request, const ScheduleCounts& counts,
                        const ScheduleCosts& costs) {
  nlohmann::ordered_json slots;
  for (std::size_t tier = 0; tier < tier_count; ++tier) {
    const std::int64_t given = request.capacities.slots[tier];
    slots[tier_name(tier)] = given < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(given);
  }
  const nlohmann::ordered_json json{
      {"schedule", name},
      {"steps", request.steps},
      {"slots", slots},
      {"plain", counts.plain},
      {"recorded", counts.recorded},
      {"reversed", counts.reversed},
      {"retreated", counts.retreated},
      {"total", counts.total()},
      {"writes", per_tier(counts.writes)},
      {"reads", per_tier(counts.reads)},
      {"peak", per_tier(counts.peak)},
      {"cost", has_cost(counts, costs) ? nlohmann::ordered_json(total_cost(counts, costs)) : nlohmann::ordered_json()}};
  return json.dump(2) + "\n";
}

Capacities parse_slots(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t tier = 0; tier < tier_count; ++tier) names.push_back(tier_name(tier));
  Capacities capacities;
  for (const Setting& setting : split_settings("--slots", text, names)) {
    const auto tier = std::find(names.begin(), names.end(), setting.name) - names.begin();
    capacities.slots[static_cast<std::size_t>(tier)] = parse_slot_count(text, setting);
  }
  return capacities;
}

ScheduleCosts parse_costs(const std::string& text, const ScheduleCosts& defaults) {
  ScheduleCosts costs = defaults;
  std::vector<std::pair<std::string, double*>> targets{{"forward", &costs.forward}, {"reverse", &costs.reverse}};
  for (std::size_t tier = 0; tier < tier_count; ++tier) {
    targets.emplace_back(tier_name(tier) + ".write", &costs.write[tier]);
    targets.emplace_back(tier_name(tier) + ".read", &costs.read[tier]);
  }
  std::vector<std::string> names;
  for (const auto& target : targets) names.push_back(target.first);
  for (const Setting& setting : split_settings("--cost", text, names)) {
    const auto which = std::find(names.begin(), names.end(), setting.name) - names.begin();
    double value = 0;
    if (!parse_number(setting.value, value) || !std::isfinite(value) || value < 0) {
      throw InputError("--cost '" + text + "': " + setting.name + " is '" + setting.value +
                       "', allowed are finite numbers from 0");
    }
    *targets[static_cast<std::size_t>(which)].second = value;
  }
  return costs;
}

}  // namespace hindsight
