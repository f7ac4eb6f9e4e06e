#include "src/run_journal.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "io/files/dying_files.hpp"
#include "io/results/run_files.hpp"
#include "io/results/successor.hpp"
#include "runtime/error.hpp"
#include "runtime/standard_streams.hpp"
#include "runtime/stop_request.hpp"
#include "src/report.hpp"
#include "src/run_generation.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

constexpr double look_interval = 0.05;     // seconds between looks at clocks and signals
constexpr double part_for_epochs = 0.007;  // of the time: 1 % with what comes unforeseen
constexpr double shortest_interval = 2.0;  // seconds between epochs
constexpr double guessed_rate = 3e8;       // bytes per second, before the first epoch is measured
constexpr double status_interval = 0.5;    // seconds
constexpr std::uint64_t entry_version = 1;

std::unique_ptr<FileSystem> files_of(const Options& options, const Communicator& comm) {
  auto files = std::make_unique<PosixFileSystem>();
  if (options.die_at == 0 || options.die_on_rank.value_or(comm.rank()) != comm.rank()) return files;
  return std::make_unique<DyingFiles>(std::move(files), options.die_at);
}

/// Of a run's checkpoint files those whose names have, or have not, a tag. On every rank: the folder may lie on a
/// node's own disk. It may be missing; what cannot be removed stays. Collective.
void remove_checkpoints(const std::string& work, const RunManifest& run, const Communicator& comm,
                        const std::function<bool(const std::string& name)>& is_old) {
  comm.together([&] {
    std::error_code error;
    std::vector<fs::path> old;
    const std::string folder = run.scratch.empty() ? work + "/scratch" : run.scratch;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename();
      if (name.rfind("checkpoints-" + run.id, 0) == 0 && is_old(name)) old.push_back(entry.path());
    }
    for (const fs::path& file : old) fs::remove(file, error);
  });
}

bool all(const std::string&) {
  return true;
}

/// How the run in this folder began, which is how it would begin now. @throws InputError naming the difference.
RunManifest begun_as(const std::string& run, const RunManifest& now) {
  RunManifest begun = RunManifest::read(run);
  if (const std::string difference = begun.difference(now); !difference.empty())
    throw InputError("cannot go on with '" + now.options.out + "': " + difference);
  return begun;
}

/// Lets `read` read the entries that earlier ranks wrote together.
void read_entries(const std::vector<Bytes>& entries, const std::string& source, const Grid& grid,
                  const std::function<void(BlockReader&)>& read) {
  std::vector<ArchiveReader> archives;
  std::vector<ArchiveReader*> readers;
  for (const Bytes& entry : entries) archives.emplace_back(entry, entry_version, source);
  for (ArchiveReader& archive : archives) readers.push_back(&archive);
  BlockReader reader(readers, grid);
  read(reader);
}

}  // namespace

RunJournal::RunJournal(const Options& options, const Case& c, const Communicator& comm)
    : comm_(comm),
      files_(files_of(options, comm)),
      time_limit_(options.stop_after.empty() ? std::nullopt : std::optional(parse_duration(options.stop_after))),
      place_(fs::absolute(run_path(options, c)).string()),
      is_resumed_(options.resume),
      talks_(!options.quiet && options.json != "-") {
  if (!options.epoch.empty()) fixed_interval_ = parse_duration(options.epoch);
  is_resumed_ ? go_on(options, c) : begin_run(options, c);
}

/// From here on a process that is killed can be resumed.
void RunJournal::begin_run(const Options& options, const Case& c) {
  manifest_ = RunManifest::from_root(comm_, [&] { return RunManifest::of(options, place_, c, comm_.size()); });
  const RoomWanted wanted{place_, manifest_, c.inputs(), options.json == "-" ? "" : options.json, options.overwrite};
  if (options.take_lock) comm_.on_root([&] { require_room(*files_, wanted); });  // nobody is driven out for nothing
  lock_ = std::make_unique<RunLock>(place_, comm_, options.take_lock);
  lock_->hold([&] {
    RoomForRun room;
    comm_.on_root([&] { room = make_room(*files_, wanted); });
    work_ = comm_.broadcast(room.work);
    for (std::int64_t i = 0, n = comm_.max(std::ssize(room.gone)); i < n; ++i)
      remove_checkpoints(work_, RunManifest::from_root(comm_, [&] { return room.gone[static_cast<std::size_t>(i)]; }),
                         comm_, all);
    manifest_.generation = manifest_.copied_from = written_generation_ =
        static_cast<int>(comm_.max(std::int64_t{room.generation}));
    write_manifest(manifest_);
  });
  say_when_stopped("before anything was worked out; begin it with: hindsight resume " + place_);
  stop_if_asked(comm_);
}

