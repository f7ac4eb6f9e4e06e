// Asked to stop, by a signal.
#pragma once

#include <sys/types.h>

#include <array>
#include <csignal>
#include <string>

#include "runtime/communicator.hpp"

namespace hindsight {

/// From here on SIGTERM, SIGINT and SIGUSR1 are requests to stop. A second one ends the process at once, and what it
/// started, with the exit code of a stopped run; signals that follow the first within half a second count as the same.
void catch_stop_signals();

/// While it lives, they are requests to stop in verbs that write no run, too; in the end the process does what a signal
/// asked for meanwhile, as if it came only then.
class StopSignalsDelayed {
 public:
  StopSignalsDelayed();
  ~StopSignalsDelayed();
  StopSignalsDelayed(const StopSignalsDelayed&) = delete;
  StopSignalsDelayed& operator=(const StopSignalsDelayed&) = delete;

 private:
  bool is_needed_;
  std::array<struct sigaction, 3> before_{};
};

/// "SIGUSR1"; empty: this rank was not asked.
std::string stop_signal();

/// What people are told after "stopped by SIGTERM", from here on: what is lost, and how to begin again.
void say_when_stopped(const std::string& what);

/// Where a while goes by without steps being taken (planning, allocating, compiling, reading): a sweep itself keeps
/// what it has done, and stops then. Costs next to nothing. @throws Stopped when this rank was asked.
void stop_if_asked();
/// The same on all ranks when one was asked. Collective.
void stop_if_asked(const Communicator& comm);
/// Waits until all ranks are here, after work amid which each of them looks by itself: one that is done before a signal
/// comes looks on, as the others may not come. Collective. @throws Stopped when this rank was asked.
void wait_for_all(const Communicator& comm);
/// Throws Stopped, here or on behalf of another rank.
[[noreturn]] void throw_stopped(const std::string& message);
/// Whether one of these has thrown.
bool has_stopped();

/// Processes that a second signal ends too, until it is called with 0. @param group theirs.
void end_with_this_process(pid_t group);

}  // namespace hindsight
