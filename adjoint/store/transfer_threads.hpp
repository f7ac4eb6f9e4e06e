// The threads that move states while steps are taken. They call neither MPI nor HDF5.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace hindsight {

/// Something to be done by a transfer thread. Its owner keeps it alive until it is done.
class TransferJob {
 public:
  virtual ~TransferJob() = default;
  /// @param thread number of the thread, for scratch memory of its own. Must not throw.
  virtual void run(int thread) noexcept = 0;

 private:
  friend class TransferThreads;
  enum class State { idle, queued, running };
  State state_ = State::idle;
  TransferJob* next_ = nullptr;
};

/// Submitting, waiting and cancelling allocate nothing.
class TransferThreads {
 public:
  explicit TransferThreads(int threads);
  /// Finishes what is queued.
  ~TransferThreads();
  int count() const { return static_cast<int>(threads_.size()); }

  /// Urgent jobs go before all others; otherwise first come, first served. The job must be idle.
  void submit(TransferJob& job, bool is_urgent);
  bool is_done(const TransferJob& job);
  void wait(const TransferJob& job);
  /// @returns whether the job had not begun; it will not run then.
  bool cancel(TransferJob& job);

 private:
  struct Queue {
    TransferJob *first = nullptr, *last = nullptr;
    void push(TransferJob& job);
    TransferJob* pop();
    bool remove(TransferJob& job);
  };
  void work(int thread);

  std::mutex mutex_;
  std::condition_variable work_came_, job_done_;
  Queue urgent_, others_;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hindsight