void RunJournal::go_on(const Options& options, const Case& c) {
  const RunManifest now =
      RunManifest::from_root(comm_, [&] { return RunManifest::of(options, place_, c, comm_.size()); });
  lock_ = std::make_unique<RunLock>(place_, comm_, options.take_lock);
  lock_->hold([&] {
    RunPlace place;
    comm_.on_root([&] {
      place = RunPlace::of(place_);
      if (place.is_complete) throw ResourceError("another process has completed the run in '" + place_ + "' meanwhile");
    });
    work_ = comm_.broadcast(place.work);
    manifest_ = RunManifest::from_root(comm_, [&] { return begun_as(work_, now); });
    require_ranks(options);
    if (comm_.any(needs_new_generation(manifest_))) begin_generation(*files_, work_, manifest_, comm_);
    write_manifest(manifest_);
  });
  moves_ = manifest_.ranks != comm_.size();
  is_published_ = !moves_;
  written_generation_ = manifest_.generation + (moves_ ? 1 : 0);
  say_when_stopped("before it went on; go on with: hindsight resume " + place_);
  stop_if_asked(comm_);
}

void RunJournal::require_ranks(const Options& options) const {
  const bool moves = manifest_.ranks != comm_.size();
  if (moves && options.ranks != comm_.size())
    throw InputError(
        fmt::format("'{}' was run on {} ranks, now there are {}: go on with mpirun -n {}, or say --ranks {}", place_,
                    manifest_.ranks, comm_.size(), manifest_.ranks, comm_.size()));
  if (options.ranks > 0 && options.ranks != comm_.size())
    throw InputError(fmt::format("--ranks {}: there are {}; start as many with mpirun -n {}", options.ranks,
                                 comm_.size(), options.ranks));
}

RunJournal::~RunJournal() {
  try {
    const bool is_lost = lock_ && lock_->is_lost();
    if (is_lost || (lock_ && !is_begun_ && !is_resumed_)) {  // nobody else has checkpoint files of this tag
      remove_checkpoints(work_, manifest_, Communicator(MPI_COMM_SELF),
                         [&](const std::string& name) { return name.find(checkpoint_tag()) != std::string::npos; });
      if (manifest_.scratch.empty()) rmdir((work_ + "/scratch").c_str());  // when it is empty
    }
    if (lock_ && !is_lost && !is_finished_) lock_->hold_alone([&] { leave(); });
  } catch (const std::exception&) {  // then it looks as after a kill
  }
}

/// In order: of a run that can be gone on with, or was asked to stop before it began, whoever does so knows that no
/// process writes its files any more; another has not begun.
void RunJournal::leave() const {
  if (is_begun_ || is_resumed_ || has_stopped()) {
    RunManifest now = RunManifest::read(work_);
    now.writer.clear();
    write_text_file(*files_, RunManifest::file(work_), now.to_text());
  } else {
    remove_run(work_);
  }
}

std::string RunJournal::path(const std::string& name) const {
  return RunManifest::file_of_generation(work_, name, manifest_.generation);
}

/// Epochs take turns with two files, as with the blocks of a journal.
std::string RunJournal::slots_path(std::int64_t epoch, int rank) const {
  return fmt::format("{}-{}.{}", path("slots"), epoch % 2, rank);
}

/// As that of a run whose files this process writes.
void RunJournal::write_manifest(RunManifest manifest) const {
  comm_.on_root([&] {
    manifest.writer = to_text(this_process());
    write_text_file(*files_, RunManifest::file(work_), manifest.to_text());
  });
}

/// The journals of other ranks take over.
void RunJournal::publish_move() {
  write_manifest(manifest_);
  is_published_ = true;
}

void RunJournal::bind(const Grid& grid) {
  grid_ = &grid;
  if (is_resumed_) lock_->hold([&] { open_epoch(grid); });
  evaluation_began_ = now();
}

