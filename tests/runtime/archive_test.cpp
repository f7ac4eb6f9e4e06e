// Archives give back what was written, or say what was not.
#include "runtime/archive.hpp"

#include <cmath>
#include <random>

#include "runtime/error.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

constexpr std::uint64_t version = 3;

Bytes example() {
  ArchiveWriter writer(version);
  writer.begin("position");
  writer.write(std::int64_t{-5});
  writer.write(std::uint64_t{0xffffffffffffffff});
  writer.write(true);
  writer.write(17);
  writer.end();
  writer.begin("optimiser");
  writer.write("lbfgs");
  writer.begin("pairs");
  writer.write(std::vector<double>{1.5, -0.0, INFINITY, 5e-324});
  writer.write(std::vector<std::string>{"a", "", "long text"});
  writer.write(std::vector<int>{3, -4});
  writer.write(std::vector<std::uint32_t>{});
  writer.end();
  writer.write(0.1);
  writer.end();
  const ByteView bytes = writer.bytes();
  return {bytes.begin(), bytes.end()};
}

void read_example(ArchiveReader& reader) {
  reader.begin("position");
  EXPECT_EQ(reader.get<std::int64_t>(), -5);
  EXPECT_EQ(reader.get<std::uint64_t>(), 0xffffffffffffffff);
  EXPECT_EQ(reader.get<bool>(), true);
  EXPECT_EQ(reader.get<int>(), 17);
  reader.end();
  reader.begin("optimiser");
  EXPECT_EQ(reader.get<std::string>(), "lbfgs");
  reader.begin("pairs");
  const auto doubles = reader.get<std::vector<double>>();
  EXPECT_EQ(doubles, (std::vector<double>{1.5, -0.0, INFINITY, 5e-324}));
  EXPECT_TRUE(std::signbit(doubles.at(1)));
  EXPECT_EQ(reader.get<std::vector<std::string>>(), (std::vector<std::string>{"a", "", "long text"}));
  EXPECT_EQ(reader.get<std::vector<int>>(), (std::vector<int>{3, -4}));
  EXPECT_TRUE(reader.get<std::vector<std::uint32_t>>().empty());
  reader.end();
  EXPECT_EQ(reader.get<double>(), 0.1);
  reader.end();
  EXPECT_TRUE(reader.is_at_end());
}

template <class Work>
std::string problem(Work work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::resource);
    return error.what();
  }
  return "";
}

TEST(Archive, GivesBackAllBits) {
  const Bytes bytes = example();
  ArchiveReader reader(bytes, version, "journal");
  read_example(reader);
}

TEST(Archive, KeepsTheBitsOfNan) {
  const double nan = std::bit_cast<double>(std::uint64_t{0x7ff8000000abcdef});
  ArchiveWriter writer(version);
  writer.write(nan);
  ArchiveReader reader(writer.bytes(), version, "journal");
  EXPECT_EQ(std::bit_cast<std::uint64_t>(reader.get<double>()), 0x7ff8000000abcdef);
}

TEST(Archive, IsWrittenAgainInTheSameMemory) {
  ArchiveWriter writer(version);
  writer.write(std::vector<double>(1000));
  const std::byte* const memory = writer.bytes().data();
  writer.restart();
  writer.write(std::vector<double>(1000, 1.0));
  EXPECT_EQ(writer.bytes().data(), memory);
}

TEST(Archive, AMismatchNamesTheSection) {
  const Bytes bytes = example();
  const auto reader = [&] { return ArchiveReader(bytes, version, "run/journal.0"); };
  EXPECT_EQ(problem([&] { ArchiveReader(bytes, 4, "run/journal.0"); }),
            "'run/journal.0': it has version 3; this program reads version 4");
  EXPECT_EQ(problem([&] { reader().begin("place"); }),
            "'run/journal.0': section 'place' is missing; 'position' takes its place");
  EXPECT_EQ(problem([&] {
              ArchiveReader r = reader();
              r.begin("position");
              r.get<double>();
            }),
            "'run/journal.0': section 'position': expected a double, found an integer");
  EXPECT_EQ(problem([&] {
              ArchiveReader r = reader();
              r.begin("position");
              r.end();
            }),
            "'run/journal.0': section 'position': it holds more than was expected");
}

TEST(Archive, AMismatchInASectionInASectionNamesBoth) {
  ArchiveWriter writer(version);
  writer.begin("optimiser");
  writer.begin("pairs");
  writer.write(std::vector<double>(3));
  writer.write(300);
  writer.end();
  writer.end();
  ArchiveReader reader(writer.bytes(), version, "j");
  reader.begin("optimiser");
  reader.begin("pairs");
  std::vector<double> two(2), three(3);
  EXPECT_EQ(problem([&] { ArchiveReader(reader).read(std::span<double>(two)); }),
            "'j': section 'optimiser/pairs': expected 2 doubles, found 3");
  reader.read(std::span<double>(three));
  EXPECT_EQ(problem([&] { ArchiveReader(reader).get<signed char>(); }),
            "'j': section 'optimiser/pairs': the number 300 is too large");
  EXPECT_EQ(reader.get<short>(), 300);
  EXPECT_EQ(problem([&] { reader.get<int>(); }), "'j': section 'optimiser/pairs': expected an integer, found its end");
}

/// Reads whatever may stand in a damaged archive, by the order of the example or a random one.
void read_anything(const Bytes& bytes, std::mt19937_64& random) {
  ArchiveReader reader(bytes, version, "journal");
  const char* const names[] = {"position", "optimiser", "pairs"};
  for (int i = 0; i < 30; ++i) {
    switch (random() % 9) {
      case 0:
        reader.begin(names[random() % 3]);
        break;
      case 1:
        reader.get<int>();
        break;
      case 2:
        reader.get<std::uint64_t>();
        break;
      case 3:
        reader.get<std::vector<double>>();
        break;
      case 4:
        reader.get<std::vector<std::string>>();
        break;
      case 5:
        reader.get<std::vector<bool>::size_type>();
        break;
      case 6:
        reader.get<std::string>();
        break;
      case 7:
        reader.get<std::vector<std::int64_t>>();
        break;
      default:
        reader.get<double>();
    }
  }
}

TEST(Archive, RandomBytesNeverCrash) {
  std::mt19937_64 random(1);
  const Bytes whole = example();
  for (int trial = 0; trial < 20000; ++trial) {
    Bytes bytes = whole;
    if (trial % 2 == 0) bytes.resize(16 + random() % (bytes.size() - 16));
    const std::size_t kept = trial % 3 == 0 ? 16 : 0;  // the head, so that what follows is read
    const std::size_t changes = trial % 5 == 0 ? bytes.size() : 1 + random() % 4;
    for (std::size_t i = 0; i < changes && bytes.size() > kept; ++i)
      bytes[kept + random() % (bytes.size() - kept)] = static_cast<std::byte>(random());
    problem([&] { read_anything(bytes, random); });
    problem([&] {
      ArchiveReader reader(bytes, version, "journal");
      reader.begin("position");
      reader.get<std::int64_t>();
      reader.get<std::uint64_t>();
      reader.get<bool>();
      reader.get<int>();
      reader.end();
      reader.begin("optimiser");
      reader.get<std::string>();
      reader.begin("pairs");
      reader.get<std::vector<double>>();
      reader.get<std::vector<std::string>>();
    });
  }
}

}  // namespace
}  // namespace hindsight
