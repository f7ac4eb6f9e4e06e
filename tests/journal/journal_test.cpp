// A journal gives back what was committed, whatever happens to its file.
#include "io/journal/journal.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/error.hpp"
#include "tests/journal/payloads.hpp"
#include "tests/journal/power_loss.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

using test::some_payload;

/// Of an epoch of a journal; a journal begins with an empty one.
Bytes payload_of(std::int64_t epoch, std::uint64_t seed) {
  return epoch == 0 ? Bytes{} : some_payload(seed + static_cast<std::uint64_t>(epoch));
}

/// A folder on a real disk, removed at the end.
class RealJournal : public testing::Test {
 protected:
  RealJournal() { std::filesystem::create_directories(folder_); }
  ~RealJournal() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/journal"; }
  std::string content() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void set_content(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }
  /// A new journal with epochs 1 to `last`.
  Journal commit_new(std::int64_t last, std::uint64_t seed = 0) {
    Journal journal = Journal::create(files_, path());
    for (std::int64_t epoch = 1; epoch <= last; ++epoch) journal.commit(epoch, payload_of(epoch, seed));
    return journal;
  }
  /// The message of the error that opening ends with.
  std::string problem() {
    try {
      Journal::open(files_, path());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::resource);
      return error.what();
    }
    return "";
  }
  PosixFileSystem files_;

 private:
  std::string folder_ = testing::TempDir() + "journal";
};

TEST_F(RealJournal, GivesBackTheLastTwoEpochs) {
  EXPECT_FALSE(Journal::open(files_, path()));
  commit_new(7);
  const std::optional<Journal> journal = Journal::open(files_, path(), OpenMode::read_only);
  ASSERT_TRUE(journal);
  EXPECT_EQ(journal->epochs(), (std::vector<std::int64_t>{7, 6}));
  EXPECT_EQ(journal->load(7), some_payload(7));
  EXPECT_EQ(journal->load(6), some_payload(6));
  EXPECT_EQ(journal->damage(), "");
  EXPECT_FALSE(std::filesystem::exists(path() + ".partial"));
}

TEST_F(RealJournal, BeginsWithAnEmptyEpoch) {
  Journal::create(files_, path());
  const std::optional<Journal> journal = Journal::open(files_, path());
  ASSERT_TRUE(journal);
  EXPECT_EQ(journal->epochs(), std::vector<std::int64_t>{0});
  EXPECT_TRUE(journal->load(0).empty());
}

TEST_F(RealJournal, BeginsWithTheEpochOfAnother) {
  Journal::create(files_, path(), 7, some_payload(7)).commit(8, some_payload(8));
  const std::optional<Journal> journal = Journal::open(files_, path());
  ASSERT_TRUE(journal);
  EXPECT_EQ(journal->epochs(), (std::vector<std::int64_t>{8, 7}));
  EXPECT_EQ(journal->load(7), some_payload(7));
  EXPECT_EQ(journal->load(8), some_payload(8));
}

TEST_F(RealJournal, EpochsFollowOneAnother) {
  Journal journal = Journal::create(files_, path());
  EXPECT_THROW(journal.commit(2, {}), Error);
  journal.commit(1, {});
  EXPECT_THROW(journal.commit(1, {}), Error);
  EXPECT_THROW(journal.load(2), Error);
}

TEST_F(RealJournal, StaysAsSmallAsThreePayloads) {
  Journal journal = Journal::create(files_, path());
  const Bytes large(20000);
  for (std::int64_t epoch = 1; epoch <= 50; ++epoch)
    journal.commit(epoch, ByteView(large).first(static_cast<std::size_t>(400 * epoch)));
  EXPECT_LE(content().size(), 8192u + 3u * 20480u);
}

TEST_F(RealJournal, AnEpochThatWasRolledBackNeverComesBack) {
  commit_new(4).roll_back(3);
  std::optional<Journal> journal = Journal::open(files_, path());
  EXPECT_EQ(journal->epochs(), std::vector<std::int64_t>{3});
  journal->roll_back(3);
  journal->commit(4, some_payload(14));
  EXPECT_EQ(journal->load(4), some_payload(14));
  EXPECT_EQ(journal->load(3), some_payload(3));
}

