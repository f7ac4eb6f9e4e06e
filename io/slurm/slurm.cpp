#include "io/slurm/slurm.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"
#include "runtime/process.hpp"
#include "runtime/stop_request.hpp"
#include "runtime/stopwatch.hpp"
#include "runtime/whole_number.hpp"

namespace hindsight {
namespace {

// Seconds: a busy controller takes its time, and what it has taken must be known.
constexpr double longest_answer = 30.0, longest_sending = 600.0;
constexpr useconds_t pause = 2'000'000;

/// What a job or a launcher has set: sbatch takes some of it for options, and a job for its own.
std::vector<std::string> of_this_job() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string name = std::string(*variable).substr(0, std::string(*variable).find('='));
    if ((name.starts_with("SLURM") && name != "SLURM_CONF") || name.starts_with("PMI")) names.push_back(name);
  }
  return names;
}

/// @throws ResourceError when there is no such program.
ProcessOutcome run_command(const std::string& name, std::vector<std::string> words, const Hidden& hidden = {}) {
  const std::string program = find_program(name);
  if (program.empty())
    throw ResourceError("there is no " + name + " here: SLURM's commands are needed, in a folder of PATH");
  words.insert(words.begin(), program);
  ProcessSetting setting;
  setting.as_at_start = true;
  setting.without = of_this_job();
  setting.without.insert(setting.without.end(), hidden.begin(), hidden.end());
  setting.patience = name == "sbatch" ? longest_sending : longest_answer;
  return run_process(words, setting);
}

/// The same; nothing where it fails.
std::optional<std::string> answer_of(const std::string& name, const std::vector<std::string>& words) {
  if (find_program(name).empty()) return std::nullopt;
  const ProcessOutcome outcome = run_command(name, words);
  if (outcome.status != 0) return std::nullopt;
  return outcome.output;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) all.push_back(part);
  return all;
}

/// SLURM's words in one line, without the name of the command.
std::string words_of(const std::string& output) {
  std::string text;
  for (std::string line : split(output, '\n')) {
    for (const char* head : {"sbatch: ", "scancel: ", "error: ", "allocation failure: "})
      if (line.starts_with(head)) line = line.substr(std::string(head).size());
    if (!line.empty()) text += (text.empty() ? "" : "; ") + line;
  }
  return text.empty() ? "no reason was given" : text;
}

bool is_unreachable(const std::string& words) {
  return words.find("Unable to contact") != std::string::npos || words.find("ontroller") != std::string::npos ||
         words.find("it took too long") != std::string::npos || words.find("Socket timed out") != std::string::npos;
}

/// @throws ResourceError or InputError
[[noreturn]] void refuse(const std::string& words) {
  if (is_unreachable(words)) throw ResourceError("SLURM does not answer: " + words);
  throw InputError("SLURM refuses the job: " + words);
}

/// 0 for what is none.
std::int64_t number_in(const std::string& text) {
  return whole_number(text).value_or(0);
}

/// Of "DAYS-HOURS:MINUTES:SECONDS", from whose front parts may be missing; 0 for "infinite".
double seconds_in(const std::string& limit) {
  const std::string::size_type days_end = limit.find('-');
  const bool has_days = days_end != std::string::npos;
  double seconds = 0.0;
  for (const std::string& part : split(has_days ? limit.substr(days_end + 1) : limit, ':'))
    seconds = 60.0 * seconds + static_cast<double>(number_in(part));
  return seconds + (has_days ? 86400.0 * static_cast<double>(number_in(limit.substr(0, days_end))) : 0.0);
}

/// The value of a line "NAME = VALUE" of SLURM's settings.
std::string setting(const std::string& name) {
  const std::optional<std::string> all = answer_of("scontrol", {"show", "config"});
  for (const std::string& line : split(all.value_or(""), '\n')) {
    std::istringstream words(line);
    std::string found, equals, value;
    words >> found >> equals >> value;
    if (found == name && equals == "=") return value;
  }
  return "";
}

bool is_one_of(const std::string& state, const std::vector<const char*>& states) {
  return std::find(states.begin(), states.end(), state) != states.end();
}

/// Whether a job's command is the script, with arguments or without; one that was sent by hand may be named from the
/// folder where that was done.
bool is_of(const std::string& script, const std::string& folder, const std::string& command) {
  if (command == script || command.starts_with(script + " ")) return true;
  std::error_code unknown;
  const std::filesystem::path there = folder, first_word = command.substr(0, command.find(' '));
  return std::filesystem::equivalent(there / command, script, unknown) ||
         std::filesystem::equivalent(there / first_word, script, unknown);
}

/// Whether SLURM shows a job to its user alone.
bool may_be_hidden(const JobIdentity& job) {
  static const bool are_private = setting("PrivateData").find("jobs") != std::string::npos;
  return are_private && job.user != static_cast<std::int64_t>(geteuid());
}

}  // namespace

