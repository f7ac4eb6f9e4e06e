#include "src/program/run_journal.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <regex>
#include <span>
#include <utility>

#include "io/files/dying_files.hpp"
#include "src/error.hpp"
#include "src/program/report.hpp"
#include "src/stop_request.hpp"

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

bool is_of_journal(const fs::path& file) {
  static const std::regex names(
      R"((journal|evaluations)-\d+\.\d+(\.partial)?|slots-\d+-[01]\.\d+|status\.json(\.partial)?|lock\..+\.\d+)");
  return std::regex_match(file.filename().string(), names);
}

/// Of the run that has this id, or of all others. The folder may be missing; what cannot be removed stays.
void remove_checkpoints(const std::string& folder, const std::string& id, bool of_it) {
  std::error_code error;
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name.rfind("checkpoints-", 0) == 0 && (name.find(id) != std::string::npos) == of_it)
      old.push_back(entry.path());
  }
  for (const fs::path& file : old) fs::remove(file, error);
}

/// How the run in this folder began, which is how it would begin now. @throws InputError naming the difference.
RunManifest begun_as(const std::string& run, const RunManifest& now) {
  RunManifest begun = RunManifest::read(run);
  if (const std::string difference = begun.difference(now); !difference.empty())
    throw InputError("cannot go on with '" + run + "': " + difference);
  return begun;
}

