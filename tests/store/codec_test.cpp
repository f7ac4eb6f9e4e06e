// Codecs of slow tiers: lossless ones keep every bit, lossy ones their bounds; damaged bytes never crash; no call
// allocates.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <vector>

#include "adjoint/store/codecs/codecs.hpp"
#include "adjoint/store/packed_state.hpp"
#include "runtime/error.hpp"
#include "runtime/memory.hpp"
#include "tests/whole.hpp"

namespace {
std::atomic<long> allocations{0};
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool counts_allocations = true;
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* block, std::size_t bytes) {
  ++allocations;
  return __libc_realloc(block, bytes);
}
}
#else
constexpr bool counts_allocations = false;
#endif

namespace hindsight {
namespace {

using Cells = std::vector<double>;
using Fill = std::function<double(std::int64_t)>;

StateShape shape_of(std::int64_t fields, std::int64_t x, std::int64_t y = 1, std::int64_t z = 1) {
  return shape_of_fields(fields, {x, y, z}, 0, x, x * y, x * y * z);
}

const Index3& cells_of(const StateShape& shape) {
  return shape.arrays.front().cells;
}

const std::vector<StateShape>& shapes() {
  static const std::vector<StateShape> all = [] {
    std::vector<StateShape> shapes = {shape_of(1, 1),        shape_of(3, 1),         shape_of(1000, 1),
                                      shape_of(2, 15),       shape_of(2, 16),        shape_of(1, 17),
                                      shape_of(2, 255),      shape_of(1, 257),       shape_of(1, 4099),
                                      shape_of(2, 31, 33),   shape_of(1, 1, 100),    shape_of(1, 1, 1, 33),
                                      shape_of(1, 3, 1, 70), shape_of(2, 9, 11, 13), shape_of(1, 2, 70000)};
    const std::vector<StateShape> large = {shape_of(1, 140000), shape_of(2, 513, 200), shape_of(1, 64, 64, 37)};
    if (test::is_whole()) shapes.insert(shapes.end(), large.begin(), large.end());
    return shapes;
  }();
  return all;
}

double smooth(std::int64_t i) {
  return 1.0 + std::sin(1e-2 * static_cast<double>(i)) * std::cos(3e-5 * static_cast<double>(i));
}

double random_bits(std::int64_t i) {
  std::uint64_t bits = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U;
  bits = (bits ^ bits >> 30U) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ bits >> 27U) * 0x94d049bb133111ebU;
  return std::bit_cast<double>(bits ^ bits >> 31U);  // any number, some of them not
}

double noise(std::int64_t i) {
  return std::sin(12.9898 * static_cast<double>(i)) * 43758.5453;
}

double with_nan(std::int64_t i) {
  return i % 11 == 3 ? std::numeric_limits<double>::quiet_NaN() : smooth(i);
}

double with_infinity(std::int64_t i) {
  return i % 13 == 0 ? (i % 2 ? -1 : 1) * std::numeric_limits<double>::infinity() : smooth(i);
}

const std::vector<std::pair<std::string, Fill>>& fills() {
  static const std::vector<std::pair<std::string, Fill>> all = {
      {"smooth", smooth},
      {"noise", noise},
      {"random bits", random_bits},
      {"constant", [](std::int64_t) { return 0.3; }},
      {"zero", [](std::int64_t) { return 0.0; }},
      {"negative zero", [](std::int64_t i) { return i % 2 ? -0.0 : 0.0; }},
      {"tiny", [](std::int64_t i) { return 1e-310 * smooth(i); }},
      {"small", [](std::int64_t i) { return 1e-290 * smooth(i); }},
      {"huge", [](std::int64_t i) { return 8e307 * smooth(i); }},
      {"wide", [](std::int64_t i) { return std::ldexp(noise(i), static_cast<int>(i % 600) - 300); }},
      {"nan", with_nan},
      {"infinity", with_infinity}};
  return all;
}

Cells cells_of(const StateShape& shape, const Fill& fill) {
  Cells cells(static_cast<std::size_t>(shape.doubles()));
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = fill(static_cast<std::int64_t>(i));
  return cells;
}

std::vector<CodecSettings> lossless_settings() {
  std::vector<CodecSettings> all;
  for (const char* kind : {"lz4", "zstd"})
    for (const bool shuffle : {true, false}) all.push_back({.kind = kind, .shuffle = shuffle});
  return all;
}

std::vector<CodecSettings> demotion_settings(const std::string& kind) {
  std::vector<CodecSettings> all;
  for (const char* then : {"", "lz4", "zstd"}) all.push_back({.kind = kind, .then = then});
  return all;
}

CodecSettings zfp_settings(double tolerance) {
  return {.kind = "zfp", .tolerance = tolerance};
}

CodecSettings quantised_settings(double tolerance, const char* then = "zstd") {
  return {.kind = "quantised", .then = then, .tolerance = tolerance};
}

std::vector<CodecSettings> all_settings() {
  std::vector<CodecSettings> all = lossless_settings();
  for (const char* kind : {"float32", "bfloat16"})
    for (const CodecSettings& settings : demotion_settings(kind)) all.push_back(settings);
  for (const double tolerance : {0.0, 1e-12, 1e-3}) {
    all.push_back(zfp_settings(tolerance));
    all.push_back(quantised_settings(tolerance));
  }
  return all;
}

std::vector<char> encoded(const Codec& codec, const StateShape& shape, const Cells& cells) {
  std::vector<char> bytes(static_cast<std::size_t>(codec.bound(shape)) + 8, 'x');
  const std::int64_t written = codec.coder(shape)->encode(cells.data(), nullptr, bytes.data()).bytes;
  EXPECT_LE(written, codec.bound(shape));
  EXPECT_EQ(std::string(bytes.end() - 8, bytes.end()), "xxxxxxxx") << "written beyond the bound";
  bytes.resize(static_cast<std::size_t>(written));
  return bytes;
}

Cells round_trip(const Codec& codec, const StateShape& shape, const Cells& cells) {
  const std::vector<char> bytes = encoded(codec, shape, cells);
  Cells back(cells.size(), 7.0);
  EXPECT_TRUE(codec.coder(shape)->decode(bytes.data(), static_cast<std::int64_t>(bytes.size()), false, back.data()));
  return back;
}

bool same_bits(const Cells& a, const Cells& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

std::string label(const StateShape& shape, const std::string& fill) {
  return fmt::format("{} fields of {} x {} x {}, {}", shape.arrays.size(), cells_of(shape)[0], cells_of(shape)[1],
                     cells_of(shape)[2], fill);
}

/// check(shape, cells, cells after a round trip)
template <class Check>
void for_all(const CodecSettings& settings, Check check) {
  static std::map<std::string, Cells> made;
  const auto codec = make_codec(settings);
  for (const StateShape& shape : shapes())
    for (const auto& [name, fill] : fills()) {
      SCOPED_TRACE(codec->name() + ": " + label(shape, name));
      Cells& cells = made[label(shape, name)];
      if (cells.empty()) cells = cells_of(shape, fill);
      check(shape, cells, round_trip(*codec, shape, cells));
    }
}

double largest_of(const Cells& cells, std::size_t first, std::size_t count) {
  double largest = 0.0;
  for (std::size_t i = first; i < first + count; ++i)
    largest =
        std::isfinite(cells[i]) ? std::max(largest, std::fabs(cells[i])) : std::numeric_limits<double>::infinity();
  return largest;
}

/// Error of each cell at most bound(cell, largest magnitude of its field); fields that hold what is not finite or
/// beyond `largest` keep their bits.
template <class Bound>
void expect_bounded(const StateShape& shape, const Cells& cells, const Cells& back, double largest, Bound bound) {
  const std::size_t n = cells.size() / shape.arrays.size();
  for (std::size_t first = 0; first < cells.size(); first += n) {
    const double magnitude = largest_of(cells, first, n);
    const bool is_kept = !(magnitude <= largest);
    std::size_t wrong = 0;
    for (std::size_t i = first; i < first + n; ++i) {
      const bool same = std::bit_cast<std::uint64_t>(cells[i]) == std::bit_cast<std::uint64_t>(back[i]);
      if (!same && (is_kept || !(std::fabs(cells[i] - back[i]) <= bound(cells[i], magnitude)))) ++wrong;
    }
    EXPECT_EQ(wrong, 0U) << "of " << n << " cells";
  }
}

TEST(Codecs, NoneIsNoCodecAndOthersAreUnknown) {
  EXPECT_EQ(make_codec({}), nullptr);
  EXPECT_THROW(make_codec({.kind = "zip"}), Error);
  EXPECT_THROW(make_codec({.kind = "float32", .then = "zip"})->coder(shape_of(1, 100)), Error);
  EXPECT_TRUE(make_codec({.kind = "zstd"})->is_lossless());
  EXPECT_FALSE(make_codec({.kind = "float32"})->is_lossless());
  EXPECT_EQ(make_codec({.kind = "bfloat16", .then = "lz4"})->name(), "bfloat16+shuffle+lz4");
  EXPECT_EQ(make_codec({.kind = "zstd", .difference = true})->name(), "difference+shuffle+zstd");
}

TEST(Codecs, LosslessOnesKeepEveryBit) {
  for (const CodecSettings& settings : lossless_settings())
    for_all(settings,
            [](const StateShape&, const Cells& cells, const Cells& back) { EXPECT_TRUE(same_bits(cells, back)); });
}

TEST(Codecs, Float32IsTheNearest) {
  for (const CodecSettings& settings : demotion_settings("float32"))
    for_all(settings, [](const StateShape& shape, const Cells& cells, const Cells& back) {
      expect_bounded(shape, cells, back, 0x1.fffffep127,
                     [](double cell, double) { return std::max(0x1p-24 * std::fabs(cell), 0x1p-150); });
    });
}

TEST(Codecs, Bfloat16IsTheNearest) {
  for (const CodecSettings& settings : demotion_settings("bfloat16"))
    for_all(settings, [](const StateShape& shape, const Cells& cells, const Cells& back) {
      expect_bounded(shape, cells, back, 0x1.fep127,
                     [](double cell, double) { return std::max(0x1p-8 * std::fabs(cell), 0x1.01p-134); });
    });
}

TEST(Codecs, TiesRoundToEven) {
  const StateShape shape = shape_of(1, 20);
  const auto expect = [&](const char* kind, double value, double rounded) {
    const Cells back = round_trip(*make_codec({.kind = kind}), shape, Cells(20, value));
    EXPECT_EQ(back, Cells(20, rounded)) << kind << " of " << value;
  };
  expect("float32", 1 + 0x1p-24, 1);
  expect("float32", 1 + 0x3p-24, 1 + 0x4p-24);
  expect("bfloat16", 1 + 0x1p-8, 1);
  expect("bfloat16", 1 + 0x3p-8, 1 + 0x4p-8);
  expect("bfloat16", 1 + 0x1p-8 + 0x1p-40, 1 + 0x2p-8);  // no tie, though it would be one as a float
  expect("bfloat16", -0x1.ffp3, -16);
  expect("bfloat16", 0x1.fep127, 0x1.fep127);
  expect("bfloat16", 0x1.ffp127, 0x1.ffp127);  // would become infinite: kept
  expect("float32", 1e39, 1e39);
}

/// @param make from a tolerance to settings.
template <class Make>
void expect_tolerances_kept(Make make) {
  for (const double tolerance : test::some_of({2e-14, 1e-12, 1e-7, 1e-5, 1e-3, 0.1, 0.9}, {2e-14, 1e-7, 1e-3, 0.9}))
    for_all(make(tolerance), [&](const StateShape& shape, const Cells& cells, const Cells& back) {
      expect_bounded(shape, cells, back, 1e300, [&](double, double magnitude) { return tolerance * magnitude; });
    });
  for (const double tolerance : {0.0, 1e-17})
    for_all(make(tolerance),
            [](const StateShape&, const Cells& cells, const Cells& back) { EXPECT_TRUE(same_bits(cells, back)); });
}

TEST(Codecs, ZfpKeepsToItsTolerance) {
  expect_tolerances_kept(zfp_settings);
}

TEST(Codecs, QuantisedKeepsToItsTolerance) {
  expect_tolerances_kept([](double tolerance) { return quantised_settings(tolerance); });
  expect_tolerances_kept([](double tolerance) { return quantised_settings(tolerance, "lz4"); });
}

TEST(Codecs, OneFieldIsKeptWhileOthersAreLossy) {
  const StateShape shape = shape_of(2, 64, 64);
  Cells cells = cells_of(shape, smooth);
  cells[5] = std::numeric_limits<double>::infinity();
  for (const CodecSettings& settings :
       {zfp_settings(1e-3), quantised_settings(1e-3), CodecSettings{.kind = "float32"}}) {
    const Cells back = round_trip(*make_codec(settings), shape, cells);
    EXPECT_EQ(std::memcmp(cells.data(), back.data(), 64 * 64 * sizeof(double)), 0);
    EXPECT_NE(std::memcmp(cells.data() + 64 * 64, back.data() + 64 * 64, 64 * 64 * sizeof(double)), 0);
  }
}

CodecSettings with_difference(CodecSettings settings) {
  settings.difference = true;
  return settings;
}

/// With differences, of all kinds that can have them.
std::vector<CodecSettings> difference_settings() {
  std::vector<CodecSettings> all;
  for (const CodecSettings& settings : all_settings()) all.push_back(with_difference(settings));
  return all;
}

struct Difference {
  Cells cells;
  bool needs_reference = false;
  std::size_t bytes = 0;
};

/// Encodes against a reference, as it comes back from the codec, and decodes again.
Difference difference_trip(const Codec& codec, const StateShape& shape, const Cells& cells, Cells reference) {
  const auto coder = codec.coder(shape);
  std::vector<char> bytes(static_cast<std::size_t>(codec.bound(shape)) + 8, 'x');
  const Encoded whole = coder->encode(reference.data(), nullptr, bytes.data());
  EXPECT_FALSE(whole.needs_reference);
  EXPECT_TRUE(coder->decode(bytes.data(), whole.bytes, false, reference.data()));
  std::fill(bytes.begin(), bytes.end(), 'x');
  const Encoded state = coder->encode(cells.data(), reference.data(), bytes.data());
  EXPECT_LE(state.bytes, codec.bound(shape));
  EXPECT_EQ(std::string(bytes.end() - 8, bytes.end()), "xxxxxxxx") << "written beyond the bound";
  Cells back = state.needs_reference ? reference : Cells(cells.size(), 7.0), other(cells.size());
  const auto reader = codec.coder(shape);
  EXPECT_FALSE(reader->decode(bytes.data(), state.bytes, !state.needs_reference, other.data()));
  EXPECT_TRUE(reader->decode(bytes.data(), state.bytes, state.needs_reference, back.data()));
  return {back, state.needs_reference, static_cast<std::size_t>(state.bytes)};
}

/// Like the fill, a little later; each third cell as it was.
Fill later(const Fill& fill) {
  return [fill](std::int64_t i) { return i % 3 == 0 ? fill(i) : fill(i) * (1 + 1e-6 * smooth(7 * i)); };
}

TEST(Codecs, DifferencesGiveTheCellsThatWholeStatesGive) {
  for (const CodecSettings& settings : difference_settings()) {
    if (settings.kind == "zfp") continue;
    const auto codec = make_codec(settings);
    CodecSettings plain = settings;
    plain.difference = false;
    const auto whole = make_codec(plain);
    for (const StateShape& shape :
         {shape_of(3, 1), shape_of(1, 257), shape_of(2, 31, 33), shape_of(2, 9, 11, 13), shape_of(1, 33000)})
      for (const auto& [name, fill] : fills()) {
        SCOPED_TRACE(codec->name() + ": " + label(shape, name));
        const Cells before = cells_of(shape, fill), cells = cells_of(shape, later(fill));
        const Cells wanted = round_trip(*whole, shape, cells);
        for (const Cells& reference : {before, cells, cells_of(shape, random_bits), cells_of(shape, with_nan)})
          EXPECT_TRUE(same_bits(difference_trip(*codec, shape, cells, reference).cells, wanted));
      }
  }
}

TEST(Codecs, DifferencesOfZfpKeepToItsTolerance) {
  for (const double tolerance : {2e-14, 1e-7, 1e-3, 0.9}) {
    const auto codec = make_codec(with_difference(zfp_settings(tolerance)));
    for (const StateShape& shape : {shape_of(3, 1), shape_of(2, 31, 33), shape_of(1, 16, 16, 9), shape_of(1, 140000)})
      for (const auto& [name, fill] : fills())
        for (const Fill& before : {fill, Fill(smooth), Fill(with_nan), Fill([](std::int64_t) { return -1e299; })}) {
          SCOPED_TRACE(fmt::format("tolerance {}, {}", tolerance, label(shape, name)));
          const Cells cells = cells_of(shape, later(fill));
          const Cells back = difference_trip(*codec, shape, cells, cells_of(shape, before)).cells;
          expect_bounded(shape, cells, back, 1e300, [&](double, double magnitude) { return tolerance * magnitude; });
        }
  }
}

TEST(Codecs, DifferencesAreTakenWhereTheyAreShorter) {
  const StateShape shape = shape_of(2, 128, 128);
  const Cells rough = cells_of(shape, noise), later_rough = cells_of(shape, later(noise));
  for (const CodecSettings& settings : difference_settings()) {
    const auto codec = make_codec(settings);
    SCOPED_TRACE(codec->name());
    const bool is_compressed =
        settings.kind == "lz4" || settings.kind == "zstd" || settings.kind == "zfp" || settings.kind == "quantised";
    const bool can = settings.shuffle && (is_compressed || !settings.then.empty());
    const Difference like_it = difference_trip(*codec, shape, later_rough, rough);
    const Difference unlike = difference_trip(*codec, shape, rough, cells_of(shape, smooth));
    EXPECT_EQ(like_it.needs_reference, can);
    EXPECT_FALSE(unlike.needs_reference);
    EXPECT_LE(unlike.bytes, encoded(*codec, shape, rough).size());
    if (!can) continue;
    EXPECT_LT(static_cast<double>(like_it.bytes), 0.95 * static_cast<double>(unlike.bytes));
  }
}

/// Bytes that end where the readable memory ends.
class Guarded {
 public:
  explicit Guarded(std::size_t room) : pages_((room + 4095) / 4096 * 4096) {
    memory_ =
        static_cast<char*>(mmap(nullptr, pages_ + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_ + pages_, 4096, PROT_NONE);
  }
  ~Guarded() { munmap(memory_, pages_ + 4096); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  char* put(const std::vector<char>& bytes) {
    char* const begin = memory_ + pages_ - bytes.size();
    std::copy(bytes.begin(), bytes.end(), begin);
    return begin;
  }

 private:
  std::size_t pages_;
  char* memory_;
};

/// Flips a few bits, writes noise over a stretch, or cuts the end off.
std::vector<char> damaged(std::vector<char> bytes, std::mt19937& engine) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(engine()) % n; };
  const std::size_t kind = below(3);
  if (kind == 0)
    for (std::size_t flips = 1 + below(4); flips > 0; --flips)
      bytes[below(bytes.size())] ^= static_cast<char>(1U << below(8));
  if (kind == 1)
    for (std::size_t first = below(bytes.size()), n = 1 + below(64), i = 0; i < n && first + i < bytes.size(); ++i)
      bytes[first + i] = static_cast<char>(engine());
  if (kind == 2) {
    bytes.resize(below(bytes.size()));
    const auto size = static_cast<std::int64_t>(bytes.size());
    if (below(2) == 0 && bytes.size() >= 24) std::memcpy(bytes.data() + 16, &size, sizeof size);  // the header agrees
  }
  return bytes;
}

TEST(Codecs, DamageNeverCrashes) {
  std::mt19937 engine(42);
  for (const CodecSettings& settings : all_settings())
    for (const StateShape& shape : {shape_of(2, 31, 33), shape_of(3, 1), shape_of(2, 9, 11, 13), shape_of(1, 600)}) {
      const auto codec = make_codec(settings);
      const auto coder = codec->coder(shape);
      const std::vector<char> good = encoded(*codec, shape, cells_of(shape, smooth));
      Guarded memory(good.size());
      Cells back(static_cast<std::size_t>(shape.doubles()));
      for (int i = 0; i < 500; ++i) {
        const std::vector<char> bad = damaged(good, engine);
        const bool accepted = coder->decode(memory.put(bad), static_cast<std::int64_t>(bad.size()), false, back.data());
        EXPECT_FALSE(accepted && bad.size() < good.size()) << codec->name() << ": cut off";
      }
      EXPECT_TRUE(coder->decode(memory.put(good), static_cast<std::int64_t>(good.size()), false, back.data()));
      EXPECT_TRUE(same_bits(back, round_trip(*codec, shape, cells_of(shape, smooth)))) << "damage left traces";
    }
}

TEST(Codecs, DamageOfDifferencesNeverCrashes) {
  std::mt19937 engine(43);
  for (const CodecSettings& settings : difference_settings())
    for (const StateShape& shape : {shape_of(2, 31, 33), shape_of(2, 9, 11, 13), shape_of(1, 600)}) {
      const auto codec = make_codec(settings);
      const auto coder = codec->coder(shape);
      const Cells reference = cells_of(shape, noise), cells = cells_of(shape, later(noise));
      std::vector<char> good(static_cast<std::size_t>(codec->bound(shape)));
      const Encoded state = coder->encode(cells.data(), reference.data(), good.data());
      good.resize(static_cast<std::size_t>(state.bytes));
      Guarded memory(good.size());
      for (int i = 0; i < 300; ++i) {
        const std::vector<char> bad = damaged(good, engine);
        Cells back = reference;
        for (const bool has_reference : {true, false}) {
          const bool accepted =
              coder->decode(memory.put(bad), static_cast<std::int64_t>(bad.size()), has_reference, back.data());
          EXPECT_FALSE(accepted && bad.size() < good.size()) << codec->name() << ": cut off";
        }
      }
    }
}

TEST(Codecs, RefuseTheStatesOfOthers) {
  const StateShape shape = shape_of(1, 100), other_shape = shape_of(1, 101);
  const std::vector<char> bytes = encoded(*make_codec({.kind = "zstd"}), shape, cells_of(shape, smooth));
  Cells back(101);
  const auto decodes = [&](const CodecSettings& settings, const StateShape& of) {
    return make_codec(settings)->coder(of)->decode(bytes.data(), static_cast<std::int64_t>(bytes.size()), false,
                                                   back.data());
  };
  EXPECT_TRUE(decodes({.kind = "zstd"}, shape));
  EXPECT_TRUE(decodes({.kind = "zstd", .level = 3}, shape));
  EXPECT_FALSE(decodes({.kind = "zstd"}, other_shape));
  EXPECT_FALSE(decodes({.kind = "lz4"}, shape));
  EXPECT_FALSE(decodes(zfp_settings(1e-3), shape));
}

TEST(Codecs, EncodingAndDecodingAllocateNothing) {
  if (!counts_allocations) GTEST_SKIP() << "allocations are not counted in this build";
  std::vector<CodecSettings> all = all_settings();
  for (const CodecSettings& settings : difference_settings()) all.push_back(settings);
  for (const CodecSettings& settings : all)
    for (const StateShape& shape : {shape_of(2, 513, 200), shape_of(3, 1), shape_of(1, 64, 64, 37)}) {
      const auto codec = make_codec(settings);
      const auto coder = codec->coder(shape);
      std::vector<char> bytes(static_cast<std::size_t>(codec->bound(shape)));
      Cells back(static_cast<std::size_t>(shape.doubles()));
      for (const Fill& fill : {Fill(smooth), Fill(noise), Fill(with_nan)}) {
        const Cells cells = cells_of(shape, fill);
        const long before = allocations;
        const std::int64_t written = coder->encode(cells.data(), nullptr, bytes.data()).bytes;
        const bool is_good = coder->decode(bytes.data(), written, false, back.data());
        const Encoded state = coder->encode(cells.data(), back.data(), bytes.data());
        const bool is_good_again = coder->decode(bytes.data(), state.bytes, state.needs_reference, back.data());
        EXPECT_EQ(allocations, before) << codec->name();
        EXPECT_TRUE(is_good && is_good_again);
      }
    }
}

TEST(Codecs, CoderMemoryIsSmall) {
  const StateShape shape = shape_of(2, 1024, 1024);
  for (const CodecSettings& settings : all_settings()) {
    const std::int64_t bytes = coder_bytes(*make_codec(settings), shape);
    EXPECT_GT(bytes, 0);
    EXPECT_LT(bytes, shape.bytes() / 4) << make_codec(settings)->name();
    const std::int64_t with_references = coder_bytes(*make_codec(with_difference(settings)), shape);
    EXPECT_GE(with_references, bytes);
    EXPECT_LE(with_references, bytes + (1 << 20));
  }
}

/// A few waves that have crossed each other, and their speeds.
Cells smooth_waves(std::int64_t n) {
  Cells cells(static_cast<std::size_t>(2 * n * n));
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(i) / static_cast<double>(n),
                   y = static_cast<double>(j) / static_cast<double>(n);
      const double a = std::hypot(x - 0.4, y - 0.5), b = std::hypot(x - 0.7, y - 0.3);
      cells[static_cast<std::size_t>(j * n + i)] =
          std::exp(-9 * a) * std::sin(30 * a) + std::exp(-4 * b) * std::cos(17 * b);
      cells[static_cast<std::size_t>((n + j) * n + i)] = std::exp(-9 * a) * std::cos(30 * a);
    }
  return cells;
}

template <class Work>
double megabytes_per_second(std::int64_t bytes, Work work) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return 1e-6 * static_cast<double>(bytes) / best;
}

