// A complete successor's files take the places of an earlier run's, whenever the process is killed that moves them; and
// what lies in a run folder is told by its names.
#include "io/results/successor.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "io/results/run_files.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

struct Killed {};

/// The process ends in the chosen call that changes something, which does nothing any more.
class MortalFiles final : public FileSystem {
 public:
  explicit MortalFiles(int calls) : calls_(calls) {}
  std::unique_ptr<RawFile> open(const std::string& path, OpenMode mode) override { return files_.open(path, mode); }
  int rename(const std::string& from, const std::string& to) override {
    live_on();
    return files_.rename(from, to);
  }
  int remove(const std::string& path) override {
    live_on();
    return files_.remove(path);
  }
  int flush_folder_of(const std::string& path) override {
    live_on();
    return files_.flush_folder_of(path);
  }

 private:
  void live_on() {
    if (--calls_ == 0) throw Killed();
  }
  PosixFileSystem files_;
  int calls_;
};

class Successors : public testing::Test {
 protected:
  ~Successors() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void begin(const Names& earlier, const std::string& whose) const {
    fs::remove_all(folder_);
    for (const std::string& name : earlier) write(name, whose);
    write("notes.txt", "mine");
    for (const char* name : {"run.json", "log.jsonl", "fields.h5", "result.json"})
      write(std::string("successor/") + name, "new");
  }
  /// As the program finds them: the earlier run's are its own as long as its run.json is there.
  Names of_earlier(const Names& names) const {
    return fs::exists(folder_ + "/run.json") && fs::exists(folder_ + "/" + successor_name) ? names : Names{};
  }
  bool is_pending() const {
    return fs::exists(folder_ + "/" + successor_name) || fs::exists(folder_ + "/" + whole_successor_name);
  }
  void expect_in_place(const Names& others) const {
    EXPECT_FALSE(is_pending());
    Names expected = {"fields.h5", "log.jsonl", "notes.txt", "result.json", "run.json"}, found;
    expected.insert(expected.end(), others.begin(), others.end());
    std::sort(expected.begin(), expected.end());
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected);
    for (const char* name : {"run.json", "log.jsonl", "fields.h5", "result.json"}) EXPECT_EQ(text_of(name), "new");
    EXPECT_EQ(text_of("notes.txt"), "mine");
  }
  std::string folder_ = testing::TempDir() + "successor";
};

TEST_F(Successors, TakeTheirPlacesWheneverTheProcessIsKilled) {
  const Names earlier = {"case.yaml", "fields.h5", "gradient.h5", "result.json", "journal-0.0", "run.json"};
  for (int call = 1;; ++call) {
    SCOPED_TRACE(call);
    begin(earlier, "old");
    bool was_killed = false;
    try {
      MortalFiles files(call);
      put_in_place(files, folder_, earlier);
    } catch (const Killed&) {
      was_killed = true;
    }
    // What says that a run is complete stands among that run's files, all of them.
    if (const std::string whose = text_of("result.json"); whose == "old") {
      for (const std::string& name : earlier) EXPECT_EQ(text_of(name), "old") << name;
    } else if (whose == "new") {
      for (const char* name : {"run.json", "log.jsonl", "fields.h5"}) EXPECT_EQ(text_of(name), "new") << name;
      EXPECT_FALSE(fs::exists(folder_ + "/gradient.h5"));
    }
    PosixFileSystem files;
    if (is_pending()) put_in_place(files, folder_, of_earlier(earlier));
    expect_in_place({});
    if (!was_killed) {
      EXPECT_GT(call, 15);
      break;
    }
  }
}

TEST_F(Successors, ReplaceFilesOfOthersThatHaveTheNamesOfTheirOwnAndNoOthers) {
  for (int call = 1; call < 20; ++call) {
    SCOPED_TRACE(call);
    begin({"fields.h5", "estimate.h5", "result.json"}, "theirs");
    try {
      MortalFiles files(call);
      put_in_place(files, folder_, {});
    } catch (const Killed&) {
      EXPECT_NE(text_of("result.json") + text_of("fields.h5"), "theirsnew");
      PosixFileSystem files;
      if (is_pending()) put_in_place(files, folder_, {});
    }
    expect_in_place({"estimate.h5"});
    EXPECT_EQ(text_of("estimate.h5"), "theirs");
  }
}

TEST_F(Successors, WhatLiesInARunFolderIsToldByItsNames) {
  for (const char* name : {"result.json",
                           "fields.h5",
                           "run.json",
                           "successor.png",
                           "journal-0.0",
                           "journal-12.3.partial",
                           "evaluations-0.0",
                           "slots-0-1.0",
                           "status.json",
                           "fields.h5.partial",
                           "fields.h5.partial-298582017-32048.lock",
                           "run.json.partial",
                           "fields.h5.partial.copy",
                           "log.jsonl.copy",
                           "lock",
                           "lock.node7.4711",
                           "scratch/checkpoints-0123456789abcdef-0-rank0.h5",
                           "successor/run.json",
                           "successor/journal-0.0",
                           ".nfs0001"})
    write(name, "ours");
  EXPECT_EQ(list_run_files(folder_).others, Names{});
  EXPECT_EQ(list_run_files(folder_).results, (Names{"fields.h5", "result.json"}));
  EXPECT_EQ(list_run_files(folder_).about, (Names{"run.json", "successor.png"}));
  EXPECT_EQ(list_run_files(folder_).work.size(), 11u);
  Names others = {"fields.h5.lock",    "journal-notes.md", "log.jsonl.partial-1.lock",
                  "notes.txt",         "plan.svg",         "results.json",
                  "scratch/data.csv",  "slots-1.0",        "successor/notes.txt",
                  "status.json.backup"};
  for (const std::string& name : others) write(name, "theirs");
  Names found = list_run_files(folder_).others;
  std::sort(found.begin(), found.end());
  std::sort(others.begin(), others.end());
  EXPECT_EQ(found, others);
  EXPECT_EQ(list_run_files(folder_ + "/nowhere").results, Names{});
}

}  // namespace
}  // namespace hindsight