/// Of an earlier run in this folder. Where it cannot be read, its checkpoints are not known.
RunManifest earlier_in(const std::string& run) {
  try {
    if (fs::exists(RunManifest::file(run))) return RunManifest::read(run);
  } catch (const ResourceError&) {
  }
  return {};
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
      run_(fs::absolute(run_path(options, c)).string()),
      is_resumed_(options.resume),
      talks_(!options.quiet && options.json != "-") {
  lock_ = std::make_unique<RunLock>(run_, comm_, options.take_lock);
  if (!options.epoch.empty()) fixed_interval_ = parse_duration(options.epoch);
  manifest_ = RunManifest::from_root(comm_, [&] {
    RunManifest now = RunManifest::of(options, run_, c, comm_.size());
    return is_resumed_ ? begun_as(run_, now) : now;
  });
  if (!is_resumed_) earlier_ = RunManifest::from_root(comm_, [&] { return earlier_in(run_); });
  moves_ = is_resumed_ && manifest_.ranks != comm_.size();
  if (moves_ && options.ranks != comm_.size())
    throw InputError(
        fmt::format("'{}' was run on {} ranks, now there are {}: go on with mpirun -n {}, or say --ranks {}", run_,
                    manifest_.ranks, comm_.size(), manifest_.ranks, comm_.size()));
  if (is_resumed_ && options.ranks > 0 && options.ranks != comm_.size())
    throw InputError(fmt::format("--ranks {}: there are {}; start as many with mpirun -n {}", options.ranks,
                                 comm_.size(), options.ranks));
  if (is_resumed_) {
    say_when_stopped("before it went on: go on with hindsight resume " + run_);
    stop_if_asked(comm_);
    return;
  }
  manifest_.is_preparing = true;  // from here on a process that is killed can be resumed
  manifest_.replaces = earlier_.replaces;
  if (!earlier_.id.empty()) manifest_.replaces.emplace_back(earlier_.id, earlier_.scratch);
  comm_.on_root([&] { write_text_file(*files_, RunManifest::file(run_), manifest_.to_text()); });
  say_when_stopped("before anything was worked out: begin it with hindsight resume " + run_);
  stop_if_asked(comm_);
}

/// What the folder holds of an earlier run stays until this one begins. Of one that was asked to stop before it began,
/// its run.json stays too, so that resume begins it.
RunJournal::~RunJournal() {
  if (!manifest_.is_preparing) return;
  try {
    const std::string scratch = manifest_.scratch.empty() ? run_ + "/scratch" : manifest_.scratch;
    remove_checkpoints(scratch, manifest_.id, true);
    if (manifest_.scratch.empty()) ::rmdir(scratch.c_str());
    if (has_stopped() || !comm_.is_root()) return;
    if (earlier_.id.empty()) {
      fs::remove(RunManifest::file(run_));
    } else {
      write_text_file(*files_, RunManifest::file(run_), earlier_.to_text());
    }
  } catch (const std::exception&) {  // then resume begins the new run
  }
}

std::string RunJournal::path(const std::string& name) const {
  return fmt::format("{}/{}-{}", run_, name, manifest_.generation);
}

/// Epochs take turns with two files, as with the blocks of a journal.
std::string RunJournal::slots_path(std::int64_t epoch, int rank) const {
  return fmt::format("{}-{}.{}", path("slots"), epoch % 2, rank);
}

void RunJournal::write_manifest() {
  manifest_.is_preparing = false;
  manifest_.replaces.clear();
  comm_.on_root([&] { write_text_file(*files_, RunManifest::file(run_), manifest_.to_text()); });
  is_published_ = true;
}

/// Checkpoints, and journals of whatever generation: these last, because clean_up() looks for them.
void RunJournal::remove_files(const std::string& run, const RunManifest& manifest, bool with_partial,
                              const Communicator& comm) {
  comm.together([&] {
    std::vector<std::pair<std::string, std::string>> runs = manifest.replaces;
    if (!manifest.id.empty()) runs.emplace_back(manifest.id, manifest.scratch);
    for (const auto& [id, scratch] : runs) remove_checkpoints(scratch.empty() ? run + "/scratch" : scratch, id, true);
  });
  comm.on_root([&] {
    std::vector<fs::path> old;
    for (const auto& entry : fs::directory_iterator(run))
      if (is_of_journal(entry.path()) || (with_partial && entry.path().extension() == ".partial"))
        old.push_back(entry.path());
    for (const fs::path& file : old) fs::remove(file);
  });
}

/// Made by the run, unless something else is in it. Collective.
void RunJournal::remove_scratch_folder(const std::string& run, const RunManifest& manifest, const Communicator& comm) {
  comm.together([&] {
    if (manifest.scratch.empty()) ::rmdir((run + "/scratch").c_str());
  });
}

/// What was in this folder before. The new run has its checkpoint files already: only those of the old one go.
void RunJournal::make_room(const Case& c) {
  folder_ = std::make_unique<RunFolder>(run_, comm_, c.inputs());
  remove_files(run_, earlier_, false, comm_);
  // A run that was killed before its run.json was there may have left some in its own folder.
  comm_.together([&] { remove_checkpoints(run_ + "/scratch", manifest_.id, false); });
}

void RunJournal::bind(const Grid& grid) {
  grid_ = &grid;
  if (is_resumed_) open_epoch(grid);
  evaluation_began_ = now();
}

/// Reads the newest epoch of the ranks that wrote it.
void RunJournal::open_epoch(const Grid& grid) {
  std::vector<Journal> journals;
  if (!moves_) {
    journal_ = SharedJournal::open(*files_, path("journal"), comm_);
    epoch_ = journal_->epoch();
    is_published_ = true;
  } else {
    comm_.together([&] {
      for (int rank = 0; rank < manifest_.ranks; ++rank) {
        auto journal = Journal::open(*files_, SharedJournal::file(path("journal"), rank), OpenMode::read_only);
        if (!journal)
          throw ResourceError("the journal '" + SharedJournal::file(path("journal"), rank) + "' is missing");
        journals.push_back(std::move(*journal));
      }
    });
    std::vector<std::vector<std::int64_t>> epochs;
    for (const Journal& journal : journals) epochs.push_back(journal.epochs());
    epoch_ = agreed_epoch(comm_, epochs);
    if (epoch_ < 0) throw ResourceError("the journals in '" + run_ + "' have no epoch in common");
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
    throw ResourceError("the journals in '" + run_ + "' belong to another run than its run.json");
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
  say_when_stopped("between two evaluations: go on with hindsight resume " + run_);
  expected_bytes_ = bytes;
  commit_seconds_ = 0.02 + static_cast<double>(bytes) / guessed_rate;
  if (!is_resumed_) {
    make_room(c);
  } else {
    folder_ = std::make_unique<RunFolder>(run_, comm_, c.inputs(), EarlierResults::kept);
  }
  if (moves_) {
    ++manifest_.generation;
    manifest_.ranks = comm_.size();
  }
  if (!journal_) journal_ = SharedJournal::create(*files_, path("journal"), comm_);
  if (!entries_) comm_.together([&] { entries_ = EntryLog::create(*files_, path("evaluations", comm_.rank())); });
  if (!is_resumed_) write_manifest();
  if (is_resumed_ && comm_.is_root() && talks_) fmt::print("{}\n", resumed_text());
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
  remove_files(run_, manifest_, false, comm_);
  remove_scratch_folder(run_, manifest_, comm_);
}

void RunJournal::clean(const std::string& run, const RunManifest& manifest, bool takes_lock, const Communicator& comm) {
  const RunLock lock(run, comm, takes_lock);
  comm.on_root([&] {  // without journals there is nothing to go on with
    const bool has_result = fs::exists(run + "/result.json") || fs::exists(run + "/check.json");
    if (manifest.is_preparing || !has_result) fs::remove(RunManifest::file(run));
  });
  const std::string path = fs::absolute(run).string();
  remove_files(path, manifest, true, comm);
  remove_scratch_folder(path, manifest, comm);
}

void RunJournal::clean_up(const std::string& run, const RunManifest& manifest, const Communicator& comm) {
  const auto is_left = [&] {
    if (fs::exists(FolderLock::file(run))) return true;
    const fs::directory_iterator all(run);
    return std::any_of(fs::begin(all), fs::end(all), [](const auto& entry) { return is_of_journal(entry.path()); });
  };
  if (!comm.any(comm.is_root() && is_left())) return;
  try {
    clean(run, manifest, false, comm);
  } catch (const ResourceError&) {  // who is still in it, will
  }
}

void RunJournal::evaluate_again() {
  has_sweep_ = false;
  if (!moves_) entry_count_ -= entries_left_;
  entries_left_ = 0;
  if (!moves_ && entries_)
    entries_ = EntryLog::open(*files_, path("evaluations", comm_.rank()),
                              parts_.empty() ? entries_->end() : parts_[0].next_entry, OpenMode::existing);
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

/// With the number of its epoch: the file's name is that of the epoch after the next one too.
std::int64_t RunJournal::keep_part(const std::function<void(BlockWriter&)>& write) {
  const std::int64_t epoch = journal_->epoch() + 1;
  if (!host_slots_) host_slots_ = EntryLog::create(*files_, slots_path(epoch, comm_.rank()));
  return append(*host_slots_, [&](BlockWriter& to) {
    to.archive().write(epoch);
    write(to);
  });
}

void RunJournal::read_part(std::int64_t place, const std::function<void(BlockReader&)>& read) {
  std::vector<Bytes> entries;
  for (Part& part : parts_) {
    if (!part.host_slots) throw ResourceError("the file of checkpoints '" + path("slots") + "-*' is missing");
    std::int64_t at = place;
    entries.push_back(part.host_slots->read(at));
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
  double values[4] = {signal.empty() ? 0.0 : 1.0, is_late ? 1.0 : 0.0, at >= next_epoch_ ? 1.0 : 0.0, at - looked_at_};
  MPI_Allreduce(MPI_IN_PLACE, values, 4, MPI_DOUBLE, MPI_MAX, comm_.handle());
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
  if (!is_published_) write_manifest();
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
  if (before_epoch_) before_epoch_();
  const auto kept = keeps_sweeps_ ? write : nullptr;
  const bool with_parts = std::exchange(keeps_parts_, false) && kept != nullptr && part_units_ > 0;
  commit(kept);
  if (with_parts) {  // large, and worth less than the epoch that is safe now
    keeps_parts_ = true;
    try {
      commit(kept);
    } catch (const ResourceError&) {
    }
  }
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
      fmt::format("stopped {} in epoch {}; go on with: hindsight resume {}", stop_reason_, journal_->epoch(), run_));
}

void RunJournal::phase(const std::string& name, std::int64_t total) {
  phase_ = name;
  total_ = total;
  status_written_ = -1e9;
  if (!has_sweep_) evaluation_began_ = now();
  if (!has_sweep_) done_ = 0;
}

/// A file that readers see whole; it may be lost.
void RunJournal::write_status() const {
  if (!comm_.is_root() || !folder_ || now() - status_written_ < status_interval) return;
  status_written_ = now();
  const Json json = {{"phase", phase_},
                     {"done", done_},
                     {"total", total_},
                     {"seconds", seconds_before_ + now() - evaluation_began_},
                     {"evaluations", entry_count_},
                     {"epoch", journal_->epoch()},
                     {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
  const std::string name = folder_->file("status.json");
  std::ofstream(name + ".partial") << json.dump(2) << "\n";
  std::rename((name + ".partial").c_str(), name.c_str());
}

}  // namespace hindsight
