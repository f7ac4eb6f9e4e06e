#include "src/cluster/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "io/case/csv.hpp"
#include "io/files/file_system.hpp"
#include "io/journal/run_lock.hpp"
#include "io/slurm/slurm.hpp"
#include "src/cluster/chain.hpp"
#include "src/run_place.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

constexpr const char* name_column = "name";

void require_name(const std::string& name, const SourcePlace& place) {
  static const std::regex allowed("[A-Za-z0-9_][A-Za-z0-9_.+-]*");
  if (!std::regex_match(name, allowed))
    throw InputError(place, "'" + name + "' is no name for a run's folder: letters, digits, and _ . + - within");
}

/// How far a row is.
struct RowState {
  std::string state;  ///< complete, running, stopped, failed, waiting
  std::string text;   ///< what more there is to say
  Json result;        ///< result.json, or check.json, of a complete one; else null
  std::optional<double> percent;
};

/// A sweep's jobs that are in the queue, asked once for all rows.
using Tasks = std::vector<QueuedJob>;

bool has_ended(const JobIdentity& job, const Tasks& tasks) {
  const auto found =
      std::find_if(tasks.begin(), tasks.end(), [&](const QueuedJob& task) { return task.id == job.job; });
  return found != tasks.end() ? !found->seen.may_run() : has_given_up(job);
}

/// Of a run that is not complete, by its lock and what its jobs say.
RowState unfinished(const std::string& run, const Tasks& tasks) {
  RowState row{"waiting", "", nullptr, std::nullopt};
  const Json status = status_of(run);
  if (status.contains("part")) row.percent = 100.0 * status["part"].get<double>();
  const std::optional<ProcessIdentity> owner = FolderLock::owner(run);
  const Liveness state =
      owner ? liveness(*owner, [&](const JobIdentity& job) { return has_ended(job, tasks); }) : Liveness::dead;
  const JobLog log = JobLog::of(run);
  const ChainJob last = !log.is_empty() && !log.newest().jobs.empty() ? log.newest().jobs.back() : ChainJob{};
  if (status.contains("failure")) {
    row.state = "failed";
    row.text = status["failure"];
  } else if (state == Liveness::alive || state == Liveness::unknown) {
    row.state = "running";
    row.text = "on " + owner->host;
  } else if (!last.ended.empty() && last.code != static_cast<int>(ExitCode::stopped)) {
    row.state = "failed";
    row.text = fmt::format("exit code {}, see {}/job-{}.out", last.code, run, last.id);
  } else if (row.percent || status.value("done", 0) > 0 || !last.begun.empty()) {
    row.state = "stopped";
  }
  return row;
}

RowState state_of(const std::string& run, const Tasks& tasks) {
  std::error_code unknown;
  if (!fs::exists(RunManifest::file(run), unknown)) return {"waiting", "", nullptr, std::nullopt};
  const RunPlace place = RunPlace::of(run);
  if (!place.is_complete) return unfinished(run, tasks);
  return {"complete", "", Json::parse(std::ifstream(place.work + "/" + place.manifest().result()), nullptr, false),
          std::nullopt};
}

/// A number as it is to be read again.
std::string number_text(const Json& value) {
  return value.is_number() ? fmt::format("{:.17g}", value.get<double>()) : "";
}

/// Scalars of a result that are worth a column: the objective, derivatives or estimates, the time.
std::vector<std::pair<std::string, Json>> results_of(const Json& result) {
  std::vector<std::pair<std::string, Json>> all;
  if (!result.is_object()) return all;
  if (result.contains("objective") && result["objective"].is_number())
    all.emplace_back("objective", result["objective"]);
  for (const char* group : {"gradient", "estimate"})
    if (result.contains(group) && result[group].is_object())
      for (const auto& [name, value] : result[group].items())
        if (value.is_number()) all.emplace_back(std::string(group) + " " + name, value);
  return all;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

/// Cells of one line, by column.
using Line = std::map<std::string, std::string>;

std::string csv_of(const std::vector<std::string>& columns, const std::vector<Line>& lines) {
  std::string text;
  const auto add = [&](const std::string& cell, bool is_last) { text += csv_cell(cell) + (is_last ? "\n" : ","); };
  for (const std::string& c : columns) add(c, &c == &columns.back());
  for (const Line& line : lines)
    for (const std::string& c : columns) add(line.count(c) > 0 ? line.at(c) : "", &c == &columns.back());
  return text;
}

/// As wide as its widest cell.
std::string table_of(const std::vector<std::string>& columns, const std::vector<Line>& lines) {
  constexpr std::size_t widest = 24;
  std::vector<std::size_t> widths;
  const auto shown = [&](const Line& line, const std::string& c) {
    const std::string cell = line.count(c) > 0 ? line.at(c) : "";
    return cell.size() > widest ? fmt::format("{:.{}}...", cell, widest - 3) : cell;
  };
  for (const std::string& c : columns) {
    widths.push_back(c.size());
    for (const Line& line : lines) widths.back() = std::max(widths.back(), shown(line, c).size());
  }
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i) text += fmt::format("{:<{}}  ", columns[i], widths[i]);
  text += "\n";
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < columns.size(); ++i)
      text += fmt::format("{:<{}}  ", shown(line, columns[i]), widths[i]);
    text += "\n";
  }
  return text;
}

}  // namespace

