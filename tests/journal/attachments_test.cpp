// What every epoch has under names.
#include "io/journal/attachments.hpp"

#include "io/journal/block_entries.hpp"
#include "tests/journal/grid_values.hpp"

namespace hindsight {
namespace {

/// What a process has that goes on from an epoch with these attachments.
Attachments passed_on(const Attachments& attachments) {
  const Grid grid = test::line(test::self());
  ArchiveWriter to(BlockEntries::version);
  const BlockWriter head(to, grid);
  attachments.save(to);
  ArchiveReader archive(to.bytes(), BlockEntries::version, "an epoch");
  BlockReader from({&archive}, grid);
  Attachments next;
  next.restore(from);
  EXPECT_TRUE(archive.is_at_end());
  return next;
}

TEST(AttachmentsOfEpochs, AreReadByTheirNames) {
  int steps = 1;
  Attachments first;
  first.attach("output", [&](ArchiveWriter& to) { to.write(steps); });
  first.attach("plan", [](ArchiveWriter& to) { to.write(std::vector<double>{0.5, 0.25}); });
  steps = 42;
  const Attachments next = passed_on(first);
  int read = 0;
  EXPECT_TRUE(next.read("output", [&](ArchiveReader& from) { from.read(read); }));
  EXPECT_EQ(read, 42) << "what is so when the epoch is written";
  std::vector<double> numbers;
  EXPECT_TRUE(next.read("plan", [&](ArchiveReader& from) { from.read(numbers); }));
  EXPECT_EQ(numbers, (std::vector<double>{0.5, 0.25}));
  EXPECT_FALSE(next.read("codec", [](ArchiveReader&) { FAIL(); }));
}

TEST(AttachmentsOfEpochs, AreNotPassedOnUnlessAttachedAgain) {
  Attachments first;
  first.attach("output", [](ArchiveWriter& to) { to.write(1); });
  Attachments second = passed_on(first);
  second.attach("plan", [](ArchiveWriter& to) { to.write(2); });
  const Attachments third = passed_on(second);
  EXPECT_FALSE(third.read("output", [](ArchiveReader&) { FAIL(); }));
  EXPECT_TRUE(third.read("plan", [](ArchiveReader& from) { EXPECT_EQ(from.get<int>(), 2); }));
}

TEST(AttachmentsOfEpochs, OfAnotherShapeAreRefusedByName) {
  Attachments first;
  first.attach("plan", [](ArchiveWriter& to) { to.write(1); });
  const Attachments next = passed_on(first);
  const std::string problem =
      test::resource_problem([&] { next.read("plan", [](ArchiveReader& from) { from.get<double>(); }); });
  EXPECT_NE(problem.find("the journal's plan"), std::string::npos) << problem;
}

}  // namespace
}  // namespace hindsight