/// The journals of the ranks before, of which this number of ranks only reads.
std::vector<Journal> RunJournal::read_journals() {
  std::vector<Journal> journals;
  std::string missing;
  comm_.together([&] {
    for (int rank = 0; rank < manifest_.ranks; ++rank) {
      const std::string file = SharedJournal::file(path("journal"), rank);
      auto journal = Journal::open(*files_, file, OpenMode::read_only);
      journal ? journals.push_back(std::move(*journal)) : void(missing = file);
    }
    const bool is_new = std::all_of(journals.begin(), journals.end(), [](auto& j) { return j.newest() == 0; });
    if (!missing.empty() && !is_new) throw ResourceError("the journal '" + missing + "' is missing");
  });
  std::vector<std::vector<std::int64_t>> epochs;
  for (const Journal& journal : journals) epochs.push_back(journal.epochs());
  epoch_ = comm_.any(!missing.empty()) ? 0 : agreed_epoch(comm_, epochs);  // killed before all were made
  if (epoch_ < 0) throw ResourceError("the journals in '" + work_ + "' have no epoch in common");
  return journals;
}

/// Reads the newest epoch of the ranks that wrote it.
void RunJournal::open_epoch(const Grid& grid) {
  std::vector<Journal> journals;
  if (moves_) {
    journals = read_journals();
  } else {
    journal_ = SharedJournal::open(*files_, path("journal"), comm_);
    epoch_ = journal_->epoch();
  }
  if (epoch_ == 0) return;
  Bytes mine;
  if (!moves_) mine = journal_->load();
  comm_.together([&] {
    for (int rank = moves_ ? 0 : comm_.rank(); rank < (moves_ ? manifest_.ranks : comm_.rank() + 1); ++rank) {
      Part part;
      part.payload = moves_ ? journals[static_cast<std::size_t>(rank)].load(epoch_) : std::move(mine);
      part.reader = std::make_unique<ArchiveReader>(part.payload, entry_version,
                                                    "the journal '" + SharedJournal::file(path("journal"), rank) + "'");
      if (moves_ && !BlockReader::owns_any(*part.reader, grid)) continue;
      part.entries =
          std::make_unique<EntryLog>(EntryLog::open(*files_, path("evaluations", rank), -1, OpenMode::read_only));
      const std::string slots = slots_path(epoch_, rank);
      if (fs::exists(slots))
        part.host_slots = std::make_unique<EntryLog>(EntryLog::open(*files_, slots, -1, OpenMode::read_only));
      parts_.push_back(std::move(part));
    }
  });
  comm_.together([&] { read_head(grid); });
}

void RunJournal::read_head(const Grid& grid) {
  std::vector<ArchiveReader*> readers;
  for (Part& part : parts_) readers.push_back(part.reader.get());
  kept_ = std::make_unique<BlockReader>(readers, grid);
  kept_->begin("run");
  if (kept_->get<std::string>() != manifest_.id)
    throw ResourceError("the journals in '" + work_ + "' belong to another run than its run.json");
  recalled_ = entries_left_ = kept_->get<std::int64_t>();
  const std::vector<std::int64_t> ends = kept_->all<std::int64_t>();
  seconds_before_ = kept_->get<double>();
  phase_ = kept_->get<std::string>();
  done_ = kept_->get<std::int64_t>();
  total_ = kept_->get<std::int64_t>();
  for (auto n = kept_->get<std::int64_t>(); n > 0; --n) {
    const auto name = kept_->get<std::string>();
    attached_[name] = kept_->get<std::string>();
  }
  kept_->end();
  has_sweep_ = kept_->get<bool>();
  if (moves_) return;
  entry_count_ = entries_left_;
  entries_ = EntryLog::open(*files_, path("evaluations", comm_.rank()), ends[0], OpenMode::existing);
}

void RunJournal::forget_parts() {
  if (entries_left_ > 0) return;
  kept_.reset();
  parts_.clear();
}