TEST_F(RealJournal, DamageIsNamed) {
  Journal::create(files_, path());
  const std::string whole = content();
  set_content(whole.substr(0, 5000));
  EXPECT_EQ(problem(), "");  // the second header was never written; the first needs no payload
  set_content("");
  EXPECT_NE(
      problem().find("journal' is damaged: first block: the file ends within its header; second block: the file ends"),
      std::string::npos)
      << problem();
  set_content(std::string(whole.size(), 'x'));
  EXPECT_NE(problem().find("first block: it has no header; second block: it has no header"), std::string::npos)
      << problem();
  std::string flipped = whole;
  flipped[17] ^= 1;
  set_content(flipped);
  EXPECT_NE(problem().find("first block: its header's checksum is wrong; second block: it is empty"), std::string::npos)
      << problem();
}

/// All bits of headers are hit in some of the trials, since half of the flips fall there.
std::string damaged(std::string bytes, std::mt19937_64& random) {
  if (random() % 4 == 0) return bytes.substr(0, random() % bytes.size());
  const std::size_t flips = 1 + random() % 3;
  for (std::size_t i = 0; i < flips; ++i) {
    const std::size_t header = 4096 * (random() % 2) + random() % 56;
    const std::size_t at = random() % 2 == 0 ? header : random() % bytes.size();
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
  }
  return bytes;
}

TEST_F(RealJournal, FlippedBitsAndTruncationsNeverGiveWrongContent) {
  std::mt19937_64 random(3);
  int newest = 0, previous = 0, named = 0;
  for (std::uint64_t made = 0; made < 20; ++made) {
    const auto last = static_cast<std::int64_t>(1 + made % 5);
    commit_new(last, 100 * made);
    const std::string whole = content();
    for (int trial = 0; trial < 50; ++trial) {
      set_content(damaged(whole, random));
      try {
        const std::optional<Journal> journal = Journal::open(files_, path());
        ASSERT_TRUE(journal);
        ASSERT_TRUE(journal->newest() == last || journal->newest() == last - 1) << journal->newest();
        ++(journal->newest() == last ? newest : previous);
        for (const std::int64_t epoch : journal->epochs())
          ASSERT_EQ(journal->load(epoch), payload_of(epoch, 100 * made));
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ExitCode::resource);
        ASSERT_NE(std::string(error.what()).find(path()), std::string::npos) << error.what();
        ++named;
      }
    }
  }
  EXPECT_GT(newest, 50);
  EXPECT_GT(previous, 50);
  EXPECT_GT(named, 50);
}

/// Commits until the power fails.
struct History {
  std::map<std::int64_t, Bytes> committed;  // by their number, the last under each
  std::int64_t returned = -1;               // the newest whose commit returned; 0: the journal was made
  std::int64_t begun = -1;

  void commit(Journal& journal, std::uint64_t seed) {
    begun = journal.newest() + 1;
    committed[begun] = some_payload(seed);
    journal.commit(begun, committed[begun]);
    returned = begun;
  }
};

TEST(PowerLoss, LeavesAConsistentEpochThatIsNotOlderThanTheLastCommitted) {
  int crashes = 0;
  std::map<std::int64_t, int> outcomes;  // epochs that came after the last that returned
  for (std::uint64_t trial = 0; trial < 125; ++trial) {
    test::FilesInMemory files(trial);
    History history;
    for (int life = 0; life < 4; ++life, ++crashes) {
      files.disk().fail_at(static_cast<std::int64_t>(files.disk().draw(40)));
      try {
        std::optional<Journal> journal = Journal::open(files, "run/journal");
        if (!journal) {
          ASSERT_LT(history.returned, 0);
          journal = Journal::create(files, "run/journal");
          history = {{{0, {}}}, 0, 0};
        }
        if (life == 2 && journal->epochs().size() == 2) {
          history.begun = journal->newest();
          history.returned = history.begun - 1;
          journal->roll_back(history.returned);
        }
        for (std::uint64_t seed = 1000 * trial + 100 * static_cast<std::uint64_t>(life);; ++seed)
          history.commit(*journal, seed);
      } catch (const test::PowerLoss&) {
      }
      files.disk().restart();
      const std::optional<Journal> journal = Journal::open(files, "run/journal");
      if (!journal) {
        ASSERT_LT(history.returned, 0) << "trial " << trial;
        continue;
      }
      if (history.returned < 0) history = {{{0, {}}}, 0, 0};
      ASSERT_GE(journal->newest(), history.returned) << "trial " << trial;
      ASSERT_LE(journal->newest(), history.begun) << "trial " << trial;
      if (journal->newest() < history.begun) {  // its header has not come before its payload
        ASSERT_EQ(journal->damage().find("epoch " + std::to_string(history.begun)), std::string::npos)
            << journal->damage();
      }
      ++outcomes[journal->newest() - history.returned];
      for (const std::int64_t epoch : journal->epochs())
        ASSERT_EQ(journal->load(epoch), history.committed.at(epoch)) << "trial " << trial << ", epoch " << epoch;
      history.returned = history.begun = journal->newest();
    }
  }
  EXPECT_EQ(crashes, 500);
  EXPECT_GT(outcomes[0], 100);
  EXPECT_GT(outcomes[1], 10);
}

