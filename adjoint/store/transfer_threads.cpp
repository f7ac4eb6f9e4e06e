#include "adjoint/store/transfer_threads.hpp"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace hindsight {

void TransferThreads::Queue::push(TransferJob& job) {
  job.next_ = nullptr;
  (last != nullptr ? last->next_ : first) = &job;
  last = &job;
}

TransferJob* TransferThreads::Queue::pop() {
  TransferJob* const job = first;
  if (job == nullptr) return nullptr;
  first = job->next_;
  if (first == nullptr) last = nullptr;
  return job;
}

bool TransferThreads::Queue::remove(TransferJob& job) {
  TransferJob* before = nullptr;
  for (TransferJob* at = first; at != nullptr; before = std::exchange(at, at->next_)) {
    if (at != &job) continue;
    (before != nullptr ? before->next_ : first) = job.next_;
    if (last == &job) last = before;
    return true;
  }
  return false;
}

TransferThreads::TransferThreads(int threads) {
  // Signals are the main thread's business: the threads inherit a mask that blocks them all.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int t = 0; t < threads; ++t) threads_.emplace_back([this, t] { work(t); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TransferThreads::~TransferThreads() {
  {
    const std::scoped_lock lock(mutex_);
    is_ending_ = true;
  }
  work_came_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void TransferThreads::submit(TransferJob& job, bool is_urgent) {
  {
    const std::scoped_lock lock(mutex_);
    job.state_ = TransferJob::State::queued;
    (is_urgent ? urgent_ : others_).push(job);
  }
  work_came_.notify_one();
}

bool TransferThreads::is_done(const TransferJob& job) {
  const std::scoped_lock lock(mutex_);
  return job.state_ == TransferJob::State::idle;
}

void TransferThreads::wait(const TransferJob& job) {
  std::unique_lock lock(mutex_);
  job_done_.wait(lock, [&] { return job.state_ == TransferJob::State::idle; });
}

bool TransferThreads::cancel(TransferJob& job) {
  const std::scoped_lock lock(mutex_);
  if (!urgent_.remove(job) && !others_.remove(job)) return false;
  job.state_ = TransferJob::State::idle;
  return true;
}

void TransferThreads::work(int thread) {
  std::unique_lock lock(mutex_);
  while (true) {
    TransferJob* job = urgent_.pop();
    if (job == nullptr) job = others_.pop();
    if (job == nullptr) {
      if (is_ending_) return;
      work_came_.wait(lock);
      continue;
    }
    job->state_ = TransferJob::State::running;
    lock.unlock();
    job->run(thread);
    lock.lock();
    job->state_ = TransferJob::State::idle;
    job_done_.notify_all();
  }
}

}  // namespace hindsight
