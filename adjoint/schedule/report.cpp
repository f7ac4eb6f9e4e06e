#include "adjoint/schedule/report.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "src/error.hpp"
#include "src/nearest_name.hpp"

namespace hindsight {
namespace {

const std::vector<std::string> tier_names = {"device", "host", "disk"};

/// Calls set(name, number text) for each "name=number" of a comma-separated list.
template <class Set>
void for_each_pair(const std::string& text, const std::string& option, Set set) {
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) throw InputError(option + ": '" + part + "' is not of the form name=number");
    set(part.substr(0, equals), part.substr(equals + 1));
  }
}

template <class Number>
Number parse_number(const std::string& text, const std::string& option) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw InputError(option + ": '" + text + "' is not a number of at least 0");
  return value;
}

}  // namespace

double total_cost(const ScheduleCounts& counts, const ScheduleCosts& costs) {
  double cost = costs.forward * static_cast<double>(counts.plain) + costs.reverse * static_cast<double>(counts.reversed);
  for (std::size_t t = 0; t < tier_count; ++t)
    cost += costs.write[t] * static_cast<double>(counts.writes[t]) + costs.read[t] * static_cast<double>(counts.reads[t]);
  return cost;
}

Capacities parse_slots(const std::string& text) {
  Capacities capacities;
  for_each_pair(text, "--slots", [&](const std::string& name, const std::string& number) {
    for (std::size_t t = 0; t < tier_count; ++t)
      if (name == tier_names[t]) {
        capacities.slots[t] = parse_number<std::int64_t>(number, "--slots");
        return;
      }
    throw InputError("--slots: unknown tier '" + name + "'" + did_you_mean(name, tier_names) + "; known: " +
                     join(tier_names));
  });
  return capacities;
}

ScheduleCosts parse_costs(const std::string& text) {
  ScheduleCosts costs;
  std::map<std::string, double*> known = {{"forward", &costs.forward}, {"reverse", &costs.reverse}};
  for (std::size_t t = 0; t < tier_count; ++t) {
    known[tier_names[t] + ".write"] = &costs.write[t];
    known[tier_names[t] + ".read"] = &costs.read[t];
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : known) names.push_back(name);
  for_each_pair(text, "--cost", [&](const std::string& name, const std::string& number) {
    const auto found = known.find(name);
    if (found == known.end())
      throw InputError("--cost: unknown cost '" + name + "'" + did_you_mean(name, names) + "; known: " + join(names));
    *found->second = parse_number<double>(number, "--cost");
  });
  return costs;
}

std::string counts_table(const std::string& name, const ScheduleRequest& request, const ScheduleCounts& counts,
                         const ScheduleCosts& costs) {
  std::string text = fmt::format("{}, {} steps\n", name, request.steps);
  const auto row = [&](const std::string& label, const std::string& value) {
    text += fmt::format("  {:<26}{:>16}\n", label, value);
  };
  row("plain steps", std::to_string(counts.plain));
  row("recorded steps", std::to_string(counts.recorded));
  row("reversed steps", std::to_string(counts.reversed));
  row("forward steps per step",
      fmt::format("{:.3f}", static_cast<double>(counts.plain + counts.recorded) / static_cast<double>(request.steps)));
  for (std::size_t t = 0; t < tier_count; ++t) {
    if (counts.peak[t] == 0) continue;
    row(tier_names[t] + " writes", std::to_string(counts.writes[t]));
    row(tier_names[t] + " reads", std::to_string(counts.reads[t]));
    row(tier_names[t] + " peak slots", std::to_string(counts.peak[t]));
  }
  row("cost", fmt::format("{:.10g}", total_cost(counts, costs)));
  return text;
}

std::string counts_json(const std::string& name, const ScheduleRequest& request, const ScheduleCounts& counts,
                        const ScheduleCosts& costs) {
  nlohmann::ordered_json json;
  json["schedule"] = name;
  json["steps"] = request.steps;
  for (std::size_t t = 0; t < tier_count; ++t) json["slots"][tier_names[t]] = request.capacities.slots[t];
  json["plain"] = counts.plain;
  json["recorded"] = counts.recorded;
  json["reversed"] = counts.reversed;
  json["total"] = counts.plain + counts.recorded;
  for (std::size_t t = 0; t < tier_count; ++t) {
    json["writes"][tier_names[t]] = counts.writes[t];
    json["reads"][tier_names[t]] = counts.reads[t];
    json["peak"][tier_names[t]] = counts.peak[t];
  }
  json["cost"] = total_cost(counts, costs);
  return json.dump(2) + "\n";
}

}  // namespace hindsight
