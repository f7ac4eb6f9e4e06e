// The disk tier against raw files, and gradients with their history on disk against their plans.
// Usage: bench.store [JSON]
#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>

#include "adjoint/schedule/stride.hpp"
#include "adjoint/store/slot_tier.hpp"
#include "bench/cases.hpp"
#include "bench/measure.hpp"
#include "io/checkpoints/checkpoint_file.hpp"

namespace hindsight::bench {
namespace {

constexpr int rounds = 9;
constexpr std::int64_t mib = std::int64_t{1} << 20U;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// A file without structure, past the page cache, its place reserved: what the device can do.
class RawSlots {
 public:
  RawSlots(std::int64_t slots, std::int64_t bytes) : bytes_(bytes), buffer_(Memory::pages(bytes)) {
    file_ = open(path, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
    if (file_ < 0 || posix_fallocate(file_, 0, slots * bytes) != 0) throw std::runtime_error("no raw file");
  }
  ~RawSlots() {
    close(file_);
    unlink(path);
  }
  RawSlots(const RawSlots&) = delete;
  RawSlots& operator=(const RawSlots&) = delete;
  void write(std::int64_t slot) const {
    if (pwrite(file_, buffer_.data(), static_cast<std::size_t>(bytes_), slot * bytes_) != bytes_)
      throw std::runtime_error("short raw write");
  }
  void read(std::int64_t slot) const {
    if (pread(file_, buffer_.data(), static_cast<std::size_t>(bytes_), slot * bytes_) != bytes_)
      throw std::runtime_error("short raw read");
  }
  void flush() const { fdatasync(file_); }

 private:
  static constexpr const char* path = "bench-raw.bin";
  std::int64_t bytes_;
  Memory buffer_;
  int file_;
};

/// All slots forward, flushed, then all of them backward.
void raw_files(Report& report, std::int64_t size) {
  const std::int64_t slots = 768 * mib / size, side = std::int64_t{1} << 10U;
  const StateShape shape = shape_of_fields(1, {side, size / 8 / side, 1}, 1024, side + 16, 0, 0);
  const std::int64_t padded = 2048 + (side + 16) * (size / 8 / side);
  Pool pool(12, padded);
  SlotTier tier(
      {slots, 4, 4, 0}, shape,
      [&] {
        CheckpointFileSettings file;
        file.path = "bench-checkpoints.h5";
        file.slots = file.pages = slots;
        file.page_bytes = size;
        file.fields = {"u"};
        file.shape = shape;
        return std::make_unique<CheckpointFile>(file);
      }(),
      nullptr, std::make_shared<TransferThreads>(2));
  const RawSlots raw(slots, size);
  const Buffer state = pool.acquire();
  std::vector<double> write, read, cpu;
  for (int round = 0; round <= rounds; ++round) {
    const double raw_write = seconds_of([&] {
      for (std::int64_t s = 0; s < slots; ++s) raw.write(s);
      raw.flush();
    });
    const double raw_read = seconds_of([&] {
      for (std::int64_t s = slots; s-- > 0;) raw.read(s);
    });
    const double before = cpu_seconds();
    const double tier_write = seconds_of([&] {
      for (std::int64_t s = 0; s < slots; ++s) tier.save(s, state, s);
      tier.flush();
    });
    const double tier_read = seconds_of([&] {
      std::int64_t next = slots;
      for (std::int64_t s = slots; s-- > 0;) {
        while (next > 0 && tier.prefetch(next - 1, pool)) --next;
        next = std::min(next, s);
        const Buffer loaded = tier.load(s, pool);
        tier.release(s);
      }
    });
    if (round == 0) continue;
    write.push_back(raw_write / tier_write);
    read.push_back(raw_read / tier_read);
    cpu.push_back((cpu_seconds() - before) / (2.0 * 768 / 1024));
    fmt::print("  {:>3} MiB: raw {:.2f} {:.2f}, tier {:.2f} {:.2f} GB/s\n", size / mib, 0.805 / raw_write,
               0.805 / raw_read, 0.805 / tier_write, 0.805 / tier_read);
  }
  const std::string name = fmt::format("slots of {} MiB, ", size / mib);
  report.add(name + "write speed over raw O_DIRECT, flush and CRC included", median(write), "", "at least 0.9");
  report.add(name + "read speed over raw O_DIRECT", median(read), "", "at least 0.9");
  report.add(name + "CPU seconds per GiB", median(cpu), "s", "at most 0.3");
}

std::unique_ptr<Session> session_with(int cells, int steps, const std::vector<std::string>& set,
                                      const SessionOptions& options = {}) {
  return std::make_unique<Session>(gray_scott(cells, steps, 0.1, set), Communicator(MPI_COMM_SELF),
                                   Sensitivities::adjoint, options);
}

/// A disk slowed down to `ratio` steps per transfer: overlapped and one by one, in turn.
void throttled(Report& report, double ratio) {
  const int cells = 128, steps = 4096;
  const auto probe = session_with(cells, steps, {"checkpoints.schedule=revolve", "checkpoints.host=130 slots"});
  SessionOptions options;
  const double transfer = ratio * probe->plan_inputs().seconds.forward;
  options.disk.slowed = {transfer, transfer};
  const std::string period = fmt::format("checkpoints.period={}", static_cast<int>(ratio));
  std::vector<std::unique_ptr<Session>> sessions;
  for (const char* disk : {"checkpoints.disk={size: 2000 slots, codec: none}",
                           "checkpoints.disk={size: 2000 slots, codec: none, queue: 0, prefetch: 0}"})
    sessions.push_back(session_with(
        cells, steps, {"checkpoints.schedule=stride", "checkpoints.host=130 slots", disk, period}, options));
  std::vector<double> overlapped, blocking, formula;
  for (int round = 0; round < rounds; ++round) {
    const StepSeconds s = probe->simulation().measure(1, 2e-3, 130);
    const ScheduleCosts costs{
        s.forward + s.save, s.record_last + s.reverse + s.load, {0, 0, transfer}, {0, 0, transfer}};
    const auto stride = static_cast<std::int64_t>(ratio);
    overlapped.push_back(sessions[0]->gradient({}).seconds);
    blocking.push_back(sessions[1]->gradient({}).seconds);
    formula.push_back(stride_time(steps, stride, stride - 1, costs));
  }
  fmt::print("w/f = {:g}: overlapped {:.3f} s, formula {:.3f} s, plan {:.3f} s, one by one {:.3f} s\n", ratio,
             median(overlapped), median(formula), sessions[0]->plan().seconds, median(blocking));
  report.add(fmt::format("disk slowed to w/f = {:g}: time over the stride formula", ratio),
             median(overlapped) / median(formula), "", "within 8 %");
  report.add("    one by one over overlapped", median(blocking) / median(overlapped), "",
             ratio == 128 ? "at least 1.2" : "");
}

/// A history of 50 times the host budget on the disk as it is.
void unthrottled(Report& report) {
  const int cells = 512, steps = 400;
  const auto all = session_with(cells, steps, {"checkpoints.host=6 GiB", "checkpoints.schedule=auto"});
  const auto small = session_with(
      cells, steps,
      {"checkpoints.host=8 slots", "checkpoints.disk={size: 8 GiB, codec: none}", "checkpoints.schedule=auto"});
  const double over = static_cast<double>(steps) / 8;
  std::vector<double> ratio;
  all->gradient({});
  small->gradient({});
  for (int round = 0; round < rounds; ++round) {
    const double memory = all->gradient({}).seconds, disk = small->gradient({}).seconds;
    const double forward = seconds_of([&] { all->simulation().run({}); });
    ratio.push_back(disk / (memory + forward));
    fmt::print("  in memory {:.3f} s, forward {:.3f} s, on disk {:.3f} s (plan {:.3f} s)\n", memory, forward, disk,
               small->plan().seconds);
  }
  report.add(fmt::format("gray-scott 512 x 512, {} steps, history {:g} times the host's checkpoints, {} on disk: time "
                         "over that in memory plus one forward run",
                         steps, over, small->plan().kind->name),
             median(ratio), "", "at most 1.15");
}

}  // namespace

void measure(int argc, char** argv) {
  Report report("Store: the disk tier, one core and a transfer thread's");
  for (const std::int64_t size : {8 * mib, 32 * mib, 64 * mib}) raw_files(report, size);
  for (const double ratio : {8.0, 32.0, 128.0}) throttled(report, ratio);
  unthrottled(report);
  report.finish(argc, argv);
}

}  // namespace hindsight::bench
