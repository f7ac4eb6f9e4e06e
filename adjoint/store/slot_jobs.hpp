// What the threads of a slow tier are given to do.
#pragma once

#include <time.h>

#include <string>
#include <utility>

#include "adjoint/store/slot_tier.hpp"
#include "runtime/stopwatch.hpp"

namespace hindsight {

/// What both directions need. The caller's thread writes it while the job is idle, the transfer thread while it runs.
struct SlotTier::Transfer : TransferJob {
  Transfer(SlotTier& owner)
      : tier(owner), made(owner.machine_.is_host() ? nullptr : owner.machine_.event(Waiting::sleeps)) {}
  SlotTier& tier;
  std::unique_ptr<Event> made;  ///< of a device: what made the state, or used its buffer before, is done
  std::int64_t slot = -1;       ///< -1: not in use
  Buffer state;                 ///< only the caller's thread touches the reference
  StateBlocks data = nullptr;
  SlotLabel label;
  bool has_failed = false, found_no_space = false;
  std::string problem;
  double seconds = 0.0, cpu_seconds = 0.0;

  void begin(std::int64_t of_slot, Buffer buffer, const SlotLabel& of_label) {
    slot = of_slot;
    state = std::move(buffer);
    data = state.blocks();
    label = of_label;
    has_failed = found_no_space = false;
    if (made) made->set();
  }
  void end() {
    slot = -1;
    state.reset();
  }
  /// Does the work with the thread's scratch memory, and keeps what goes wrong.
  template <class Work>
  void attempt(int thread, Work work) noexcept {
    Scratch& scratch = tier.scratch_[static_cast<std::size_t>(thread)];
    Stopwatch watch;
    double cpu_before = cpu_seconds_of_thread();
    try {
      if (made) {  // steps that the transfer waits for are no part of it
        scratch.link->wait(*made);
        watch = {};
        cpu_before = cpu_seconds_of_thread();
      }
      work(scratch);
    } catch (const MediumError& error) {
      has_failed = true;
      found_no_space = error.is_full();
      problem = error.what();
    } catch (const std::exception& error) {
      has_failed = true;
      problem = error.what();
    }
    seconds = watch.seconds();
    cpu_seconds = cpu_seconds_of_thread() - cpu_before;
  }
  static double cpu_seconds_of_thread() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
};

class SlotTier::Write final : public Transfer {
 public:
  using Transfer::Transfer;
  std::int64_t sequence = 0;
  bool is_difference = false;  ///< to the whole state before
  void run(int thread) noexcept override {
    attempt(thread, [&](Scratch& scratch) { tier.store(*this, scratch); });
  }
};

class SlotTier::Read final : public Transfer {
 public:
  using Transfer::Transfer;
  bool is_copy = false;           ///< the state was still waiting to be written: nothing is read
  bool reference_failed = false;  ///< the state to which this one is a difference is damaged
  void run(int thread) noexcept override {
    attempt(thread, [&](Scratch& scratch) { tier.fetch(*this, scratch); });
  }
};

}  // namespace hindsight