/// Two fields on a grid, and behind them a corner of single precision and a few doubles.
StateShape mixed_shape() {
  StateShape shape = shape_of_fields(2, {31, 33, 1}, 3, 35, 35 * 33, 35 * 33 + 7);
  shape.arrays.push_back({Element::float32, 0, {5, 3, 1}, {}, 2 * (shape.padded_doubles + 8), 6, 18, {}});
  shape.arrays.push_back({Element::float64, 0, {2, 2, 1}, {}, shape.padded_doubles + 8 + 9, 2, 4, {}});
  shape.arrays.push_back({Element::float32, 0, {0, 3, 1}, {}, 0, 0, 0, {}});  // another rank's
  shape.padded_doubles += 8 + 9 + 4;
  return shape;
}

TEST(Codecs, KeepArraysThatDiffer) {
  const StateShape shape = mixed_shape();
  EXPECT_EQ(shape.doubles(), 2 * 31 * 33 + 8 + 4);
  std::vector<double> state(static_cast<std::size_t>(shape.padded_doubles)), back(state.size());
  for (std::size_t i = 0; i < state.size(); ++i) state[i] = std::sin(0.01 * static_cast<double>(i));
  auto* const singles = reinterpret_cast<float*>(state.data()) + shape.arrays[2].origin;
  for (int i = 0; i < 17; ++i) singles[i] = 1.0F / static_cast<float>(3 + i);
  std::vector<CodecSettings> all = lossless_settings();
  for (const CodecSettings& settings : {zfp_settings(1e-3), quantised_settings(1e-3), demotion_settings("float32")[0]})
    all.push_back(settings);
  for (const CodecSettings& settings : all) {
    SCOPED_TRACE(settings.kind);
    const auto codec = make_codec(settings);
    EXPECT_FALSE(codec->words(shape));
    const auto coder = codec->coder(shape);
    Cells cells(static_cast<std::size_t>(shape.doubles())), decoded(cells.size());
    pack(shape, state.data(), 0, shape.doubles(), cells.data());
    std::vector<char> bytes(static_cast<std::size_t>(codec->bound(shape)));
    const std::int64_t written = coder->encode(cells.data(), nullptr, bytes.data()).bytes;
    ASSERT_TRUE(coder->decode(bytes.data(), written, false, decoded.data()));
    const auto others = std::span(cells).subspan(2 * 31 * 33), others_back = std::span(decoded).subspan(2 * 31 * 33);
    EXPECT_EQ(std::memcmp(others.data(), others_back.data(), others.size_bytes()), 0);
    if (codec->is_lossless()) {
      EXPECT_TRUE(same_bits(cells, decoded));
    }
    unpack(shape, decoded.data(), 0, shape.doubles(), back.data());
    const auto* const singles_back = reinterpret_cast<const float*>(back.data()) + shape.arrays[2].origin;
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 5; ++i) EXPECT_EQ(singles_back[i + 6 * j], singles[i + 6 * j]);
  }
}

