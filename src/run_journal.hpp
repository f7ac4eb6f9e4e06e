// Nothing is lost: a run keeps in its folder what it has worked out, and another process goes on from there.
//
// A verb is a deterministic program over evaluations (objectives, gradients, tangents). Finished ones are entries of a
// log; a process that resumes the run executes the verb again and is given the log's entries in place of evaluations,
// up to the one that was under way, whose sweep goes on where it was kept. So an optimiser's own state needs no
// keeping.
//
//   run.json                   how the run began (RunClaim)
//   lock                       the process that uses the folder (RunClaim)
//   journal-G.RANK             epochs (SharedJournal): how many entries of the log count, attachments, the sweep
//   evaluations-G.RANK         the log (EvaluationLog)
//   sums-G-(0|1).RANK          sums over shots that there is no memory for (SumLog)
//   tape-G-(0|1).RANK          what steps left behind for walking back over them (SumLog)
//   slots-G-(0|1).RANK         checkpoints in host memory, when the run was stopped on request (SweepParts)
//   status.json                how far the run is (RunStatus); of further groups status-1.json, ...
//   scratch/checkpoints-*.h5   the disk tier
//
// An epoch counts when all ranks have it. When the next one is due is what an EpochClock says.
//
// Where groups of ranks share the shots of a case, each executes the verb, and each has epochs of its own, with what it
// has worked out of the evaluation under way: sums over shots, and the sweep that it is at. The log of evaluations,
// whose entries are sums over all shots, is written by the first group and read by all. An epoch of another group
// counts if it is of the evaluation that comes after the log's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "adjoint/gradients/gradient_keeper.hpp"
#include "adjoint/shots/shot_groups.hpp"
#include "io/journal/attachments.hpp"
#include "io/journal/epoch_clock.hpp"
#include "io/journal/evaluation_log.hpp"
#include "io/journal/kept_epoch.hpp"
#include "io/journal/run_status.hpp"
#include "io/journal/shared_journal.hpp"
#include "io/journal/sum_log.hpp"
#include "io/journal/sweep_parts.hpp"
#include "io/results/run_folder.hpp"
#include "runtime/stopwatch.hpp"
#include "src/run_claim.hpp"

namespace hindsight {

/// Calls that read or write files are collective. They throw ResourceError, on all ranks, when a file cannot be read or
/// written, and when another process has taken the folder. A journal is bound, begins, and is used from then on.
class RunJournal final : public GradientKeeper {
 public:
  /// Takes the folder as RunClaim does, and throws as that. Collective over all groups, as are begin() and finish();
  /// all else is over the ranks of a group. @param groups null: all ranks are one; must outlive this.
  RunJournal(const Options& options, const Case& c, const Communicator& comm, const ShotGroups* groups = nullptr);

  bool is_resumed() const override { return claim_.is_resumed(); }
  /// It goes on on another number of ranks.
  bool moves() const override { return claim_.moves(); }
  /// Committed so far.
  std::int64_t epoch() const { return journal_->epoch(); }
  /// In the names of the run's checkpoint files.
  std::string checkpoint_tag() const;
  /// The folder that the run was given.
  const std::string& place() const { return claim_.place(); }
  /// Where its files are until it is complete.
  const std::string& work() const { return claim_.work(); }
  /// Reads what was kept, once the grid is known, which must outlive this. @param read_shots what epochs have of the
  /// shots of the evaluation under way.
  struct KeptShots {
    BlockReader& from;
    bool goes_on;                          ///< this group, with the sweep that kept_sweep() gives, if any
    std::shared_ptr<EarlierSums> earlier;  ///< what sums() was to who wrote them; null: it is what sums() is now
  };
  void bind(const Grid& grid, const std::function<void(const KeptShots&)>& read_shots = {});
  /// Where sums over shots wait that there is no memory for. An epoch that has shots names places in it.
  SumLog& sums() { return *sums_; }
  /// Adds one to them, as SumLog does.
  std::int64_t put_sum(const std::function<void(BlockWriter&)>& write);
  /// Begins to keep; of a resumed run, goes on. @param bytes that an epoch may have on this rank, for a first guess of
  /// its cost.
  void begin(const Case& c, std::int64_t bytes);
  /// Of the first group alone.
  const RunFolder& folder() const { return *folder_; }
  /// The run is complete: removes what only resuming needs, and puts the results in place.
  void finish() { claim_.finish(); }

