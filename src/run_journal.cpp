#include "src/run_journal.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "runtime/durations.hpp"
#include "runtime/error.hpp"
#include "runtime/standard_streams.hpp"
#include "runtime/stop_request.hpp"

namespace hindsight {
namespace {

std::optional<double> duration(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(parse_duration(text));
}

}  // namespace

RunJournal::RunJournal(const Options& options, const Case& c, const Communicator& comm)
    : comm_(comm),
      claim_(options, c, comm),
      talks_(!options.quiet && options.json != "-"),
      clock_({duration(options.epoch), duration(options.stop_after)}),
      status_(claim_.place()) {}

void RunJournal::bind(const Grid& grid) {
  entries_.emplace(grid);
  log_.emplace(claim_.files(), SharedJournal::file(claim_.path("evaluations"), comm_.rank()), comm_, *entries_);
  parts_.emplace(claim_.files(), claim_.path("slots"), comm_.rank(), *entries_);
  if (is_resumed()) claim_.lock().hold([&] { open_epoch(grid); });
  status_.restart(watch_.seconds());
}

/// Reads the newest epoch of the ranks that wrote it.
void RunJournal::open_epoch(const Grid& grid) {
  const std::string path = claim_.earlier_path("journal");
  if (claim_.moves()) {
    kept_ = KeptEpoch::of_other_ranks(claim_.files(), path, claim_.earlier_ranks(), grid);
  } else {
    journal_ = SharedJournal::open(claim_.files(), path, comm_);
    kept_ = KeptEpoch::of(*journal_, path, grid);
  }
  if (kept_) comm_.together([&] { read_head(); });
}

void RunJournal::read_head() {
  BlockReader& from = kept_->reader();
  from.begin("run");
  if (from.get<std::string>() != claim_.id())
    throw ResourceError("the journals in '" + work() + "' belong to another run than its run.json");
  std::vector<std::string> logs;
  for (const int rank : kept_->ranks()) logs.push_back(SharedJournal::file(claim_.earlier_path("evaluations"), rank));
  log_->restore(from, logs);
  status_.restore(from);
  attachments_.restore(from);
  from.end();
  from.read(has_sweep_);
  parts_->open(kept_->number(), claim_.earlier_path("slots"), kept_->ranks());
}

void RunJournal::forget_kept() {
  if (log_->has_next()) return;
  kept_.reset();
  parts_->close();
}

void RunJournal::begin(const Case& c, std::int64_t bytes) {
  stop_if_asked(comm_);
  say_when_stopped("between two evaluations; go on with: hindsight resume " + place());
  epoch_bytes_ = bytes;
  claim_.lock().hold([&] {
    const EarlierResults earlier = is_resumed() ? EarlierResults::kept : EarlierResults::removed;
    folder_ = std::make_unique<RunFolder>(work(), comm_, c.inputs(), earlier, &claim_.lock());
    claim_.begin([&] {
      if (!journal_) journal_ = SharedJournal::create(claim_.files(), claim_.path("journal"), comm_);
      log_->begin();
    });
  });
  if (is_resumed() && comm_.is_root() && talks_) print_output(resumed_text() + "\n");
  if (!has_sweep_) forget_kept();
  status_.restart(watch_.seconds());
  clock_.begin(watch_.seconds(), bytes);
}

/// "going on with epoch 12: 3 evaluations are done, gradient at 34 %".
std::string RunJournal::resumed_text() const {
  if (!kept_) return "nothing was kept yet: beginning again";
  const std::string text = fmt::format("going on with epoch {}: {} {} done", kept_->number(), recalled(),
                                       recalled() == 1 ? "evaluation is" : "evaluations are");
  const std::string position = has_sweep_ ? status_.text() : "";
  return position.empty() ? text : text + ", " + position;
}

void RunJournal::attach(const std::string& name, std::function<void(ArchiveWriter&)> write) {
  attachments_.attach(name, std::move(write));
}

bool RunJournal::read_attached(const std::string& name, const std::function<void(ArchiveReader&)>& read) const {
  return attachments_.read(name, read);
}

bool RunJournal::recall(const std::function<void(BlockReader&)>& read) {
  if (!log_->recall(read)) return false;
  if (!has_sweep_) forget_kept();
  return true;
}

void RunJournal::evaluate_again() {
  has_sweep_ = false;
  claim_.lock().hold([&] { log_->evaluate_again(); });
  forget_kept();
}

void RunJournal::log(const std::function<void(BlockWriter&)>& write) {
  log_->add(write);
  status_.finish(watch_.seconds());
}

BlockReader* RunJournal::kept_sweep() {
  return std::exchange(has_sweep_, false) && !has_next() ? &kept_->reader() : nullptr;
}

void RunJournal::phase(const std::string& name, std::int64_t total) {
  has_sweep_ ? status_.go_on(name, total) : status_.begin(name, total, watch_.seconds());
}

/// Ranks share a disk.
double RunJournal::seconds_of_parts() const {
  return EpochClock::guessed_seconds(static_cast<double>(comm_.size()) *
                                     static_cast<double>(parts_->bytes_of(part_units_)));
}

bool RunJournal::look() {
  enum { is_signalled, is_late, is_epoch_due, waited, is_lock_missed, count };
  const double at = watch_.seconds(), parts = seconds_of_parts();
  const std::string signal = stop_signal();
  std::array<double, count> any{};
  any[is_signalled] = signal.empty() ? 0.0 : 1.0;
  any[is_late] = clock_.is_late(process_seconds(), parts) ? 1.0 : 0.0;
  any[is_epoch_due] = clock_.is_due(at) ? 1.0 : 0.0;
  any[waited] = clock_.waited(at);
  any[is_lock_missed] = std::exchange(is_lock_missed_, false) ? 1.0 : 0.0;
  MPI_Allreduce(MPI_IN_PLACE, any.data(), count, MPI_DOUBLE, MPI_MAX, comm_.handle());
  if (any[is_lock_missed] > 0) claim_.lock().hold([] {});  // all ranks say who has it
  look_at_ = clock_.looked(at, any[waited], asked_);
  write_status();
  const bool stops = any[is_signalled] > 0 || any[is_late] > 0;
  parts_->want(stops && !comm_.any(!clock_.worth_keeping(parts)));
  stop_reason_ = stops ? reason_to_stop(any[is_signalled] > 0 ? comm_.first_text(signal) : "") : "";
  return stops || any[is_epoch_due] > 0;
}

/// @param signal that asked for it; empty: the time is up.
std::string RunJournal::reason_to_stop(const std::string& signal) const {
  if (!signal.empty()) return "by " + signal;
  if (clock_.is_first_look())
    throw ResourceError(fmt::format("--stop-after leaves no time for the run: {:.2g} s are gone, stopping takes {:.2g}",
                                    process_seconds(), clock_.seconds_to_stop(seconds_of_parts())));
  return "because the time is up";
}

void RunJournal::compose(const std::function<void(BlockWriter&)>& write) {
  payload_.restart();
  payload_.reserve(static_cast<std::size_t>(epoch_bytes_));
  BlockWriter to(payload_, entries_->grid());
  payload_.begin("run");
  payload_.write(claim_.id());
  log_->save(payload_);
  status_.save(payload_, watch_.seconds());
  attachments_.save(payload_);
  payload_.end();
  payload_.write(static_cast<bool>(write));
  if (write) write(to);
}

/// All that the epoch needs reaches the device before its payload does.
void RunJournal::commit(const std::function<void(BlockWriter&)>& write) {
  comm_.together([&] { parts_->begin(journal_->epoch() + 1); });
  comm_.together([&] {
    compose(write);
    log_->flush();
    parts_->flush();
  });
  journal_->commit(payload_.bytes());
  claim_.publish();
}

void RunJournal::keep(const std::function<void(BlockWriter&)>& write) {
  const auto kept = keeps_sweeps_ ? write : nullptr;
  const bool with_parts = parts_->are_wanted() && kept != nullptr && part_units_ > 0;
  parts_->want(false);
  claim_.lock().hold([&] {
    if (before_epoch_) before_epoch_();
    commit(kept);
    if (!with_parts) return;  // large, and worth less than the epoch that is safe now
    parts_->want(true);
    try {
      commit(kept);
    } catch (const ResourceError&) {
    }
  });
  const double seconds = comm_.max(clock_.waited(watch_.seconds()));
  clock_.kept(watch_.seconds(), seconds);
  status_.invalidate();
  if (!stop_reason_.empty()) stop();
}

void RunJournal::stop() {
  write_status();
  throw Stopped(fmt::format("stopped {} in epoch {}; go on with: hindsight resume {}", stop_reason_, epoch(), place()));
}

void RunJournal::solvers_failed() {
  if (before_epoch_) claim_.lock().hold(before_epoch_);  // people will look at what there is
  status_.solvers_failed();
}

void RunJournal::fail(const std::string& why) {
  status_.fail(why);
  write_status();
}

void RunJournal::write_status() {
  const double at = watch_.seconds();
  if (!comm_.is_root() || !folder_ || !status_.is_due(at)) return;
  try {
    claim_.lock().hold_alone([&] { status_.write(log_->count(), epoch(), at); });
  } catch (const ResourceError&) {  // the next look says it to all ranks
    is_lock_missed_ = true;
  }
}

}  // namespace hindsight
