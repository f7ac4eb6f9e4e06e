#include "io/journal/process_identity.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <sstream>

#include "io/slurm/slurm.hpp"
#include "runtime/whole_number.hpp"

namespace hindsight {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string process_space() {
  std::array<char, 64> name{};
  return readlink("/proc/self/ns/pid", name.data(), name.size() - 1) > 0 ? name.data() : "unknown";
}

struct ProcessStatus {
  char state = '?';
  std::string started;
};

/// Nothing when /proc does not show the process.
std::optional<ProcessStatus> status_of(long process) {
  const std::string line = first_line("/proc/" + std::to_string(process) + "/stat");
  const std::string::size_type name_end = line.rfind(')');  // the name, field 2, may hold anything
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(line.substr(name_end + 1));
  ProcessStatus status;
  rest >> status.state;
  for (int field = 4; field <= 22; ++field) rest >> status.started;
  if (!rest) return std::nullopt;
  return status;
}

/// The text after "KEY " in the next line.
bool read_line(std::istream& lines, const std::string& key, std::string& value) {
  std::string line;
  if (!std::getline(lines, line) || lines.eof() || !line.starts_with(key + " ")) return false;
  value = line.substr(key.size() + 1);
  return !value.empty();
}

}  // namespace

ProcessIdentity this_process() {
  ProcessIdentity me;
  me.host = host_name();
  me.process = getpid();
  me.started = status_of(me.process).value_or(ProcessStatus{'?', "unknown"}).started;
  me.boot = first_line("/proc/sys/kernel/random/boot_id");
  if (me.boot.empty()) me.boot = "unknown";
  me.space = process_space();
  me.date = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)));
  me.job = this_job();
  return me;
}

namespace {

/// As far as this host's processes tell.
Liveness seen(const ProcessIdentity& owner) {
  const ProcessIdentity me = this_process();
  if (owner.host != me.host || owner.boot == "unknown" || me.boot == "unknown") return Liveness::unknown;
  if (owner.boot != me.boot) return Liveness::dead;
  if (owner.space != me.space) return Liveness::unknown;
  if (kill(static_cast<pid_t>(owner.process), 0) != 0 && errno == ESRCH) return Liveness::dead;
  const std::optional<ProcessStatus> status = status_of(owner.process);
  if (!status) return Liveness::alive;  // hidden: it belongs to somebody else
  const bool has_ended = status->state == 'Z' || status->state == 'X';
  return status->started == owner.started && !has_ended ? Liveness::alive : Liveness::dead;
}

}  // namespace

Liveness liveness(const ProcessIdentity& owner, double patience) {
  return liveness(owner, [&](const JobIdentity& job) { return has_given_up(job, patience); });
}

Liveness liveness(const ProcessIdentity& owner, const std::function<bool(const JobIdentity&)>& has_given_up) {
  const Liveness here = seen(owner);
  return here == Liveness::unknown && owner.job && has_given_up(*owner.job) ? Liveness::given_up : here;
}

std::string to_text(const ProcessIdentity& identity) {
  return fmt::format("host {}\nprocess {}\nstarted {}\nboot {}\nspace {}\ndate {}\n", identity.host, identity.process,
                     identity.started, identity.boot, identity.space, identity.date) +
         (identity.job ? "job " + to_text(*identity.job) + "\n" : "");
}

std::optional<ProcessIdentity> parse_identity(const std::string& text) {
  std::istringstream lines(text);
  ProcessIdentity found;
  std::string process;
  const bool is_whole = read_line(lines, "host", found.host) && read_line(lines, "process", process) &&
                        read_line(lines, "started", found.started) && read_line(lines, "boot", found.boot) &&
                        read_line(lines, "space", found.space) && read_line(lines, "date", found.date);
  found.process = whole_number(process).value_or(0);
  if (!is_whole || found.process <= 0) return std::nullopt;
  if (std::string job; read_line(lines, "job", job)) found.job = parse_job(job);
  return found;
}

}  // namespace hindsight