bool JobView::may_run() const {
  return is_one_of(
      state, {"RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"});
}

bool JobView::is_in_queue() const {
  return may_run() || is_one_of(state, {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"});
}

JobView view_job(const std::string& job) {
  JobView view;
  if (find_program("squeue").empty()) return view;
  const ProcessOutcome outcome = run_command("squeue", {"-a", "-h", "-t", "all", "-j", job, "-o", "%T|%N|%e|%r"});
  if (outcome.status != 0) {
    view.has_answered = outcome.output.find("Invalid job id") != std::string::npos;
    return view;
  }
  view.has_answered = true;
  for (const std::string& line : split(outcome.output, '\n')) {  // an array has several: what is to come counts
    const std::vector<std::string> parts = split(line, '|');
    if (parts.size() < 4 || view.may_run() || (view.is_in_queue() && parts[0] != "RUNNING")) continue;
    view.state = parts[0];
    view.nodes = parts[1];
    view.end = parts[2];
    view.reason = parts[3];
  }
  return view;
}

std::optional<std::vector<QueuedJob>> jobs_of(const std::string& script) {
  const std::optional<std::string> all = answer_of("squeue", {"-a", "-h", "-o", "%A|%F|%T|%N|%e|%r|%Z|%o"});
  if (!all) return std::nullopt;
  std::vector<QueuedJob> jobs;
  for (const std::string& line : split(*all, '\n')) {
    const std::vector<std::string> parts = split(line, '|');
    if (parts.size() < 8 || !is_of(script, parts[6], parts[7])) continue;
    QueuedJob job{parts[0], parts[1], {true, parts[2], parts[3], parts[4], parts[5]}};
    if (job.seen.is_in_queue()) jobs.push_back(job);
  }
  return jobs;
}

const std::string& cluster_name() {
  static const std::optional<JobIdentity> mine = this_job();
  static const std::string name = mine ? mine->cluster : setting("ClusterName");
  return name;
}

bool has_given_up(const JobIdentity& job, double patience) {
  const std::optional<JobIdentity> mine = this_job();
  if (mine && mine->cluster == job.cluster && mine->job == job.job) return mine->restart > job.restart;
  if (cluster_name() != job.cluster) return false;
  for (const Stopwatch waited;; usleep(pause)) {
    const JobView view = view_job(job.job);
    if (view.has_answered) return !view.may_run() && (!view.state.empty() || !may_be_hidden(job));
    if (waited.seconds() > patience) return false;
    stop_if_asked();
  }
}

void test_job(const std::string& script, const Hidden& hidden) {
  const ProcessOutcome outcome = run_command("sbatch", {"--test-only", script}, hidden);
  if (outcome.status != 0) refuse(words_of(outcome.output));
}

std::string send_job(const std::vector<std::string>& options, const std::vector<std::string>& script,
                     const Hidden& hidden) {
  std::vector<std::string> words = {"--parsable", "--export=ALL"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), script.begin(), script.end());
  const ProcessOutcome outcome = run_command("sbatch", words, hidden);
  const std::string said = words_of(outcome.output);
  if (outcome.status != 0) refuse(said);
  for (const std::string& line : split(outcome.output, '\n'))  // warnings may stand before
    if (const std::string id = line.substr(0, line.find(';')); number_in(id) > 0) return id;
  throw ResourceError("sbatch did not say the job's number: " + said);
}

void cancel_job(const std::string& job) {
  const ProcessOutcome outcome = run_command("scancel", {job});
  if (outcome.status != 0) throw ResourceError("cannot cancel job " + job + ": " + words_of(outcome.output));
}

std::optional<Partition> find_partition(const std::string& name) {
  const std::optional<std::string> all = answer_of("sinfo", {"-a", "-h", "-o", "%P|%D|%C|%l"});
  Partition found;
  for (const std::string& line : split(all.value_or(""), '\n')) {
    std::vector<std::string> parts = split(line, '|');
    if (parts.size() < 4) continue;
    const bool is_default = parts[0].ends_with('*');
    if (is_default) parts[0].pop_back();
    if (name.empty() ? !is_default : parts[0] != name) continue;
    found.name = parts[0];
    found.nodes += number_in(parts[1]);
    const std::vector<std::string> cores = split(parts[2], '/');  // in use, idle, out of use, all
    found.cores += cores.empty() ? 0 : number_in(cores.back());
    found.seconds = seconds_in(parts[3]);
  }
  if (found.name.empty()) return std::nullopt;
  return found;
}

std::int64_t most_array_tasks() {
  const std::int64_t said = number_in(setting("MaxArraySize"));
  return said > 0 ? said : 1001;
}

}  // namespace hindsight
