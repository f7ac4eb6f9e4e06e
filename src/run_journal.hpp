// Nothing is lost: a run keeps in its folder what it has worked out, and another process goes on from there.
//
// A verb is a deterministic program over evaluations (objectives, gradients, tangents). Finished ones are entries of a
// log; a process that resumes the run executes the verb again and is given the log's entries in place of evaluations,
// up to the one that was under way, whose sweep goes on where it was kept. So an optimiser's own state needs no
// keeping.
//
//   run.json                   how the run began (RunManifest)
//   lock                       the process that uses the folder
//   journal-G.RANK             epochs: how many entries of the log count, attachments, the sweep (io/journal)
//   evaluations-G.RANK         the log
//   slots-G-(0|1).RANK         checkpoints in host memory, when the run was stopped on request
//   status.json                how far the run is
//   scratch/checkpoints-*.h5   the disk tier
//
// G counts the generations of files: a new one begins with another number of ranks, and when the run is taken over from
// a process that may still live. An epoch counts when all ranks have it. In a folder that holds results already, all
// this but the lock and the status lies in its folder `successor` until the run is complete (io/results/successor.hpp).
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/sweep/sweep_keeper.hpp"
#include "io/journal/entry_log.hpp"
#include "io/journal/run_lock.hpp"
#include "io/journal/shared_journal.hpp"
#include "io/results/run_folder.hpp"
#include "src/run_manifest.hpp"
#include "src/run_place.hpp"
#include "src/time_limit.hpp"

namespace hindsight {

class RunJournal final : public SweepKeeper {
 public:
  /// Takes the folder. With options.resume: refuses when what began the run is no longer the same; else, when something
  /// of worth is in the folder (run_place.hpp). Collective. @throws InputError naming the difference, or what is there;
  /// ResourceError when the folder is in use or damaged, as all below do when another process has taken the folder.
  RunJournal(const Options& options, const Case& c, const Communicator& comm);
  ~RunJournal() override;

  bool is_resumed() const { return is_resumed_; }
  /// Committed so far.
  std::int64_t epoch() const { return journal_->epoch(); }
  /// In the names of the run's checkpoint files.
  std::string checkpoint_tag() const { return fmt::format("{}-{}", manifest_.id, written_generation_); }
  /// The folder that the run was given.
  const std::string& place() const { return place_; }
  /// Where its files are until it is complete.
  const std::string& work() const { return work_; }
  /// Reads what was kept, once the grid is known. Collective.
  void bind(const Grid& grid);
  /// Begins to keep; of a resumed run, goes on. @param bytes that an epoch may have on this
  /// rank, for a first guess of its cost. Collective.
  void begin(const Case& c, std::int64_t bytes);
  const RunFolder& folder() const { return *folder_; }
  /// The run is complete: removes what only resuming needs, and puts the results in place. Collective.
  void finish();
  /// Removes of a run that nobody is in what only resuming needs; one that is not complete, as a whole. Collective.
  static void clean(const std::string& folder, bool takes_lock, const Communicator& comm);
  /// What a complete run left when it was killed before it could finish(). Collective.
  static void clean_up(const RunPlace& place, bool takes_lock, const Communicator& comm);

  /// Something small, the same on all ranks, that every epoch shall have. It must outlive the journal's last epoch.
  void attach(const std::string& name, std::function<void(ArchiveWriter&)> write);
  /// Called before an epoch is written; null: nothing is.
  void before_epoch(std::function<void()> call) { before_epoch_ = std::move(call); }
  /// Lets `read` read what the epoch that the run goes on from has under this name. @returns false when it has nothing.
  bool read_attached(const std::string& name, const std::function<void(ArchiveReader&)>& read) const;

  /// The next entry of the log, if there is one left. Collective.
  bool recall(const std::function<void(BlockReader&)>& read);
  /// Entries that the process before had worked out.
  std::int64_t recalled() const { return recalled_; }
  /// Entries that recall() gives have to be added again.
  bool is_new_log() const { return moves_; }
  /// Adds an entry.
  void log(const std::function<void(BlockWriter&)>& write);
  /// Between evaluations: may commit an epoch, and stop. Collective.
  void pause() {
    if (is_due()) keep({});
  }
  /// The same, whether it is time to look at clocks and signals or not. Collective.
  void pause_now() {
    look_at_ = 0;
    pause();
  }
  /// Commits an epoch: what comes next is not to be worked out twice. Collective.
  void settle() { keep({}); }
  /// The evaluation that comes next is in the log.
  bool has_next() const { return entries_left_ > 0; }
  /// Where the evaluation that comes next goes on; null: at its begin. Said only once.
  BlockReader* kept_sweep();
  /// The kept position cannot be gone on with: its evaluation begins again.
  void drop_sweep() { has_sweep_ = false; }
  bool has_sweep() const { return has_sweep_; }
  /// Evaluations that have not been recalled are to be done again.
  void evaluate_again();
  /// Sweeps that cannot be gone on with are not kept; their evaluations begin again.
  void keep_sweeps(bool yes) { keeps_sweeps_ = yes; }
  /// Seconds that this process spent in epochs.
  double seconds_of_epochs() const { return keeping_seconds_; }
  /// Seconds that the evaluation under way took in earlier processes.
  double seconds_before() const { return seconds_before_; }

