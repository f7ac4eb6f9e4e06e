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

RunJournal::RunJournal(const Options& options, const Case& c, const Communicator& comm, const ShotGroups* groups)
    : world_(comm),
      groups_(groups),
      comm_(groups != nullptr ? groups->group() : comm),
      group_(groups != nullptr ? groups->index() : 0),
      claim_(options, c, comm, groups != nullptr ? groups->count() : 1),
      lock_(claim_.lock(), comm_),
      talks_(!options.quiet && options.json != "-" && is_first_group()),
      clock_({duration(options.epoch), duration(options.stop_after)}),
      status_(claim_.place(), group_) {
  if (moves_in_groups() && world_.is_root()) groups_to_commit_ = groups_->count();
}

std::string RunJournal::checkpoint_tag() const {
  return claim_.checkpoint_tag() +
         (groups_ != nullptr && groups_->count() > 1 ? "-" + std::to_string(group_) : std::string());
}

void RunJournal::bind(const Grid& grid, const std::function<void(const KeptShots&)>& read_shots) {
  const int rank = group_ * comm_.size() + comm_.rank();
  entries_.emplace(grid);
  log_.emplace(claim_.files(), RankFiles(claim_.path("evaluations")).of(rank), comm_, *entries_, is_first_group());
  sums_.emplace(claim_.files(), claim_.path("sums"), rank, comm_, *entries_);
  tape_.emplace(claim_.files(), claim_.path("tape"), rank, comm_, *entries_);
  parts_.emplace(claim_.files(), claim_.path("slots"), rank, *entries_);
  if (is_resumed()) lock_.hold([&] { open_epochs(grid, read_shots); });
  status_.restart(watch_.seconds());
}

RankFiles RunJournal::earlier_files(const std::string& name, int group) const {
  return {claim_.earlier_path(name), group * (claim_.earlier_ranks() / claim_.earlier_groups())};
}

/// The newest, read from the ranks that wrote it.
std::optional<KeptEpoch> RunJournal::earlier_epoch(const Grid& grid, int group) const {
  const RankFiles paths = earlier_files("journal", group);
  if (group == group_ && !claim_.moves()) return KeptEpoch::of(*journal_, paths, grid);
  return KeptEpoch::of_other_ranks(claim_.files(), paths, claim_.earlier_ranks() / claim_.earlier_groups(), grid);
}

/// The log is the first group's. Each group goes on with the sweep of the one with its number before; and with the
/// shots that this one and every so many'th after it had done. Where there are fewer groups now, sweeps begin again.
void RunJournal::open_epochs(const Grid& grid, const std::function<void(const KeptShots&)>& read_shots) {
  if (!claim_.moves())
    journal_ = SharedJournal::open(claim_.files(), {claim_.path("journal"), group_ * comm_.size()}, comm_);
  std::int64_t evaluations = 0;  // that count
  if (!is_first_group())
    if (std::optional<KeptEpoch> first = earlier_epoch(grid, 0))
      comm_.together([&] { evaluations = read_head(*first, 0, false).evaluations; });
  const int count = groups_ != nullptr ? groups_->count() : 1;
  for (int group = group_; group < claim_.earlier_groups(); group += count) {
    std::optional<KeptEpoch> epoch = earlier_epoch(grid, group);
    if (!epoch) continue;
    const bool is_own = group == group_;
    comm_.together([&] {
      const Head head = read_head(*epoch, group, is_own);
      if (group == 0) evaluations = head.evaluations;
      const bool counts = head.evaluations == evaluations;
      is_void_ = is_void_ || (is_own && !counts);
      if (is_own && (!counts || (head.has_shots && !head.has_sweep))) status_.finish(watch_.seconds());
      if (counts && head.has_shots) read_shots({epoch->reader(), is_own && head.has_sweep, head.sums});
      if (is_own) has_sweep_ = counts && head.has_sweep;
    });
    if (!is_own) continue;
    kept_ = std::move(epoch);
  }
}