/// States whose fields are singles: lossless codecs keep their bits, lossy ones their bounds, rounding aside.
TEST(Codecs, TakeStatesOfSingles) {
  StateShape shape = shape_of(2, 31, 33);
  for (StateArray& array : shape.arrays) array.element = Element::float32;
  shape.arrays[1].origin = 2 * ((31 * 33 + 1) / 2);
  shape.padded_doubles = shape.doubles();
  std::vector<double> state(static_cast<std::size_t>(shape.padded_doubles));
  auto* const singles = reinterpret_cast<float*>(state.data());
  for (int i = 0; i < 2 * static_cast<int>(state.size()); ++i) singles[i] = static_cast<float>(smooth(i));
  std::vector<CodecSettings> all = lossless_settings();
  const auto first_lossy = std::ssize(all);
  for (const CodecSettings& settings : {zfp_settings(1e-3), quantised_settings(1e-3), demotion_settings("bfloat16")[0],
                                        demotion_settings("float32")[0]})
    all.push_back(settings);
  for (std::ptrdiff_t s = 0; s < std::ssize(all); ++s) {
    const CodecSettings& settings = all[static_cast<std::size_t>(s)];
    SCOPED_TRACE(settings.kind);
    const auto codec = make_codec(settings);
    const auto coder = codec->coder(shape);
    Cells cells(static_cast<std::size_t>(shape.doubles())), decoded(cells.size());
    pack(shape, state.data(), 0, shape.doubles(), cells.data());
    std::vector<char> bytes(static_cast<std::size_t>(codec->bound(shape)));
    const std::int64_t written = coder->encode(cells.data(), nullptr, bytes.data()).bytes;
    ASSERT_TRUE(coder->decode(bytes.data(), written, false, decoded.data()));
    if (s < first_lossy || settings.kind == "float32") {
      EXPECT_TRUE(same_bits(cells, decoded));
      continue;
    }
    EXPECT_LT(1.9 * static_cast<double>(written), static_cast<double>(shape.bytes()));
    const auto* const back = reinterpret_cast<const float*>(decoded.data());
    const auto* const were = reinterpret_cast<const float*>(cells.data());
    for (std::int64_t i = 0; i < 31 * 33; ++i) ASSERT_LT(std::fabs(back[i] - were[i]), 2.0F * 4.1e-3F) << i;
  }
}

