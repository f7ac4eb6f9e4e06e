#include "src/cluster/chain.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>

#include "runtime/error.hpp"
#include "runtime/whole_number.hpp"

namespace hindsight {
namespace {

/// The job of this number, added where it is new.
ChainJob& job_of(Chain& chain, const std::string& id) {
  const auto found = std::find_if(chain.jobs.begin(), chain.jobs.end(), [&](const ChainJob& j) { return j.id == id; });
  if (found != chain.jobs.end()) return *found;
  chain.jobs.push_back({id, "", "", "", 0});
  return chain.jobs.back();
}

/// @param words "at most 20 jobs on CLUSTER"; the cluster may be missing.
void read_begin(Chain& chain, std::istringstream& words) {
  std::string at, most, number, jobs, on;
  words >> at >> most >> number >> jobs >> on >> chain.cluster;
}

/// @param words "17 begins on n[1-2] at epoch 0", "17 ends with code 5"
void read_job(Chain& chain, const std::string& date, std::istringstream& words) {
  std::string id, event, word, value, code;
  words >> id >> event >> word >> value >> code;
  ChainJob& job = job_of(chain, id);
  if (event == "begins") {
    job.begun = date;
    job.nodes = value;
    job.ended.clear();  // it was put back into the queue
  } else if (event == "ends") {
    job.ended = date;
    job.code = static_cast<int>(whole_number(code).value_or(1));
  }
}

/// @param is_known whether SLURM says that it is not in the queue.
std::string end_text(const ChainJob& job, bool is_known) {
  if (!job.ended.empty()) return fmt::format("code {}", job.code);
  if (job.begun.empty()) return is_known ? "never began" : "queued";
  return is_known ? "lost" : "begun";
}

std::string past_text(const Chain& chain, const QueueView& now) {
  std::string text;
  for (const ChainJob& job : chain.jobs)
    if (!now.has(job.id) && (chain.end.empty() || !job.begun.empty()))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", job.id, end_text(job, now.has_answered()));
  return text.empty() ? "" : (now.has_answered() ? "earlier jobs: " : "its jobs: ") + text + "\n";
}

Json past_json(const Chain& chain) {
  Json all = Json::array();
  for (const ChainJob& job : chain.jobs) {
    Json one = {{"job", job.id}, {"nodes", job.nodes}, {"begun", job.begun}, {"ended", job.ended}};
    if (!job.ended.empty()) one["code"] = job.code;
    all.push_back(one);
  }
  return all;
}

}  // namespace

JobLog JobLog::of(const std::string& run) {
  std::ifstream log(file(run));
  return parse({std::istreambuf_iterator<char>(log), {}});
}

JobLog JobLog::parse(const std::string& text) {
  JobLog log;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string date, head, number, what;
    words >> date >> head >> number >> what;
    const auto chain_number = static_cast<int>(whole_number(number).value_or(-1));
    if (lines.eof() || head != "chain" || chain_number < 0) continue;
    auto chain =
        std::find_if(log.chains_.begin(), log.chains_.end(), [&](const Chain& c) { return c.number == chain_number; });
    if (chain == log.chains_.end()) chain = log.chains_.insert(chain, Chain{chain_number, {}, "", ""});
    if (what == "job") read_job(*chain, date, words);
    if (what == "begins:") read_begin(*chain, words);
    if (what == "ends:") std::getline(words >> std::ws, chain->end);
  }
  return log;
}

void JobLog::say(const std::string& run, int chain, const std::string& what) {
  std::ofstream log(file(run), std::ios::app);
  log << fmt::format("{:%Y-%m-%dT%H:%M:%SZ} chain {} {}\n", fmt::gmtime(std::time(nullptr)), chain, what);
  log.close();
  if (!log) throw ResourceError("cannot write '" + file(run) + "'");
}

bool QueueView::has(const std::string& id) const {
  return std::any_of(jobs.begin(), jobs.end(), [&](const QueuedJob& job) { return job.id == id; });
}

QueueView view_queue(const std::string& run, const JobLog& log) {
  if (log.is_empty()) return {};
  const Chain& chain = log.newest();
  const std::string& here = cluster_name();
  if (!chain.cluster.empty() && !here.empty() && chain.cluster != here)
    return chain.end.empty()
               ? QueueView{"its jobs are on the cluster '" + chain.cluster + "', this is '" + here + "'", {}}
               : QueueView();
  std::optional<std::vector<QueuedJob>> jobs = jobs_of(chain_file(run));
  return jobs ? QueueView{"", std::move(*jobs)} : QueueView{"squeue does not answer", {}};
}

std::string chain_text(const std::string& run, Json& json) {
  const JobLog log = JobLog::of(run);
  if (log.is_empty()) return "";
  const Chain& chain = log.newest();
  const QueueView now = view_queue(run, log);
  json["chain"] = {{"jobs", past_json(chain)}, {"end", chain.end}, {"queue", Json::array()}};
  std::string text;
  for (const auto& [id, array, seen] : now.jobs) {
    json["chain"]["queue"].push_back(
        {{"job", id}, {"state", seen.state}, {"nodes", seen.nodes}, {"end", seen.end}, {"reason", seen.reason}});
    text += seen.may_run() ? fmt::format("job {} is {} on {} until {}\n", id, seen.state, seen.nodes, seen.end)
                           : fmt::format("job {} is {} ({})\n", id, seen.state, seen.reason);
  }
  if (!now.has_answered()) text += now.silence + ": whether jobs are in the queue cannot be said\n";
  if (!chain.end.empty()) text += "its chain of jobs has ended: " + chain.end + "\n";
  if (chain.end.empty() && now.has_answered() && now.jobs.empty())
    text += "no job of its chain is in the queue any more; go on with: hindsight submit " + run + "\n";
  return text + past_text(chain, now);
}

}  // namespace hindsight