  /// Something small, the same on all ranks, that every epoch shall have until it is detached.
  void attach(const std::string& name, std::function<void(ArchiveWriter&)> write) override;
  void detach(const std::string& name) override { attachments_.detach(name); }
  /// What every epoch shall have of the shots of the evaluation under way; null: there are none.
  void keep_shots(std::function<void(BlockWriter&)> write) { write_shots_ = std::move(write); }
  /// For status.json: this of so many stages begins.
  void stage_begins(std::size_t stage, std::size_t count) { status_.stage_begins(stage, count); }
  /// The same: an evaluation is of so many shots, and one of them begins.
  void shots_begin(std::size_t count) { status_.shots_begin(count); }
  void shot_begins(const std::string& name) { status_.shot_begins(name); }
  void tell_shot(double objective, double seconds) { status_.shot_done(objective, seconds); }
  /// A shot is done: may commit an epoch, and stop.
  void shot_done();
  /// This group has no more to do in this evaluation, and will wait for others: may commit an epoch.
  void before_waiting();
  /// Of groups that go on with a run of other ranks or groups: whether all have an epoch by now, so that theirs count.
  /// On the first rank, whenever it has time; nothing on others.
  void look_at_commits();
  /// Commits an epoch because others fail or stop; where that cannot be, does without.
  void keep_if_possible();
  /// Called before an epoch is written; null: nothing is.
  void before_epoch(std::function<void()> call) { before_epoch_ = std::move(call); }
  /// Lets `read` read what the epoch that the run goes on from has under this name. @returns false when it has nothing.
  bool read_attached(const std::string& name, const std::function<void(ArchiveReader&)>& read) const override;

  /// The next entry of the log, if there is one left.
  bool recall(const std::function<void(BlockReader&)>& read);
  /// Entries that the process before had worked out.
  std::int64_t recalled() const { return log_->recalled(); }
  /// Entries that recall() gives have to be added again.
  bool is_new_log() const { return log_->is_new(); }
  /// The evaluation that comes next is in the log.
  bool has_next() const { return log_->has_next(); }
  /// Evaluations that have not been recalled are to be done again.
  void evaluate_again();
  /// Adds an entry to the log: an evaluation is done.
  void log(const std::function<void(BlockWriter&)>& write);

  /// Between evaluations: may commit an epoch, and stop.
  void pause() override {
    if (is_due()) keep({});
  }
  /// An evaluation is done, after so many seconds, and logged: may commit an epoch, and stop. Groups stop within
  /// evaluations, where they meet again; here they commit together what would cost more to lose. Collective over all.
  void evaluation_done(double seconds, bool has_failed);
  /// The same as pause(), whether it is time to look at clocks and signals or not.
  void pause_now() override {
    look_at_ = 0;
    pause();
  }
  /// The evaluation has failed where other solvers may do: the run can go on from its newest epoch with them.
  void solvers_failed();
  /// Commits an epoch: what comes next is not to be worked out twice.
  void settle() { keep({}); }

  /// Where the evaluation that comes next goes on; null: at its begin. Said only once.
  BlockReader* kept_sweep() override;
  /// The kept position cannot be gone on with: its evaluation begins again.
  void drop_sweep() override { has_sweep_ = false; }
  bool has_sweep() const override { return has_sweep_; }
  /// Sweeps that cannot be gone on with are not kept; their evaluations begin again.
  void keep_sweeps(bool yes) override { keeps_sweeps_ = yes; }
  /// Bytes of one unit that holds() counts, on this rank.
  void expect_parts(std::int64_t bytes) override { parts_->expect(comm_.max(bytes)); }