void RunJournal::begin(const Case& c, std::int64_t bytes) {
  stop_if_asked(comm_);
  say_when_stopped("between two evaluations; go on with: hindsight resume " + place_);
  expected_bytes_ = bytes;
  commit_seconds_ = 0.02 + static_cast<double>(bytes) / guessed_rate;
  lock_->hold([&] {
    const EarlierResults earlier = is_resumed_ ? EarlierResults::kept : EarlierResults::removed;
    folder_ = std::make_unique<RunFolder>(work_, comm_, c.inputs(), earlier, lock_.get());
    manifest_.generation = manifest_.copied_from = written_generation_;
    manifest_.ranks = comm_.size();
    remove_checkpoints(work_, manifest_, comm_,
                       [&](const std::string& name) { return name.find(checkpoint_tag()) == std::string::npos; });
    if (!journal_) journal_ = SharedJournal::create(*files_, path("journal"), comm_);
    if (!entries_) comm_.together([&] { entries_ = EntryLog::create(*files_, path("evaluations", comm_.rank())); });
  });
  is_begun_ = true;
  if (is_resumed_ && comm_.is_root() && talks_) print_output(resumed_text() + "\n");
  if (entries_left_ == 0 && !has_sweep_) forget_parts();
  looked_at_ = began_ = evaluation_began_ = now();
  plan_epoch();
}

/// "going on with epoch 12: 3 evaluations are done, gradient at 34 %".
std::string RunJournal::resumed_text() const {
  if (epoch_ == 0) return "nothing was kept yet: beginning again";
  std::string text = fmt::format("going on with epoch {}: {} {} done", epoch_, recalled_,
                                 recalled_ == 1 ? "evaluation is" : "evaluations are");
  if (has_sweep_ && total_ > 0)
    text += fmt::format(", {} at {:.0f} %", phase_, 100.0 * static_cast<double>(done_) / static_cast<double>(total_));
  return text;
}

void RunJournal::finish() {
  lock_->hold([&] {
    remove_checkpoints(work_, manifest_, comm_, all);
    comm_.on_root([&] {
      for (const std::string& folder : {work_, place_}) remove_work_files(folder);
      if (work_ != place_) put_in_place(*files_, place_, earlier_files(place_));
    });
  });
  is_finished_ = true;
}

void RunJournal::clean(const std::string& folder, bool takes_lock, const Communicator& comm) {
  const RunLock lock(folder, comm, takes_lock);
  lock.hold([&] {
    const RunPlace place = RunPlace::from_root(folder, comm);
    const RunManifest manifest = RunManifest::from_root(comm, [&] { return place.manifest(); });
    remove_checkpoints(place.work, manifest, comm, all);
    comm.on_root([&] {
      PosixFileSystem files;
      if (!place.is_in_place) put_in_place(files, folder, earlier_files(folder));
      if (!place.is_complete) remove_run(place.work);
      remove_work_files(folder);
    });
  });
}

void RunJournal::clean_up(const RunPlace& place, bool takes_lock, const Communicator& comm) {
  const std::string& folder = place.folder;
  const auto is_left = [&] {
    return !place.is_in_place || fs::exists(FolderLock::file(folder)) || !list_run_files(folder).work.empty();
  };
  if (!comm.any(comm.is_root() && is_left())) return;
  try {
    clean(folder, takes_lock, comm);
  } catch (const ResourceError&) {  // who is still in it, will
    if (!place.is_in_place) throw;
  }
}

void RunJournal::evaluate_again() {
  has_sweep_ = false;
  if (!moves_) entry_count_ -= entries_left_;
  entries_left_ = 0;
  if (!moves_ && entries_)
    lock_->hold([&] {
      entries_ = EntryLog::open(*files_, path("evaluations", comm_.rank()),
                                parts_.empty() ? entries_->end() : parts_[0].next_entry, OpenMode::existing);
    });
  forget_parts();
}

void RunJournal::attach(const std::string& name, std::function<void(ArchiveWriter&)> write) {
  attachments_[name] = std::move(write);
}

bool RunJournal::read_attached(const std::string& name, const std::function<void(ArchiveReader&)>& read) const {
  const auto found = attached_.find(name);
  if (found == attached_.end()) return false;
  ArchiveReader from(std::as_bytes(std::span(found->second)), entry_version, "the journal's " + name);
  read(from);
  return true;
}

bool RunJournal::recall(const std::function<void(BlockReader&)>& read) {
  if (entries_left_ == 0) return false;
  comm_.together([&] {
    std::vector<Bytes> entries;
    for (Part& part : parts_) entries.push_back(part.entries->read(part.next_entry));
    read_entries(entries, "the log of evaluations", *grid_, read);
  });
  --entries_left_;
  if (entries_left_ == 0 && !has_sweep_) forget_parts();
  return true;
}