  /// For status.json. @param total steps.
  void phase(const std::string& name, std::int64_t total);
  void progress(std::int64_t done) { done_ = done; }
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
  /// Bytes of one unit that holds() counts, on this rank. Collective.
  void expect_parts(std::int64_t bytes) { part_bytes_ = comm_.max(bytes) + record_head_bytes; }

  void keep(const std::function<void(BlockWriter&)>& write) override;
  void resumed() override { forget_parts(); }
  std::int64_t units_kept_at_once() const override;
  std::int64_t keep_part(const std::function<void(BlockWriter&)>& write) override;
  void read_part(std::int64_t& place, const std::function<void(BlockReader&)>& read) override;

 private:
  /// What a record takes in a file beside its cells, about.
  static constexpr std::int64_t record_head_bytes = 96;
  /// What one earlier rank wrote.
  struct Part {
    Bytes payload;
    std::unique_ptr<ArchiveReader> reader;
    std::unique_ptr<EntryLog> entries, host_slots;
    std::int64_t next_entry = 0;
  };
  bool look() override;
  std::string path(const std::string& name) const;
  std::string path(const std::string& name, int rank) const { return path(name) + "." + std::to_string(rank); }
  void begin_run(const Options& options, const Case& c);
  void go_on(const Options& options, const Case& c);
  void require_ranks(const Options& options) const;
  void write_manifest(RunManifest manifest) const;
  void leave() const;
  std::string slots_path(std::int64_t epoch, int rank) const;
  double seconds_of_parts() const;
  bool parts_are_worth_it() const;
  void prepare(const std::function<void(BlockWriter&)>& write);
  std::vector<Journal> read_journals();
  void open_epoch(const Grid& grid);
  void read_head(const Grid& grid);
  std::string resumed_text() const;
  void forget_parts();
  std::int64_t append(EntryLog& log, const std::function<void(BlockWriter&)>& write);
  void compose(const std::function<void(BlockWriter&)>& write);
  void commit(const std::function<void(BlockWriter&)>& write);
  void publish_move();
  void plan_epoch();
  [[noreturn]] void stop();
  double seconds_to_stop() const;
  double now() const;
  void fail(const std::string& why);
  void write_status();

  Communicator comm_;
  std::unique_ptr<FileSystem> files_;
  TimeLimit time_limit_;
  std::unique_ptr<RunLock> lock_;
  RunManifest manifest_;
  std::unique_ptr<RunFolder> folder_;
  std::string place_, work_;
  int written_generation_ = 0;  // manifest_'s, or, before a move to other ranks, the one after
  bool is_begun_ = false, is_finished_ = false;
  bool is_resumed_ = false, talks_ = false;
  bool moves_ = false;  // to another number of ranks
  std::optional<double> fixed_interval_;
  const Grid* grid_ = nullptr;

  std::vector<Part> parts_;  // of the process before; empty when all is read
  std::unique_ptr<BlockReader> kept_;
  std::int64_t epoch_ = 0, entries_left_ = 0, recalled_ = 0;
  std::map<std::string, std::string> attached_;
  bool has_sweep_ = false, keeps_sweeps_ = true;

  std::optional<SharedJournal> journal_;
  std::optional<EntryLog> entries_, host_slots_;
  std::int64_t entry_count_ = 0;
  bool is_published_ = true;  // the manifest names these journals
  std::map<std::string, std::function<void(ArchiveWriter&)>> attachments_;
  std::function<void()> before_epoch_;
  ArchiveWriter payload_{1}, entry_{1};

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double seconds_before_ = 0.0, evaluation_began_ = 0.0, looked_at_ = 0.0, next_epoch_ = 0.0;
  double began_ = 0.0, keeping_seconds_ = 0.0, commit_seconds_ = 0.0;  // of an epoch, on average
  std::int64_t commits_ = 0;
  double status_written_ = -1e9;
  std::int64_t asked_before_ = 0, part_bytes_ = 0, looks_ = 0, expected_bytes_ = 0;
  bool is_stopping_ = false, keeps_parts_ = false, is_lock_missed_ = false;
  double longest_interval_ = 0.0;  // between looks, of late
  std::string stop_reason_;
  std::string phase_, failure_;
  std::int64_t done_ = 0, total_ = 0;
};

}  // namespace hindsight
