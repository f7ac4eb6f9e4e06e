#include "adjoint/problem/states.hpp"

#include <algorithm>

#include "adjoint/problem/state_arrays.hpp"
#include "runtime/error.hpp"

namespace hindsight {

States::States(const Discretisation& problem)
    : problem_(problem), stages_(static_cast<std::size_t>(problem.stepper().record_states()), nullptr) {}

std::int64_t States::buffers(const Discretisation& problem, std::int64_t of_checkpoints) {
  const std::int64_t record = problem.differentiates() ? problem.stepper().record_states() : 0;
  const std::int64_t tried = problem.time().tries_steps() ? 1 + record : 0;  // with what is recorded of it
  return live_buffers(problem.stepper().levels()) + record + tried + of_checkpoints;
}

std::int64_t States::lacking_bytes() const {
  const std::int64_t least = buffers(problem_, 0);
  std::int64_t bytes = Memory::bytes_of(least * doubles()) - pool_->bytes();
  if (problem_.machine().is_host()) bytes += Pool::table_bytes * (least - count_);
  return bytes;
}

bool States::must_remake(std::int64_t of_checkpoints) const {
  const std::int64_t count = buffers(problem_, of_checkpoints);
  return pool_doubles_ != doubles() || (count_ != count && !(of_checkpoints == 0 && count_ > count));
}

void States::reserve(std::int64_t of_checkpoints) {
  if (!must_remake(of_checkpoints)) return;
  pool_.reset();
  count_ = buffers(problem_, of_checkpoints);
  pool_doubles_ = doubles();
  pool_ = std::make_unique<Pool>(count_, pool_doubles_, problem_.machine());
}

void States::shrink() {
  if (count_ == buffers(problem_, 0)) return;
  count_ = 0;
  reserve(0);
}

const std::vector<CellArray>& States::fields_of(const double* state) {
  fields_.clear();
  for (std::size_t f = 0; f < problem_.model().fields.size(); ++f)
    fields_.push_back(problem_.field_of(const_cast<double*>(state), f));
  return fields_;
}

/// Those of the stepper, which are in the first level.
std::span<const StateArray> States::own_arrays() const {
  const std::size_t fields = problem_.model().fields.size(), levels = problem_.stepper().levels() > 1 ? 2 : 1;
  const std::span all(problem_.shape().arrays);
  return all.subspan(fields, all.size() - levels * fields);
}

std::vector<CellArray> States::cells_of(StateBlocks state) const {
  std::vector<CellArray> cells;
  for (double* const block : {state.now, state.before})
    for (std::size_t f = 0; f < problem_.model().fields.size() && block != nullptr; ++f)
      cells.push_back(problem_.field_of(block, f));
  return cells;
}

void States::save(BlockWriter& to, StateBlocks state) const {
  for (const CellArray& cells : cells_of(state)) to.cells(cells);
  if (own_arrays().empty()) return;
  const HostView view(problem_.machine(), state, problem_.block_doubles());
  save_arrays(to, own_arrays(), view.data());
}

void States::restore(BlockReader& from, StateBlocks state) const {
  for (const CellArray& cells : cells_of(state)) from.cells(cells);
  if (own_arrays().empty()) return;
  std::vector<double> host = problem_.machine().values(state, problem_.block_doubles());
  restore_arrays(from, own_arrays(), host.data());
  problem_.machine().copy(state, host.data(), problem_.block_doubles());
}

namespace {

/// The states that records hold.
std::vector<double*> buffers_of(std::span<const StepRecord> records, std::size_t stages) {
  std::vector<double*> all;
  for (const StepRecord& record : records) {
    if (record.base) all.push_back(record.base.data());
    if (record.base.has_before()) all.push_back(record.base.blocks().before);
    if (!record.stages) continue;
    all.resize(all.size() + stages);
    record.stages.data(all.data() + all.size() - stages);
  }
  return all;
}

/// Of arrays of `length` doubles each, one behind the other, what lies in [begin, end): visit(array, from, doubles).
template <class Visit>
void visit_arrays(std::int64_t begin, std::int64_t end, std::int64_t length, Visit visit) {
  for (std::int64_t at = begin, next = 0; at < end; at = next) {
    next = std::min(end, (at / length + 1) * length);
    visit(static_cast<std::size_t>(at / length), at % length, next - at);
  }
}

constexpr std::int64_t piece_of_records = 8192;  // doubles that an epoch is given at once

}  // namespace

void States::save_records(const KeepPiece& keep, std::span<const StepRecord> records) const {
  const std::int64_t length = doubles();
  const std::vector<double*> buffers = buffers_of(records, stages_.size());
  const std::int64_t all = length * std::ssize(buffers);
  for (std::int64_t begin = 0; begin == 0 || begin < all; begin += piece_of_records)
    keep([&](BlockWriter& to) {
      for (const StepRecord& record : records) {
        if (begin > 0) break;  // the first piece says what there is
        to.archive().write(static_cast<bool>(record.base));
        to.archive().write(record.base.has_before());
        to.archive().write(static_cast<bool>(record.stages));
      }
      visit_arrays(begin, std::min(all, begin + piece_of_records), length,
                   [&](std::size_t i, std::int64_t from, std::int64_t doubles) {
                     const HostView view(problem_.machine(), buffers[i] + from, doubles);
                     to.archive().write(std::span(view.data(), static_cast<std::size_t>(doubles)));
                   });
    });
}

void States::restore_records(const ReadPiece& read, std::span<StepRecord> records) {
  const std::int64_t length = doubles();
  std::vector<double*> buffers;
  for (std::int64_t begin = 0, all = 0; begin == 0 || begin < all; begin += piece_of_records)
    read([&](BlockReader& from) {
      if (begin == 0) {
        for (StepRecord& record : records) {
          const bool is_there = from.get<bool>(), has_before = from.get<bool>();
          if (is_there) record.base = pool_->acquire_levels(has_before ? 2 : 1);
          if (from.get<bool>()) acquire_stages(record);
        }
        buffers = buffers_of(records, stages_.size());
        all = length * std::ssize(buffers);
      }
      visit_arrays(begin, std::min(all, begin + piece_of_records), length,
                   [&](std::size_t i, std::int64_t to, std::int64_t doubles) {
                     const std::vector<double> values = from.all<std::vector<double>>().front();
                     if (std::ssize(values) != doubles)
                       throw ResourceError("a checkpoint in the file of checkpoints has another size");
                     problem_.machine().copy(buffers[i] + to, values.data(), doubles);
                   });
    });
}

}  // namespace hindsight
