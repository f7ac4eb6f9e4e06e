#include "src/run_generation.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "io/journal/process_identity.hpp"
#include "io/journal/shared_journal.hpp"
#include "io/journal/sum_log.hpp"
#include "io/results/run_files.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

/// A journal, or a log, of one rank in a generation.
std::string file_of(const std::string& work, const char* what, int generation, int rank) {
  return RankFiles(RunManifest::file_of_generation(work, what, generation)).of(rank);
}

/// The first bytes of a file in a new one, on the device.
void copy(FileSystem& files, const std::string& from, const std::string& to, std::int64_t bytes) {
  constexpr std::int64_t piece = std::int64_t{1} << 20;
  const auto fail = [](const std::string& what, const std::string& path) {
    throw ResourceError("cannot " + what + " '" + path + "': " + std::strerror(errno));
  };
  const std::unique_ptr<RawFile> source = files.open(from, OpenMode::read_only);
  if (!source) fail("open", from);
  const std::unique_ptr<RawFile> target = files.open(to, OpenMode::fresh);
  if (!target) fail("create", to);
  Bytes buffer(static_cast<std::size_t>(std::min(bytes, piece)));
  for (std::int64_t done = 0; done < bytes; done += piece) {
    const std::int64_t now = std::min(bytes - done, piece);
    if (!read_whole(*source, buffer.data(), now, done)) fail("read", from);
    if (!write_whole(*target, buffer.data(), now, done)) fail("write", to);
  }
  if (target->flush() != 0) fail("flush", to);
}

/// A process that has the file open writes into what has no name any more.
void replace_by_copy(FileSystem& files, const std::string& path, std::int64_t bytes) {
  const std::string twin = path + ".copy";
  copy(files, path, twin, bytes);
  if (files.rename(twin, path) != 0) throw ResourceError("cannot rename '" + twin + "': " + std::strerror(errno));
}

/// Bytes up to the end of the last whole line.
std::int64_t whole_lines(FileSystem& files, const std::string& path) {
  const std::unique_ptr<RawFile> file = files.open(path, OpenMode::read_only);
  if (!file) throw ResourceError("cannot open '" + path + "': " + std::strerror(errno));
  std::int64_t end = file->size();
  for (char last = 0; end > 0; --end) {
    if (!read_whole(*file, &last, 1, end - 1)) throw ResourceError("cannot read '" + path + "'");
    if (last == '\n') break;
  }
  return end;
}

/// The ranks of a run that commit together.
struct Group {
  int first = 0, size = 0;
};

std::vector<Group> groups_of(const RunManifest& run) {
  const int groups = std::max(1, run.groups), size = run.ranks / groups;
  std::vector<Group> all;
  for (int g = 0; g < groups; ++g) all.push_back({g * size, size});
  return all;
}

/// Of every step'th rank of a group, from its first'th on; those that are not there are left out.
std::vector<Journal> open_journals(FileSystem& files, const std::string& work, const RunManifest& run,
                                   const Group& group, int first, int step) {
  std::vector<Journal> journals;
  for (int i = first; i < group.size; i += step)
    if (auto journal =
            Journal::open(files, file_of(work, "journal", run.copied_from, group.first + i), OpenMode::read_only))
      journals.push_back(std::move(*journal));
  return journals;
}

std::vector<std::vector<std::int64_t>> epochs_of(const std::vector<Journal>& journals) {
  std::vector<std::vector<std::int64_t>> all;
  for (const Journal& journal : journals) all.push_back(journal.epochs());
  return all;
}

/// Each rank copies what some of the group's ranks have kept.
void copy_journals(FileSystem& files, const std::string& work, const RunManifest& run, const Group& group,
                   const Communicator& comm) {
  std::vector<Journal> journals;
  comm.together([&] { journals = open_journals(files, work, run, group, comm.rank(), comm.size()); });
  auto count = static_cast<double>(journals.size());
  comm.sum({&count, 1});
  const std::int64_t epoch = agreed_epoch(comm, epochs_of(journals));
  if (count < group.size && (count == 0 || epoch <= 0)) return;  // not all are there yet: nothing was kept
  comm.together([&] {
    if (epoch < 0 || count < group.size)
      throw ResourceError("the journals in '" + work + "' have no epoch in common, or are not all there");
    for (std::size_t i = 0; i < journals.size(); ++i) {
      const int rank = group.first + comm.rank() + static_cast<int>(i) * comm.size();
      Journal::create(files, file_of(work, "journal", run.generation, rank), epoch, journals[i].load(epoch));
      const std::string log = file_of(work, "evaluations", run.copied_from, rank);
      if (epoch > 0 && group.first == 0)  // the first group's is everybody's
        copy(files, log, file_of(work, "evaluations", run.generation, rank),
             static_cast<std::int64_t>(fs::file_size(log)));
      for (const char* const name : {"sums", "tape"})
        for (const int file : {0, 1}) {
          const auto path = [&](int generation) {
            return SumLog::path_of(RunManifest::file_of_generation(work, name, generation), file, rank);
          };
          if (!fs::exists(path(run.copied_from))) continue;
          const auto bytes = static_cast<std::int64_t>(fs::file_size(path(run.copied_from)));
          copy(files, path(run.copied_from), path(run.generation), bytes);
        }
    }
  });
}

/// What is not of the new generation.
void remove_old(FileSystem& files, const std::string& work, const RunManifest& run) {
  for (const std::string& name : list_run_files(work).work)
    if (!is_of_generation(name, run.generation) && name != "fields.h5.partial") files.remove(work + "/" + name);
}

}  // namespace

bool needs_new_generation(const RunManifest& manifest) {
  if (manifest.copied_from != manifest.generation) return true;
  if (manifest.writer.empty()) return false;
  const std::optional<ProcessIdentity> writer = parse_identity(manifest.writer);
  return !writer || liveness(*writer) != Liveness::dead;
}

std::int64_t kept_epoch(FileSystem& files, const std::string& work, const RunManifest& manifest) {
  std::int64_t newest = 0;
  for (const Group& group : groups_of(manifest)) {
    const std::vector<Journal> journals = open_journals(files, work, manifest, group, 0, 1);
    if (std::ssize(journals) == group.size)
      newest = std::max(newest, agreed_epoch(Communicator(MPI_COMM_SELF), epochs_of(journals)));
  }
  return newest;
}

void begin_generation(FileSystem& files, const std::string& work, RunManifest& manifest, const Communicator& comm) {
  ++manifest.generation;
  const auto publish = [&] {
    comm.on_root([&] { write_text_file(files, RunManifest::file(work), manifest.to_text()); });
  };
  publish();  // from here on nobody writes into the generation before
  for (const Group& group : groups_of(manifest)) copy_journals(files, work, manifest, group, comm);
  comm.on_root([&] {
    const std::string fields = work + "/fields.h5.partial", log = work + "/log.jsonl";
    if (fs::exists(fields)) replace_by_copy(files, fields, static_cast<std::int64_t>(fs::file_size(fields)));
    if (fs::exists(log)) replace_by_copy(files, log, whole_lines(files, log));
  });
  manifest.copied_from = manifest.generation;
  publish();
  comm.on_root([&] { remove_old(files, work, manifest); });
}

}  // namespace hindsight