/// However a state is cut into pieces, the pieces are those of the whole.
TEST(PackedState, ComesInPieces) {
  const StateShape shape = mixed_shape();
  std::vector<double> state(static_cast<std::size_t>(shape.padded_doubles));
  for (std::size_t i = 0; i < state.size(); ++i) state[i] = static_cast<double>(i);
  const std::int64_t all = shape.doubles();
  Cells whole(static_cast<std::size_t>(all)), pieces(whole.size());
  pack(shape, state.data(), 0, all, whole.data());
  for (const std::int64_t piece : {1, 7, 31, 1000, 2050}) {
    std::fill(pieces.begin(), pieces.end(), -1.0);
    std::vector<double> back(state.size(), -1.0);
    for (std::int64_t first = 0; first < all; first += piece) {
      const std::int64_t count = std::min(piece, all - first);
      pack(shape, state.data(), first, count, pieces.data() + first);
      unpack(shape, pieces.data() + first, first, count, back.data());
    }
    EXPECT_TRUE(same_bits(pieces, whole)) << piece;
    Cells again(whole.size());
    pack(shape, back.data(), 0, all, again.data());
    EXPECT_TRUE(same_bits(again, whole)) << piece;
  }
}

TEST(Codecs, TakeLittleMemoryForSmallStates) {
  const std::int64_t most = 256 << 10;  // what zstd takes to read, and to write so little
  for (const CodecSettings& settings : lossless_settings())
    EXPECT_LE(coder_bytes(*make_codec(settings), shape_of(2, 1)), most) << settings.kind;
  for (const CodecSettings& settings : demotion_settings("float32"))
    EXPECT_LE(coder_bytes(*make_codec(settings), shape_of(2, 1)), most) << settings.then;
}