  /// Seconds that this process spent in epochs.
  double seconds_of_epochs() const { return clock_.seconds_of_epochs(); }
  /// Seconds that the evaluation under way took in earlier processes.
  double seconds_before() const override { return status_.seconds_before(); }
  /// For status.json. @param total steps; 0: not known yet.
  void phase(const std::string& name, std::int64_t total);
  void progress(const SweepPosition& position) { status_.progress(position); }
  /// Does the work. When the numerics fail, which they would again, status.json says it.
  template <class Work>
  auto with_failures_told(const Work& work) {
    try {
      return work();
    } catch (const NumericsError& error) {
      fail(error.what());
      throw;
    }
  }

  void keep(const std::function<void(BlockWriter&)>& write) override;
  void resumed() override { forget_kept(); }
  std::int64_t units_kept_at_once() const override { return parts_->units_at_once(); }
  std::int64_t keep_part(const std::function<void(BlockWriter&)>& write) override { return parts_->keep(write); }
  void read_part(std::int64_t& place, const std::function<void(BlockReader&)>& read) override {
    parts_->read(place, read);
  }
  std::int64_t log_piece(bool is_first, const std::function<void(BlockWriter&)>& write) override {
    if (is_first) tape_->restart();
    return tape_->put_here(write);
  }
  int log_file() const override { return tape_->file(); }
  void read_logged(int file, const std::vector<std::int64_t>& places,
                   const std::function<void(BlockReader&)>& read) override;

 private:
  bool look() override;
  bool is_first_group() const { return group_ == 0; }
  bool moves_in_groups() const { return groups_ != nullptr && claim_.moves(); }
  /// The files of a group, as it was before this process.
  RankFiles earlier_files(const std::string& name, int group) const;
  std::optional<KeptEpoch> earlier_epoch(const Grid& grid, int group) const;
  struct Head {
    std::int64_t evaluations = 0;  ///< that the log has
    bool has_sweep = false, has_shots = false;
    std::shared_ptr<EarlierSums> sums;
  };
  void open_epochs(const Grid& grid, const std::function<void(const KeptShots&)>& read_shots);
  Head read_head(KeptEpoch& epoch, int group, bool is_own);
  std::string resumed_text() const;
  void forget_kept();
  void compose(const std::function<void(BlockWriter&)>& write);
  void commit(const std::function<void(BlockWriter&)>& write);
  void publish();
  bool all_have_committed();
  void commit_void();
  std::string reason_to_stop(const std::string& signal) const;
  [[noreturn]] void stop();
  double seconds_of_parts() const;
  void fail(const std::string& why);
  void write_status();

  Stopwatch watch_;
  Communicator world_;
  const ShotGroups* groups_;
  Communicator comm_;  // of the group
  int group_;
  RunClaim claim_;
  RunLock lock_;              // the claim's, for the group alone
  int groups_to_commit_ = 0;  // on the first rank of a run that moves to other ranks or groups: that have no epoch yet
  bool talks_;
  EpochClock clock_;
  RunStatus status_;
  Attachments attachments_;
  std::optional<BlockEntries> entries_;  // this and the next four from bind() on
  std::optional<EvaluationLog> log_;
  std::optional<SumLog> sums_, tape_;
  std::optional<EarlierSums> earlier_tape_;  // as long as kept_
  std::optional<SweepParts> parts_;
  std::optional<KeptEpoch> kept_;         // until all of it is read
  std::unique_ptr<RunFolder> folder_;     // from begin() on
  std::optional<SharedJournal> journal_;  // the same, of a run that moves to other ranks, else from bind() on
  ArchiveWriter payload_{BlockEntries::version};
  std::int64_t epoch_bytes_ = 0;  // that are expected
  std::function<void()> before_epoch_;
  std::function<void(BlockWriter&)> write_shots_;
  bool has_sweep_ = false, keeps_sweeps_ = true, is_lock_missed_ = false, has_committed_ = false;
  bool is_void_ = false;     // the group's epoch is of an evaluation that the log has not reached
  std::string stop_reason_;  // empty: the process does not stop
};

}  // namespace hindsight
