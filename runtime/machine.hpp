// Where arrays are and kernels run: this process's memory and cores, or a device's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/device_program.hpp"

namespace hindsight {

class MemoryAccount;

/// A state of fewer values a device has written in about the time of a launch.
inline constexpr std::int64_t written_in_a_launch = std::int64_t{1} << 18U;

/// What a thread does until an event: sleep, or spin, which takes a core and is over sooner.
enum class Waiting { sleeps, spins };

/// A moment in a machine's work.
class Event {
 public:
  virtual ~Event() = default;
  /// What the machine was asked until now. By the machine's caller.
  virtual void set() = 0;
};

/// What one thread has done beside a device's work, in the order in which it asks.
class Link {
 public:
  virtual ~Link() = default;
  /// Returns when what came before the event is done.
  virtual void wait(const Event& event) = 0;
  /// Between the machine's memory and the host's. Returns when it is copied.
  virtual void copy(double* to, const double* from, std::int64_t count) = 0;
  /// A kernel of a program of this machine's, as Program::run().
  virtual void run(device::Program& program, std::size_t kernel, device::Arguments arguments, std::int64_t blocks) = 0;
  /// Returns when all is done.
  virtual void finish() = 0;
};

/// What a simulation asks of it is done in order. One caller's thread.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual std::string description() const = 0;
  /// Whether arrays can be read and written where they are, and kernels are C functions; else these are programs.
  virtual bool is_host() const = 0;
  /// Whether MPI reads and writes its memory.
  virtual bool is_open_to_mpi() const = 0;

  virtual void* allocate(std::int64_t bytes, std::int64_t alignment) = 0;
  /// @param bytes as they were asked for.
  virtual void free(void* memory, std::int64_t bytes) = 0;
  virtual void clear(double* at, std::int64_t count) = 0;
  /// Either side may be an array of the machine's or of the host's.
  virtual void copy(double* to, const double* from, std::int64_t count) = 0;
  /// Returns when all that it was asked is done.
  virtual void finish() {}
  /// Kernels that the work asks for may wait until it ends or asks for something else: short ones that come again and
  /// again, with the same arguments, are then launched as one (runtime/launch_batches.hpp).
  template <class Work>
  void batch(Work work) {
    begin_batch();
    try {
      work();
    } catch (...) {
      abandon_batch();
      throw;
    }
    end_batch();
  }
  /// Of these, those that were launched so.
  virtual std::int64_t batches_replayed() const { return 0; }
  /// What its memory counts in; null: in the account of whoever makes it (CountMemory).
  const std::shared_ptr<MemoryAccount>& account() const { return account_; }
  /// The host's memory that copies go to and come from fastest.
  virtual Machine& near_host() = 0;

  // Not for the host.

  /// The same device, for another simulation, whose memory counts in an account of its own.
  virtual std::unique_ptr<Machine> with_own_account() const = 0;
  /// Of its memory, that this process may use.
  virtual std::int64_t free_bytes() const = 0;
  virtual std::unique_ptr<Event> event(Waiting waiting) = 0;
  virtual std::unique_ptr<Link> link() = 0;
  /// Collective.
  virtual std::unique_ptr<device::Program> load(const std::string& text, const std::vector<device::KernelName>& kernels,
                                                const Communicator& comm) = 0;

  /// An array's values, on the host.
  std::vector<double> values(const double* at, std::int64_t count) {
    std::vector<double> all(static_cast<std::size_t>(count));
    copy(all.data(), at, count);
    return all;
  }

  /// The memory and the cores of this process.
  static Machine& host();

 protected:
  virtual void begin_batch() {}
  virtual void end_batch() {}
  virtual void abandon_batch() noexcept {}
  std::shared_ptr<MemoryAccount> account_;
};

}  // namespace hindsight