/// @param is_own the epoch of which this group goes on with the sweep.
RunJournal::Head RunJournal::read_head(KeptEpoch& epoch, int group, bool is_own) {
  Head head;
  BlockReader& from = epoch.reader();
  from.begin("run");
  if (from.get<std::string>() != claim_.id())
    throw ResourceError("the journals in '" + work() + "' belong to another run than its run.json");
  std::vector<int> ranks;  // among all
  std::vector<std::string> logs;
  for (const int rank : epoch.ranks()) {
    ranks.push_back(earlier_files("", group).first + rank);
    logs.push_back(earlier_files("evaluations", group).of(rank));
  }
  head.evaluations = group == 0 ? log_->restore(from, logs) : EvaluationLog::pass_over(from);
  if (claim_.moves())
    head.sums = std::make_shared<EarlierSums>(claim_.files(), claim_.earlier_path("sums"), ranks, *entries_);
  RunStatus status = status_;
  Attachments attachments;
  (is_own ? status_ : status).restore(from);
  (is_own || attachments_.is_empty() ? attachments_ : attachments).restore(from);
  from.end();
  from.read(head.has_sweep);
  from.read(head.has_shots);
  if (!is_own) return head;
  parts_->open(epoch.number(), claim_.earlier_path("slots"), ranks);
  earlier_tape_.emplace(claim_.files(), claim_.earlier_path("tape"), ranks, *entries_);
  return head;
}

void RunJournal::forget_kept() {
  if (log_->has_next()) return;
  kept_.reset();
  earlier_tape_.reset();
  parts_->close();
}

void RunJournal::read_logged(int file, const std::vector<std::int64_t>& places,
                             const std::function<void(BlockReader&)>& read) {
  if (!claim_.moves()) tape_->leave(file);
  earlier_tape_->get(file, places, read);
}

void RunJournal::begin(const Case& c, std::int64_t bytes) {
  stop_if_asked(world_);
  say_when_stopped("between two evaluations; go on with: hindsight resume " + place());
  epoch_bytes_ = bytes;
  claim_.lock().hold([&] {
    const EarlierResults earlier = is_resumed() ? EarlierResults::kept : EarlierResults::removed;
    world_.together([&] {
      if (is_first_group()) folder_ = std::make_unique<RunFolder>(work(), comm_, c.inputs(), earlier, &lock_);
    });
    claim_.begin([&] {
      world_.together([&] {
        if (!journal_)
          journal_ = SharedJournal::create(claim_.files(), {claim_.path("journal"), group_ * comm_.size()}, comm_);
        log_->begin();
      });
    });
  });
  if (world_.any(is_void_)) world_.together([&] { commit_void(); });
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

std::int64_t RunJournal::put_sum(const std::function<void(BlockWriter&)>& write) {
  if (!sums_->is_open()) lock_.hold([&] { sums_->open(); });
  return sums_->put(write);
}

void RunJournal::evaluate_again() {
  has_sweep_ = false;
  lock_.hold([&] { log_->evaluate_again(); });
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
  enum { is_signalled, is_late, is_called_off, is_epoch_due, waited, is_lock_missed, count };
  const double at = watch_.seconds(), parts = seconds_of_parts();
  const std::string signal = stop_signal();
  std::array<double, count> any{};
  any[is_signalled] = signal.empty() ? 0.0 : 1.0;
  any[is_late] = clock_.is_late(process_seconds(), parts) ? 1.0 : 0.0;
  any[is_called_off] = groups_ != nullptr && groups_->is_called_off() ? 1.0 : 0.0;
  any[is_epoch_due] = clock_.is_due(at) ? 1.0 : 0.0;
  any[waited] = clock_.waited(at);
  any[is_lock_missed] = std::exchange(is_lock_missed_, false) ? 1.0 : 0.0;
  MPI_Allreduce(MPI_IN_PLACE, any.data(), count, MPI_DOUBLE, MPI_MAX, comm_.handle());
  if (any[is_lock_missed] > 0) lock_.hold([] {});  // all ranks say who has it
  look_at_ = clock_.looked(at, any[waited], asked_);
  look_at_commits();
  write_status();
  const bool asked = any[is_signalled] > 0 || any[is_late] > 0, stops = asked || any[is_called_off] > 0;
  parts_->want(stops && !comm_.any(!clock_.worth_keeping(parts)));
  stop_reason_ = asked   ? reason_to_stop(any[is_signalled] > 0 ? comm_.first_text(signal) : "")
                 : stops ? "because another group of ranks has stopped"
                         : "";
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
  is_void_ ? EvaluationLog::save_void(payload_) : log_->save(payload_);
  status_.save(payload_, watch_.seconds());
  attachments_.save(payload_);
  payload_.end();
  payload_.write(static_cast<bool>(write));
  payload_.write(static_cast<bool>(write_shots_));
  if (write_shots_) write_shots_(to);
  if (write) write(to);
}

/// An epoch that never counts takes the place of one that does not, before anybody commits another: later it might.
void RunJournal::commit_void() {
  if (!is_void_ || claim_.moves()) return;
  lock_.hold([&] {
    comm_.together([&] { parts_->begin(journal_->epoch() + 1); });
    comm_.together([&] { compose({}); });
    journal_->commit(payload_.bytes());
  });
  is_void_ = false;
}

/// All that the epoch needs reaches the device before its payload does.
void RunJournal::commit(const std::function<void(BlockWriter&)>& write) {
  comm_.together([&] { parts_->begin(journal_->epoch() + 1); });
  comm_.together([&] {
    compose(write);
    log_->flush();
    sums_->flush();
    tape_->flush();
    parts_->flush();
  });
  journal_->commit(payload_.bytes());
  sums_->committed();
  tape_->committed();
  publish();
}

/// Groups tell the first rank that they have an epoch.
void RunJournal::publish() {
  if (!moves_in_groups()) return claim_.publish();
  if (std::exchange(has_committed_, true)) return;
  if (is_first_group())
    comm_.on_root([&] {
      if (--groups_to_commit_ == 0 || all_have_committed()) claim_.publish_alone();
    });
  else if (comm_.is_root())
    MPI_Send(nullptr, 0, MPI_BYTE, 0, tag_of_commits, world_.handle());
}

/// Of the first rank. @returns true once.
bool RunJournal::all_have_committed() {
  if (groups_to_commit_ == 0) return false;
  for (int is_there = 1; is_there != 0;) {
    MPI_Iprobe(MPI_ANY_SOURCE, tag_of_commits, world_.handle(), &is_there, MPI_STATUS_IGNORE);
    if (is_there == 0) continue;
    MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, tag_of_commits, world_.handle(), MPI_STATUS_IGNORE);
    --groups_to_commit_;
  }
  return groups_to_commit_ == 0;
}