/// Prints a line. @returns bytes of the state over bytes of its code.
double measure(const CodecSettings& settings, const StateShape& shape, const Cells& cells) {
  const auto codec = make_codec(settings);
  const auto coder = codec->coder(shape);
  std::vector<char> bytes(static_cast<std::size_t>(codec->bound(shape)));
  Cells back(cells);
  std::int64_t written = 0;
  const double out =
      megabytes_per_second(shape.bytes(), [&] { written = coder->encode(cells.data(), nullptr, bytes.data()).bytes; });
  const double in =
      megabytes_per_second(shape.bytes(), [&] { coder->decode(bytes.data(), written, false, back.data()); });
  double error = 0.0;
  for (std::size_t i = 0; i < cells.size(); ++i) error = std::max(error, std::fabs(cells[i] - back[i]));
  const double ratio = static_cast<double>(shape.bytes()) / static_cast<double>(written);
  const std::string name =
      codec->name() + (settings.tolerance > 0 ? fmt::format(" {:.0e}", settings.tolerance) : std::string());
  fmt::print("{:31} {:7.2f} {:12.0f} {:12.0f} {:12.1e}\n", name, ratio, out, in, error);
  ::testing::Test::RecordProperty(name, fmt::format("ratio {:.2f}, {:.0f} and {:.0f} MB/s", ratio, out, in));
  return ratio;
}

