// Stride: a state to the slow tier every k steps; each stretch of k steps is reversed in the fast tier: with all its
// records or all its states where they fit, by Revolve where not. Meant for transfers that run while steps are taken:
// then T = max(n f, n/k w) + max(n b + (n - n/k) f, n/k r), at most one forward sweep above a store of everything. It
// is not optimal where transfers stop the work.
#include "adjoint/schedule/stride.hpp"

#include <algorithm>
#include <cmath>

#include "adjoint/schedule/binomial.hpp"
#include "adjoint/schedule/kinds.hpp"
#include "runtime/error.hpp"

namespace hindsight {

double stride_time(std::int64_t steps, std::int64_t stride, std::int64_t plain, const ScheduleCosts& costs) {
  const auto n = static_cast<double>(steps), count = n / static_cast<double>(stride);
  const auto disk = index_of(Tier::disk);
  const double forward = n * costs.forward + count * costs.write_delay[disk];
  const double reverse =
      n * costs.reverse + count * (static_cast<double>(plain) * costs.forward + costs.read_delay[disk]);
  return std::max(forward, count * costs.write[disk]) + std::max(reverse, count * costs.read[disk]);
}

namespace {

/// How one stretch is reversed.
struct Stretch {
  bool keeps_records = false;
  std::int64_t slots = 0;  ///< for states, the first one included
  std::int64_t units = 1;  ///< of a record

  std::int64_t plain(std::int64_t length) const {
    return keeps_records || length == 1 ? 0 : binomial_plain_steps(length, std::min(slots, length - 1));
  }
  std::int64_t longest() const { return keeps_records ? slots / units + 1 : slots > 0 ? endless : 1; }
  std::int64_t peak(std::int64_t length) const {
    return keeps_records ? (length - 1) * units : std::min(slots, length - 1);
  }
};

/// All strides up to some hundreds, above them a few per cent apart.
std::int64_t best_stride(std::int64_t steps, std::int64_t fewest, const Stretch& stretch, const ScheduleCosts& costs) {
  std::int64_t best = fewest;
  double least = stride_time(steps, best, stretch.plain(best), costs);
  for (std::int64_t k = fewest + 1; k <= std::min(stretch.longest(), steps); k += 1 + k / 128) {
    const double time = stride_time(steps, k, stretch.plain(k), costs);
    if (time >= least) continue;
    least = time;
    best = k;
  }
  return best;
}

ActionStream actions(std::int64_t steps, std::int64_t stride, Stretch stretch) {
  const std::int64_t last = (steps - 1) / stride;
  for (std::int64_t j = 0; j < last; ++j) {
    co_yield Save{{Tier::disk, j}, j * stride, Content::state};
    co_yield Advance{j * stride, (j + 1) * stride};
  }
  const SlotOrder order({Tier::host, 0}, {Tier::host, 1});
  BinomialSweep sweep({0, stride, std::min(stretch.slots, stride - 1)}, order);
  ActionBatch batch;
  for (std::int64_t j = last; j >= 0; --j) {
    const std::int64_t first = j * stride, end = std::min(steps, first + stride);
    if (j < last) {
      co_yield Load{{Tier::disk, j}, first, Content::state};
      co_yield Release{{Tier::disk, j}};
    }
    if (!stretch.keeps_records) {
      sweep.restart({first, end, std::min(stretch.slots, end - first - 1), j == last ? steps - 1 : -1}, order);
      while (sweep.next(batch))
        for (const Action& action : batch) co_yield action;
      continue;
    }
    for (std::int64_t step = first; step < end; ++step) {
      co_yield Record{step};
      if (step < end - 1) co_yield Save{{Tier::host, (step - first) * stretch.units}, step, Content::record};
    }
    if (j == last) co_yield Turn{steps};
    for (std::int64_t step = end - 1; step >= first; --step) {
      const Slot slot{Tier::host, (step - first) * stretch.units};
      if (step < end - 1) co_yield Load{slot, step, Content::record};
      co_yield Reverse{step};
      if (step < end - 1) co_yield Release{slot};
    }
  }
  co_yield Done{};
}

Schedule make(const ScheduleRequest& request) {
  require_known_steps("stride", request);
  const std::int64_t n = request.steps;
  const bool keeps_records = request.content == Content::record;
  const std::int64_t units = keeps_records ? request.record_units : 1;
  const std::int64_t disk = take_slots("stride", request, Tier::disk, 0, n - 1);
  const Stretch stretch{keeps_records, take_host_slots("stride", request, 0, (n - 1) * units), units};
  const std::int64_t fewest = (n - 1) / (disk + 1) + 1;  // as many on disk as it holds
  std::int64_t stride = request.period;
  if (stride == 0) {
    if (fewest > stretch.longest()) take_host_slots("stride", request, keeps_records ? (fewest - 1) * units : 1, n);
    stride = best_stride(n, fewest, stretch, request.costs);
  }
  stride = std::min(stride, n);
  const std::int64_t last = (n - 1) / stride, rest = n - last * stride;  // whole stretches, and the length of the last
  take_host_slots("stride", request, keeps_records ? (stride - 1) * units : std::min<std::int64_t>(1, stride - 1), n);
  take_slots("stride", request, Tier::disk, last, last);
  const std::int64_t inner = stretch.plain(stride);
  const std::int64_t plain = inner == endless ? endless : last * stride + last * inner + stretch.plain(rest);
  Schedule schedule{predict("stride", n, plain), [=] { return actions(n, stride, stretch); }};
  schedule.predicted.kept = keeps_records ? last * (stride - 1) + rest - 1 : 0;
  schedule.predicted.peak = only_host(std::max(last > 0 ? stretch.peak(stride) : 0, stretch.peak(rest)));
  schedule.predicted.writes = schedule.predicted.reads = only_host(unpredicted);
  const auto d = index_of(Tier::disk);
  schedule.predicted.peak[d] = schedule.predicted.writes[d] = schedule.predicted.reads[d] = last;
  return schedule;
}

void complete(ScheduleRequest& request, const RecordOffer& records) {
  if (!records.is_wanted) return;
  request.content = Content::record;
  request.record_units = records.units;
  request.costs.reverse = records.reverse;
}

}  // namespace

ScheduleKind stride_schedule() {
  return {"stride", "a state to a slow tier every k steps, for transfers that overlap the steps",
          make,     false,
          complete, nullptr,
          false,    memory_of_sweeps};
}

}  // namespace hindsight