void RunJournal::look_at_commits() {
  if (!all_have_committed()) return;
  try {
    lock_.hold_alone([&] { claim_.publish_alone(); });
  } catch (const ResourceError&) {  // the next look says it to all ranks
    is_lock_missed_ = true;
  }
}

/// The first group's epoch comes first: those of the others are of the next evaluation.
void RunJournal::evaluation_done(double seconds, bool has_failed) {
  if (groups_ == nullptr) return has_failed ? settle() : pause();
  const std::string reason = std::exchange(stop_reason_, "");  // of a group that has met others which failed
  const bool is_due = clock_.is_half_due(watch_.seconds()) || seconds >= clock_.interval();
  if (!world_.any(is_due || has_failed || !reason.empty())) return;
  for (const bool first : {true, false})
    world_.together([&] {
      if (is_first_group() == first) keep({});
    });
  stop_reason_ = world_.first_text(reason);
  if (!stop_reason_.empty()) stop();
}

void RunJournal::shot_done() {
  status_.finish(watch_.seconds());
  pause();
}

/// What others may wait for a long time for is worth an epoch.
void RunJournal::before_waiting() {
  if (groups_ == nullptr || groups_->count() == 1) return;
  const bool is_news = moves_in_groups() && !has_committed_;
  if (comm_.any(is_news || clock_.is_half_due(watch_.seconds()))) keep({});
}

void RunJournal::keep_if_possible() {
  try {
    keep({});
  } catch (const ResourceError&) {
  } catch (const Stopped&) {
  }
}

void RunJournal::keep(const std::function<void(BlockWriter&)>& write) {
  const auto kept = keeps_sweeps_ ? write : nullptr;
  const bool with_parts = parts_->are_wanted() && kept != nullptr && part_units_ > 0;
  parts_->want(false);
  lock_.hold([&] {
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
  if (before_epoch_) lock_.hold(before_epoch_);  // people will look at what there is
  status_.solvers_failed();
}

void RunJournal::fail(const std::string& why) {
  status_.fail(why);
  write_status();
}

void RunJournal::write_status() {
  const double at = watch_.seconds();
  if (!comm_.is_root() || !journal_ || !status_.is_due(at)) return;
  try {
    lock_.hold_alone([&] { status_.write(log_->count(), epoch(), at); });
  } catch (const ResourceError&) {  // the next look says it to all ranks
    is_lock_missed_ = true;
  }
}

}  // namespace hindsight