std::int64_t RunJournal::append(EntryLog& log, const std::function<void(BlockWriter&)>& write) {
  entry_.restart();
  BlockWriter to(entry_, *grid_);
  write(to);
  const std::int64_t place = log.end();
  log.append(entry_.bytes());
  return place;
}

void RunJournal::log(const std::function<void(BlockWriter&)>& write) {
  comm_.together([&] { append(*entries_, write); });
  ++entry_count_;
  seconds_before_ = 0.0;
  evaluation_began_ = now();
}

BlockReader* RunJournal::kept_sweep() {
  return std::exchange(has_sweep_, false) && entries_left_ == 0 ? kept_.get() : nullptr;
}

/// Small ones together, large ones one by one.
std::int64_t RunJournal::units_kept_at_once() const {
  constexpr std::int64_t together = 64 << 10;  // bytes
  return keeps_parts_ ? std::clamp<std::int64_t>(together / std::max<std::int64_t>(1, part_bytes_), 1, 256) : 0;
}

/// With the number of its epoch: the file's name is that of the epoch after the next one too.
std::int64_t RunJournal::keep_part(const std::function<void(BlockWriter&)>& write) {
  const std::int64_t epoch = journal_->epoch() + 1;
  if (!host_slots_) host_slots_ = EntryLog::create(*files_, slots_path(epoch, comm_.rank()));
  return append(*host_slots_, [&](BlockWriter& to) {
    to.archive().write(epoch);
    write(to);
  });
}

void RunJournal::read_part(std::int64_t& place, const std::function<void(BlockReader&)>& read) {
  std::vector<Bytes> entries;
  for (Part& part : parts_) {
    if (!part.host_slots) throw ResourceError("the file of checkpoints '" + path("slots") + "-*' is missing");
    entries.push_back(part.host_slots->read(place));
  }
  read_entries(entries, "the file of checkpoints", *grid_, [&](BlockReader& from) {
    if (from.get<std::int64_t>() != epoch_) throw ResourceError("the file of checkpoints is of a later epoch");
    read(from);
  });
}

double RunJournal::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

double RunJournal::seconds_to_stop() const {
  return 0.3 + 2 * std::max(look_interval, longest_interval_) + 2 * commit_seconds_ +
         (parts_are_worth_it() ? seconds_of_parts() : 0.0);
}

/// Ranks share a disk.
double RunJournal::seconds_of_parts() const {
  return static_cast<double>(comm_.size()) * static_cast<double>(part_units_ * part_bytes_) / guessed_rate;
}

/// Else they are computed again.
bool RunJournal::parts_are_worth_it() const {
  constexpr double most = 0.2, without_limit = 10.0;  // of the time that there is; seconds
  return seconds_of_parts() <= (time_limit_.after() ? most * *time_limit_.after() : without_limit);
}

bool RunJournal::look() {
  const double at = now();
  const std::string signal = stop_signal();
  const bool is_late = time_limit_.is_late(seconds_to_stop());
  double values[5] = {signal.empty() ? 0.0 : 1.0, is_late ? 1.0 : 0.0, at >= next_epoch_ ? 1.0 : 0.0, at - looked_at_,
                      is_lock_missed_ ? 1.0 : 0.0};
  MPI_Allreduce(MPI_IN_PLACE, values, 5, MPI_DOUBLE, MPI_MAX, comm_.handle());
  is_lock_missed_ = false;
  if (values[4] > 0) lock_->hold([] {});  // all ranks say who has it
  looked_at_ = at;
  if (looks_ > 0) longest_interval_ = std::max(0.5 * longest_interval_, values[3]);
  const auto calls = static_cast<double>(asked_ - std::exchange(asked_before_, asked_));
  const double more = std::clamp(look_interval / std::max(1e-9, values[3]), 0.25, 2.0);
  look_at_ = asked_ + std::max<std::int64_t>(1, static_cast<std::int64_t>(calls * more));
  write_status();
  ++looks_;
  is_stopping_ = values[0] > 0 || values[1] > 0;
  keeps_parts_ = is_stopping_ && !comm_.any(!parts_are_worth_it());
  if (values[0] > 0) {
    stop_reason_ = "by " + comm_.first_text(signal);
  } else if (values[1] > 0) {
    stop_reason_ = "because the time is up";
    if (looks_ == 1)
      throw ResourceError(
          fmt::format("--stop-after leaves no time for the run: {:.2g} s are gone, stopping takes {:.2g}",
                      process_seconds(), seconds_to_stop()));
  }
  return is_stopping_ || values[2] > 0;
}

