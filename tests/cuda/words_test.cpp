// States that become words on a device: the bytes stored and the states that come back are those of the host's codecs.
#include <fmt/format.h>

#include <bit>
#include <functional>
#include <limits>

#include "adjoint/store/codecs/codecs.hpp"
#include "adjoint/store/slot_tier.hpp"
#include "runtime/cuda/device.hpp"
#include "runtime/emulated/emulated_device.hpp"
#include "tests/store/rows.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

using Fill = std::function<double(std::int64_t)>;

/// Three padded fields of odd sizes.
StateShape padded_shape(std::int64_t x, std::int64_t y, std::int64_t z) {
  constexpr std::int64_t ghosts = 2;
  const std::int64_t stride_y = x + 2 * ghosts, stride_z = stride_y * (y + 2 * ghosts);
  return shape_of_fields(3, {x, y, z}, ghosts * (stride_z + stride_y + 1), stride_y, stride_z,
                         stride_z * (z + 2 * ghosts) + 5);
}

/// Memory, and what it was told about a slot.
class Told final : public Medium {
 public:
  Told(std::int64_t pages, std::int64_t page_bytes, SlotLabel& label) : memory_(pages, page_bytes), label_(label) {}
  std::int64_t pages() const override { return memory_.pages(); }
  std::int64_t page_bytes() const override { return memory_.page_bytes(); }
  void write(std::int64_t offset, const void* from, std::int64_t bytes) override { memory_.write(offset, from, bytes); }
  void read(std::int64_t offset, void* to, std::int64_t bytes) override { memory_.read(offset, to, bytes); }
  void label(std::int64_t, const SlotLabel& label) override { label_ = label; }
  void link(std::int64_t, std::int64_t) override {}
  void flush() override {}
  double* memory() const override { return nullptr; }
  bool outlives_process() const override { return false; }
  std::string description() const override { return memory_.description(); }

 private:
  MemoryMedium memory_;
  SlotLabel& label_;
};

struct Kept {
  SlotLabel label;
  std::vector<std::uint64_t> cells;  // bits of the owned cells that came back
};

Kept through_a_slot(const CodecSettings& settings, const StateShape& shape, const Fill& fill, Machine& machine) {
  constexpr std::int64_t page = 4096;
  Kept kept;
  const auto codec = make_codec(settings);
  const bool has_words = SlotTier::has_device_words(shape, codec.get(), machine);
  EXPECT_EQ(has_words, !machine.is_host() && !settings.difference);
  std::shared_ptr<device::Program> program;
  if (has_words) program = machine.load(words_program().text, words_program().kernels, test::self());
  std::vector<double> state(static_cast<std::size_t>(shape.padded_doubles));
  for (std::size_t i = 0; i < state.size(); ++i) state[i] = fill(static_cast<std::int64_t>(i));
  Pool pool(4, shape.padded_doubles, machine);
  const std::int64_t before = machine.is_host() ? 0 : machine.account()->used();
  SlotTier tier({.slots = 1, .queue = 1, .prefetch = 1}, shape,
                std::make_unique<Told>(codec->bound(shape) / page + 2, page, kept.label), codec,
                std::make_shared<TransferThreads>(1), machine, program);
  if (!machine.is_host()) {
    EXPECT_EQ(machine.account()->used() - before, SlotTier::device_scratch_bytes(shape, codec.get(), 1, machine));
  }
  Buffer buffer = pool.acquire();
  machine.copy(buffer.data(), state.data(), shape.padded_doubles);
  tier.save(0, buffer, 7);
  tier.finish();
  machine.clear(buffer.data(), shape.padded_doubles);
  buffer.reset();
  const Buffer back = tier.load(0, pool);
  EXPECT_TRUE(static_cast<bool>(back)) << tier.problem();
  if (!back) return kept;
  const std::vector<double> values = machine.values(back.data(), shape.padded_doubles);
  for (const std::int64_t row : test::rows_of(shape))
    for (std::int64_t i = row; i < row + shape.arrays.front().cells[0]; ++i)
      kept.cells.push_back(std::bit_cast<std::uint64_t>(values[static_cast<std::size_t>(i)]));
  return kept;
}