std::vector<SweepRow> read_sweep(const std::string& path) {
  const Table table(path);
  if (table.rows() == 0) throw InputError(SourcePlace{path, 0, 0}, "no rows: each line after the first is a run");
  std::vector<SweepRow> rows;
  std::set<std::string> taken;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    SweepRow row{std::to_string(r + 1), {}, table.place(r)};
    for (std::size_t c = 0; c < table.names().size(); ++c) {
      if (table.names()[c] == name_column) {
        row.name = table.text(r, c);
      } else {
        row.set.push_back(table.names()[c] + "=" + table.text(r, c));
      }
    }
    require_name(row.name, row.place);
    if (!taken.insert(row.name).second) throw InputError(row.place, "the name '" + row.name + "' stands twice");
    rows.push_back(row);
  }
  return rows;
}

bool Sweep::is_in(const std::string& folder) {
  std::error_code unknown;
  return fs::exists(record(folder), unknown);
}

Sweep Sweep::read(const std::string& folder) {
  try {
    const Json json = Json::parse(std::ifstream(record(folder)));
    Sweep sweep;
    sweep.folder = fs::absolute(folder).string();
    sweep.file = json.at("case");
    sweep.verb = json.at("verb");
    sweep.ranks = json.at("ranks");
    sweep.set = json.at("set").get<std::vector<std::string>>();
    sweep.jobs = json.at("jobs").get<std::vector<std::string>>();
    for (const Json& row : json.at("rows"))
      sweep.rows.push_back({row.at("name"), row.at("set").get<std::vector<std::string>>(), {}});
    return sweep;
  } catch (const Json::exception& error) {
    throw ResourceError("'" + record(folder) + "' is damaged: " + error.what());
  }
}

void Sweep::write() const {
  Json json = {{"case", file}, {"verb", verb}, {"ranks", ranks}, {"set", set}, {"jobs", jobs}, {"rows", Json::array()}};
  for (const SweepRow& row : rows) json["rows"].push_back({{"name", row.name}, {"set", row.set}});
  PosixFileSystem files;
  write_text_file(files, record(folder), json.dump(1) + "\n");
}

std::string sweep_text(const Sweep& sweep, const std::string& csv, Json& json) {
  std::vector<std::string> columns = {"name", "state"};
  std::vector<Line> lines;
  std::map<std::string, int> counts;
  std::string remarks;
  json["rows"] = Json::array();
  const auto enter = [&](Line& line, const std::string& column, const std::string& cell) {
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
    line[column] = cell;
  };
  std::optional<Tasks> tasks;
  if (!sweep.jobs.empty()) tasks = jobs_of(sweep.script());
  for (const SweepRow& row : sweep.rows) {
    const RowState now = state_of(sweep.run(row), tasks.value_or(Tasks()));
    ++counts[now.state];
    Line line{{"name", row.name}, {"state", now.state}};
    for (const std::string& setting : row.set)
      enter(line, setting.substr(0, setting.find('=')), setting.substr(setting.find('=') + 1));
    if (now.percent && now.state != "complete") line["state"] += fmt::format(" {:.0f} %", *now.percent);
    for (const auto& [name, value] : results_of(now.result)) enter(line, name, number_text(value));
    if (now.state == "failed") remarks += fmt::format("{}: {}\n", row.name, now.text);
    Json one = {{"name", row.name}, {"state", now.state}, {"text", now.text}, {"set", row.set}};
    for (const auto& [name, value] : results_of(now.result)) one["results"][name] = value;
    json["rows"].push_back(one);
    lines.push_back(line);
  }
  const std::string text = csv_of(columns, lines);
  if (!csv.empty() && csv != "-") {
    std::ofstream file(csv);
    file << text;
    file.close();
    if (!file) throw ResourceError("cannot write '" + csv + "'");
  }
  std::string head =
      fmt::format("{}: {} rows of hindsight {} of {}:", sweep.folder, sweep.rows.size(), sweep.verb, sweep.file);
  for (const auto& [state, count] : counts) head += fmt::format(" {} {}", count, state);
  json["counts"] = counts;
  const bool is_whole = counts["complete"] == static_cast<int>(sweep.rows.size());
  if (tasks && tasks->empty() && !is_whole)
    remarks += "no job of it is in the queue; the same hindsight sweep sends what is not complete\n";
  if (csv == "-") return text;
  return head + "\n" + table_of(columns, lines) + remarks;
}

}  // namespace hindsight
