// observe: what misfits' sensors would see of a case, as the tables that misfits read.
#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <numbers>
#include <random>

#include "io/case/observations.hpp"
#include "src/experiments.hpp"
#include "src/report.hpp"
#include "src/same_start.hpp"
#include "src/verbs.hpp"

namespace hindsight {
namespace {

/// Normal numbers of a seed and a shot's name, the same on all machines (Box and Muller 1958), and whichever shots are
/// observed beside it.
class Noise {
 public:
  Noise(std::uint64_t seed, const std::string& shot)
      : engine_(seed * 0x9e3779b97f4a7c15U + XXH64(shot.data(), shot.size(), 0)) {}
  double next() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  /// In [0, 1).
  double uniform() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }
  std::mt19937_64 engine_;
};

/// The problems of a case: its shots', or its own.
std::vector<const ProblemText*> problems_of(const Case& c) {
  std::vector<const ProblemText*> all;
  for (const Shot& shot : c.shots) all.push_back(&shot.problem);
  if (all.empty()) all.push_back(&c);
  return all;
}

/// Tables that two misfits would write, that are there already, or that there are none.
void require_tables(const Case& c, bool overwrite) {
  std::map<std::string, int> uses;
  for (const ProblemText* problem : problems_of(c))
    for (const TermText& term : problem->objective) {
      if (!term.is_misfit()) continue;
      if (++uses[term.data] > 1)
        throw InputError(term.place,
                         "two misfits have the same table, '" + term.data + "': observe would write it twice");
      if (!std::filesystem::exists(term.data)) continue;
      if (!overwrite) throw InputError(term.place, "'" + term.data + "' is there already; --overwrite gives it up");
      const bool is_read = std::ranges::any_of(problem->objective, [&](const TermText& other) {
        return other.is_misfit() && std::filesystem::exists(other.places_file) &&
               std::filesystem::equivalent(other.places_file, term.data);
      });
      if (is_read)
        throw InputError(term.place, "'" + term.data + "' says where places are: observe would overwrite it");
      if (std::filesystem::symlink_status(term.data).type() != std::filesystem::file_type::regular)
        throw InputError(term.place, "'" + term.data + "' is not a file that observe could write anew");
    }
  if (uses.empty()) throw InputError({c.file, 0, 0}, "there is nothing to observe: the objective has no misfit");
}

/// What a misfit would see, with its noise.
struct Seen {
  const TermText* misfit = nullptr;
  std::string shot;  ///< empty: the case has none
  Survey::Places sources = {};
  std::vector<double> values = {};
};

std::vector<Seen> seen_in(const Options& options, const ProblemText& problem, const Objective& objective,
                          const std::string& shot) {
  std::vector<Seen> all;
  Noise noise(options.seed, shot);
  auto term = objective.terms().end() - std::ranges::count_if(problem.objective, &TermText::is_misfit);
  for (const TermText& misfit : problem.objective) {
    if (!misfit.is_misfit()) continue;
    const std::span<const double> seen = (*term++)->observed();
    all.push_back({&misfit, shot, places_of(problem.sources), {seen.begin(), seen.end()}});
    for (double& value : all.back().values)
      if (options.noise > 0.0) value += options.noise * noise.next();
  }
  return all;
}

std::string text_of(const std::vector<Seen>& all, const std::string& shot) {
  std::size_t count = 0;
  for (const Seen& seen : all) count += seen.values.size();
  return fmt::format("{}{} values\n", shot.empty() ? "" : "shot " + shot + ": ", count);
}

/// @returns what was written: data, values and, if there is one, the shot.
Json write_tables(const std::vector<Seen>& all) {
  Json written = Json::array();
  for (const Seen& seen : all) write_observations(*seen.misfit, seen.sources, seen.values);
  for (const Seen& seen : all) {
    place_observations(*seen.misfit);
    Json table = {{"data", seen.misfit->data}, {"values", seen.values.size()}};
    if (!seen.shot.empty()) table["shot"] = seen.shot;
    written.push_back(std::move(table));
  }
  return written;
}

/// Runs an experiment; what fails in a shot names it.
void run(Experiments& experiments, std::size_t experiment) {
  try {
    experiments.use(experiment);
    experiments.simulation().run({});
  } catch (const Error& error) {
    const bool is_of_shot = error.code() == ExitCode::numerics || error.code() == ExitCode::bad_input;
    if (!experiments.are_shots() || !is_of_shot) throw;
    throw_error(error.code(), "shot '" + experiments.name(experiment) + "': " + error.what());
  }
}

}  // namespace

ExitCode observe_verb(const Options& options, const Communicator& comm) {
  if (!options.out.empty())
    throw InputError("--out: observe has no folder of its own, it writes the tables that misfits read");
  if (options.groups > 1)
    throw InputError("--groups: observe takes one shot after the other, each with all ranks together");
  if (!std::isfinite(options.noise) || options.noise < 0.0)
    throw InputError("--noise is a standard deviation: a number, not below 0");
  const Case c = read_same_case(options, comm, true);
  require_tables(c, options.overwrite);
  Experiments experiments(c, comm, {});
  const std::vector<const ProblemText*> problems = problems_of(c);
  std::vector<Seen> all;  // of all shots before any is written: tables of a survey belong together
  for (std::size_t i = 0; i < problems.size(); ++i) {
    run(experiments, i);
    const std::string shot = c.shots.empty() ? "" : c.shots[i].name;
    std::vector<Seen> seen = seen_in(options, *problems[i], experiments.simulation().objective(), shot);
    say(options, comm, text_of(seen, shot));
    if (comm.is_root()) std::ranges::move(seen, std::back_inserter(all));
  }
  Json tables;
  comm.on_root([&] { tables = write_tables(all); });
  write_json(options, comm, {{"case", c.name}, {"verb", "observe"}, {"noise", options.noise}, {"tables", tables}});
  return ExitCode::done;
}

}  // namespace hindsight