/// Emulated ones, and one that is there.
std::vector<std::unique_ptr<Machine>> machines() {
  std::vector<std::unique_ptr<Machine>> all;
  all.push_back(emulated::open_machine());
  all.push_back(emulated::open_machine({.order = emulated::Order::backwards}));
  if (cuda::report().devices > 0) all.push_back(test::device(test::self()));
  return all;
}

void expect_the_hosts(const CodecSettings& settings, const StateShape& shape, const Fill& fill) {
  SCOPED_TRACE(fmt::format("{} {} {}", settings.kind, settings.then, settings.tolerance));
  const Kept host = through_a_slot(settings, shape, fill, Machine::host());
  for (const auto& machine : machines()) {
    const Kept device = through_a_slot(settings, shape, fill, *machine);
    EXPECT_EQ(device.label.bytes, host.label.bytes);
    EXPECT_EQ(device.label.checksum, host.label.checksum);
    EXPECT_EQ(device.cells, host.cells);
  }
}

std::vector<CodecSettings> settings() {
  std::vector<CodecSettings> all = {{.kind = "float32"}, {.kind = "bfloat16"}};
  for (const char* then : {"lz4", "zstd"})
    for (const char* kind : {"float32", "bfloat16"}) all.push_back({.kind = kind, .then = then});
  for (const double tolerance : {1e-2, 1e-6, 0x1p-30, 1e-11, 0x1p-48})
    all.push_back({.kind = "quantised", .tolerance = tolerance});
  return all;
}

double smooth(std::int64_t i) {
  return 1.0 + std::sin(1e-2 * static_cast<double>(i));
}

/// Of all magnitudes from 2^-1074 to 2^125, many halfway between two shorter numbers.
double of_all_sizes(std::int64_t i) {
  std::uint64_t bits = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U;
  bits ^= bits >> 29U;
  if (i % 3 == 0) bits &= ~std::uint64_t{0xfffffff};                                         // ties of float32
  if (i % 3 == 1) bits = (bits & ~std::uint64_t{0x1fffffffffff}) | std::uint64_t{1} << 44U;  // of bfloat16
  const double value = std::bit_cast<double>((bits & ~(std::uint64_t{0x7ff} << 52U)) | bits % 1148U << 52U);
  return value;
}

TEST(DeviceWords, GiveTheBytesAndStatesOfTheHost) {
  for (const CodecSettings& s : settings()) {
    expect_the_hosts(s, padded_shape(37, 5, 3), smooth);
    expect_the_hosts(s, padded_shape(37, 29, 17), of_all_sizes);
    expect_the_hosts(s, padded_shape(301, 1, 1), [](std::int64_t i) { return -1e-9 * smooth(3 * i); });
    expect_the_hosts(s, padded_shape(33, 2, 1), [](std::int64_t) { return 0.0; });
  }
}

/// One field cannot be kept in words, so that the whole state comes as it is.
TEST(DeviceWords, LeaveToTheHostWhatTheyCannotHold) {
  const StateShape shape = padded_shape(37, 5, 3);
  const std::int64_t last_row = test::rows_of(shape)[2 * 5 * 3 - 1];  // of the second field
  for (const double value : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN(), 1e300, 0x1.fffffffp127})
    for (const CodecSettings& s : settings())
      expect_the_hosts(s, shape, [&](std::int64_t i) { return i == last_row + 36 ? value : smooth(i); });
}

/// States that need a reference come as they are.
TEST(DeviceWords, AreNotMadeOfDifferences) {
  expect_the_hosts({.kind = "float32", .then = "zstd", .difference = true}, padded_shape(37, 5, 3), smooth);
}

}  // namespace
}  // namespace hindsight
