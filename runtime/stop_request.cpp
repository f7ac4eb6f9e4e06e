#include "runtime/stop_request.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <vector>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

constexpr std::array<int, 3> signals{SIGTERM, SIGINT, SIGUSR1};
constexpr long same_request = 500'000'000;  // ns

// The one state that a signal's handler can have.
volatile std::sig_atomic_t received = 0;
timespec received_at{};
std::atomic<pid_t> started{0};
static_assert(std::atomic<pid_t>::is_always_lock_free);

bool stopped = false, is_caught = false;

std::string& told() {
  static std::string what = "before anything was worked out; begin again with the same command";
  return what;
}

extern "C" void on_signal(int number) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (received == 0) {
    received_at = now;
    received = number;
    return;
  }
  const long passed = (now.tv_sec - received_at.tv_sec) * 1'000'000'000L + (now.tv_nsec - received_at.tv_nsec);
  if (passed <= same_request) return;
  if (const pid_t group = started; group > 0) kill(-group, SIGTERM);
  _exit(static_cast<int>(ExitCode::stopped));
}

const struct sigaction catching = [] {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  return action;
}();

}  // namespace

void catch_stop_signals() {
  is_caught = true;
  for (const int signal : signals) sigaction(signal, &catching, nullptr);
}

StopSignalsDelayed::StopSignalsDelayed() : is_needed_(!is_caught) {
  if (!is_needed_) return;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(signals[i], &catching, nullptr);
  }
}

StopSignalsDelayed::~StopSignalsDelayed() {
  if (!is_needed_) return;
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
  if (const int signal = received; signal != 0) {
    received = 0;
    raise(signal);
  }
}

std::string stop_signal() {
  switch (received) {
    case 0:
      return "";
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    default:
      return "SIGUSR1";
  }
}

void say_when_stopped(const std::string& what) {
  told() = what;
}

void stop_if_asked() {
  if (received != 0) throw_stopped("stopped by " + stop_signal() + " " + told());
}

void stop_if_asked(const Communicator& comm) {
  if (!comm.any(received != 0)) return;
  throw_stopped("stopped by " + comm.first_text(stop_signal()) + " " + told());
}

/// By messages of its own: ranks that have stopped go on to a barrier.
void wait_for_all(const Communicator& comm) {
  constexpr int tag = 7301;
  const auto finish = [&](std::vector<MPI_Request>& requests) {
    int is_done = 0;
    while (MPI_Testall(static_cast<int>(requests.size()), requests.data(), &is_done, MPI_STATUSES_IGNORE), is_done == 0)
      stop_if_asked();
  };
  static char token = 0;  // messages may be on their way when this rank has stopped
  std::vector<MPI_Request> in, out;
  const int first = comm.is_root() ? 1 : 0, end = comm.is_root() ? comm.size() : 1;
  for (int other = first; other < end; ++other)
    MPI_Irecv(&token, 1, MPI_CHAR, other, tag, comm.handle(), &in.emplace_back(MPI_REQUEST_NULL));
  if (comm.is_root()) finish(in);
  for (int other = first; other < end; ++other)
    MPI_Isend(&token, 1, MPI_CHAR, other, tag, comm.handle(), &out.emplace_back(MPI_REQUEST_NULL));
  finish(out);
  if (!comm.is_root()) finish(in);
}

void throw_stopped(const std::string& message) {
  stopped = true;
  throw Stopped(message);
}

bool has_stopped() {
  return stopped;
}

void end_with_this_process(pid_t group) {
  started = group;
}

}  // namespace hindsight