void RunJournal::compose(const std::function<void(BlockWriter&)>& write) {
  payload_.restart();
  payload_.reserve(static_cast<std::size_t>(expected_bytes_));
  BlockWriter to(payload_, *grid_);
  payload_.begin("run");
  payload_.write(manifest_.id);
  payload_.write(entry_count_);
  payload_.write(entries_->end());
  payload_.write(seconds_before_ + now() - evaluation_began_);
  payload_.write(phase_);
  payload_.write(done_);
  payload_.write(total_);
  payload_.write(static_cast<std::int64_t>(attachments_.size()));
  for (const auto& [name, attachment] : attachments_) {
    ArchiveWriter own(entry_version);
    attachment(own);
    payload_.write(name);
    payload_.write(std::string_view(reinterpret_cast<const char*>(own.bytes().data()), own.bytes().size()));
  }
  payload_.end();
  payload_.write(static_cast<bool>(write));
  if (write) write(to);
}

void RunJournal::commit(const std::function<void(BlockWriter&)>& write) {
  prepare(write);
  journal_->commit(payload_.bytes());
  if (!is_published_) publish_move();
}

/// All that the epoch needs but its payload reaches the device.
void RunJournal::prepare(const std::function<void(BlockWriter&)>& write) {
  host_slots_.reset();
  // What is there is of the epoch before the last, or of a process that died.
  comm_.together([&] { files_->remove(slots_path(journal_->epoch() + 1, comm_.rank())); });
  comm_.together([&] {
    compose(write);
    entries_->flush();
    if (host_slots_) host_slots_->flush();
  });
}

void RunJournal::keep(const std::function<void(BlockWriter&)>& write) {
  const auto kept = keeps_sweeps_ ? write : nullptr;
  const bool with_parts = std::exchange(keeps_parts_, false) && kept != nullptr && part_units_ > 0;
  lock_->hold([&] {
    if (before_epoch_) before_epoch_();
    commit(kept);
    if (!with_parts) return;  // large, and worth less than the epoch that is safe now
    keeps_parts_ = true;
    try {
      commit(kept);
    } catch (const ResourceError&) {
    }
  });
  keeping_seconds_ += comm_.max(now() - looked_at_);
  commit_seconds_ = keeping_seconds_ / static_cast<double>(++commits_);
  looked_at_ = now();
  status_written_ = -1e9;
  plan_epoch();
  if (is_stopping_) stop();
}

/// So that all epochs together, with the next one, stay a part of the time.
void RunJournal::plan_epoch() {
  next_epoch_ = fixed_interval_ ? looked_at_ + *fixed_interval_
                                : std::max(looked_at_ + shortest_interval,
                                           began_ + (keeping_seconds_ + commit_seconds_) / part_for_epochs);
}

void RunJournal::stop() {
  write_status();
  throw Stopped(
      fmt::format("stopped {} in epoch {}; go on with: hindsight resume {}", stop_reason_, journal_->epoch(), place_));
}

void RunJournal::phase(const std::string& name, std::int64_t total) {
  phase_ = name;
  total_ = total;
  status_written_ = -1e9;
  if (!has_sweep_) evaluation_began_ = now();
  if (!has_sweep_) done_ = 0;
}

void RunJournal::fail(const std::string& why) {
  failure_ = why;
  status_written_ = -1e9;
  write_status();
}

/// A file that readers see whole; it may be lost.
void RunJournal::write_status() {
  if (!comm_.is_root() || !folder_ || now() - status_written_ < status_interval) return;
  status_written_ = now();
  Json json = {{"phase", phase_},
               {"done", done_},
               {"total", total_},
               {"seconds", seconds_before_ + now() - evaluation_began_},
               {"evaluations", entry_count_},
               {"epoch", journal_->epoch()},
               {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
  if (!failure_.empty()) json["failure"] = failure_;
  const std::string name = place_ + "/status.json";
  try {
    lock_->hold_alone([&] {
      std::ofstream(name + ".partial") << json.dump(2) << "\n";
      std::rename((name + ".partial").c_str(), name.c_str());
    });
  } catch (const ResourceError&) {  // the next look says it to all ranks
    is_lock_missed_ = true;
  }
}

}  // namespace hindsight