/// The simulator loses what it should: without flushes, commits do get lost and damaged.
class NeverFlushed final : public FileSystem {
 public:
  explicit NeverFlushed(FileSystem& files) : files_(files) {}
  std::unique_ptr<RawFile> open(const std::string& path, OpenMode mode) override {
    std::unique_ptr<RawFile> file = files_.open(path, mode);
    if (!file) return nullptr;
    return std::make_unique<File>(std::move(file));
  }
  int rename(const std::string& from, const std::string& to) override { return files_.rename(from, to); }
  int remove(const std::string& path) override { return files_.remove(path); }
  int flush_folder_of(const std::string& path) override { return files_.flush_folder_of(path); }

 private:
  struct File final : RawFile {
    explicit File(std::unique_ptr<RawFile> f) : file(std::move(f)) {}
    ssize_t write(const void* from, std::size_t bytes, std::int64_t offset) override {
      return file->write(from, bytes, offset);
    }
    ssize_t read(void* to, std::size_t bytes, std::int64_t offset) override { return file->read(to, bytes, offset); }
    int reserve(std::int64_t offset, std::int64_t bytes) override { return file->reserve(offset, bytes); }
    int flush() override { return 0; }
    std::int64_t size() override { return file->size(); }
    bool is_direct() const override { return false; }
    std::unique_ptr<RawFile> file;
  };
  FileSystem& files_;
};

TEST(PowerLoss, IsNoticedWithoutFlushes) {
  int lost = 0, damaged = 0;
  for (std::uint64_t trial = 0; trial < 50; ++trial) {
    test::FilesInMemory files(trial);
    NeverFlushed unsafe(files);
    Journal journal = Journal::create(unsafe, "journal");
    for (std::int64_t epoch = 1; epoch <= 5; ++epoch) journal.commit(epoch, payload_of(epoch, trial));
    files.disk().restart();
    try {
      lost += Journal::open(unsafe, "journal")->newest() < 5 ? 1 : 0;
    } catch (const ResourceError&) {
      ++damaged;
    }
  }
  EXPECT_GT(lost, 5);
  EXPECT_GT(damaged, 5);
}

TEST(PowerLoss, ACommitThatFailedCanBeTriedAgain) {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    test::FilesInMemory files(trial);
    Journal journal = Journal::create(files, "journal");
    for (std::int64_t epoch = 1; epoch <= 3; ++epoch) journal.commit(epoch, payload_of(epoch, trial));
    files.disk().fail_at(static_cast<std::int64_t>(files.disk().draw(3)));  // a call, not the power
    EXPECT_THROW(journal.commit(4, payload_of(4, trial + 1000)), test::PowerLoss);
    EXPECT_EQ(journal.newest(), 3);
    ASSERT_EQ(journal.load(3), payload_of(3, trial));
    files.disk().fail_at(1000);
    journal.commit(4, payload_of(4, trial + 2000));
    files.disk().restart();
    const std::optional<Journal> found = Journal::open(files, "journal");
    ASSERT_EQ(found->epochs(), (std::vector<std::int64_t>{4, 3}));
    ASSERT_EQ(found->load(4), payload_of(4, trial + 2000));
  }
}

TEST(PowerLoss, CreatingInPlaceOfAnOldJournalLeavesOneOfThem) {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    test::FilesInMemory files(trial);
    const Bytes payload = some_payload(trial);
    Journal::create(files, "journal").commit(1, payload);
    files.disk().fail_at(static_cast<std::int64_t>(files.disk().draw(8)));
    try {
      Journal::create(files, "journal");
    } catch (const test::PowerLoss&) {
    }
    files.disk().restart();
    const std::optional<Journal> journal = Journal::open(files, "journal");
    ASSERT_TRUE(journal);
    ASSERT_EQ(journal->load(journal->newest()), journal->newest() == 1 ? payload : Bytes{});
  }
}

}  // namespace
}  // namespace hindsight