TEST(Codecs, RatiosOnASmoothField) {
  const StateShape shape = shape_of(2, 1024, 1024);
  const Cells cells = smooth_waves(1024);
  fmt::print("{:31} {:>7} {:>12} {:>12} {:>12}\n", "codec", "ratio", "encode MB/s", "decode MB/s", "error");
  for (const CodecSettings& settings : lossless_settings()) EXPECT_GE(measure(settings, shape, cells), 0.999);
  for (const CodecSettings& settings : demotion_settings("float32")) EXPECT_GE(measure(settings, shape, cells), 1.99);
  for (const CodecSettings& settings : demotion_settings("bfloat16")) EXPECT_GE(measure(settings, shape, cells), 3.99);
  EXPECT_GE(measure(zfp_settings(1e-3), shape, cells), 10.0);
  EXPECT_GE(measure(zfp_settings(1e-5), shape, cells), 5.0);
  EXPECT_GE(measure(zfp_settings(1e-7), shape, cells), 3.0);
  EXPECT_GE(measure(quantised_settings(1e-3), shape, cells), 30.0);
  EXPECT_GE(measure(quantised_settings(1e-5), shape, cells), 20.0);
  EXPECT_GE(measure(quantised_settings(1e-7), shape, cells), 8.0);
  EXPECT_GE(measure(quantised_settings(1e-5, "lz4"), shape, cells), 10.0);
}

}  // namespace
}  // namespace hindsight
