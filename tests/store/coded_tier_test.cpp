// Coded states through a slow tier: every codec, more slots than pages would hold uncoded.
#include <gtest/gtest.h>

#include <cmath>

#include "adjoint/store/codecs/codecs.hpp"
#include "adjoint/store/slot_tier.hpp"
#include "tests/store/rows.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t side = 96, ghosts = 2, slots = 12;

/// Two padded fields.
StateShape padded_shape() {
  constexpr std::int64_t stride = side + 2 * ghosts;
  return shape_of_fields(2, {side, side, 1}, ghosts * stride + ghosts, stride, stride * stride, stride * stride);
}

double value_of(std::int64_t step, std::int64_t i) {
  return 2 + std::sin(0.01 * static_cast<double>(i) + static_cast<double>(step));
}

Buffer state_of(std::int64_t step, Pool& pool) {
  Buffer state = pool.acquire();
  for (std::int64_t i = 0; i < padded_shape().padded_doubles; ++i) state.data()[i] = value_of(step, i);
  return state;
}

double largest_error(const StateShape& shape, std::int64_t step, const double* state) {
  double largest = 0.0;
  for (const std::int64_t row : test::rows_of(shape))
    for (std::int64_t i = row; i < row + side; ++i)
      largest = std::max(largest, std::fabs(state[i] - value_of(step, i)));
  return largest;
}

void expect_kept(const CodecSettings& settings, std::int64_t states_of_pages, double error) {
  SCOPED_TRACE(settings.kind);
  const StateShape shape = padded_shape();
  constexpr std::int64_t page = 16384;
  const auto codec = make_codec(settings);
  const std::int64_t pages = states_of_pages * ((codec->bound(shape) + page - 1) / page);
  constexpr int queue = 2, prefetch = 2;
  Pool pool(queue + prefetch + 3, shape.padded_doubles);
  SlotTier tier({.slots = slots, .queue = queue, .prefetch = prefetch}, shape,
                std::make_unique<MemoryMedium>(pages, page), codec, std::make_shared<TransferThreads>(2));
  for (std::int64_t slot = 0; slot < slots; ++slot) tier.save(slot, state_of(slot, pool), slot);
  for (std::int64_t slot = slots - 1; slot >= 0; --slot) {
    const Buffer state = tier.load(slot, pool);
    ASSERT_TRUE(static_cast<bool>(state)) << tier.problem();
    EXPECT_LE(largest_error(shape, slot, state.data()), error);
    tier.release(slot);
  }
  EXPECT_EQ(tier.traffic().lost + tier.traffic().damaged, 0);
  EXPECT_LT(tier.traffic().bytes_written, slots * shape.bytes());
}

TEST(CodedTier, LosslessStatesComeBackBitByBit) {
  for (const char* kind : {"lz4", "zstd"}) expect_kept({.kind = kind}, slots, 0.0);
}

TEST(CodedTier, LossyStatesComeBackWithinTheirErrorFromFewerPages) {
  expect_kept({.kind = "float32"}, slots / 2 + 1, 3 * 0x1p-24);
  expect_kept({.kind = "bfloat16", .then = "zstd"}, slots / 3, 3 * 0x1p-8);
  expect_kept({.kind = "quantised", .tolerance = 1e-4}, slots / 3, 3e-4);
  expect_kept({.kind = "zfp", .tolerance = 1e-4}, slots / 3, 3e-4);
}

}  // namespace
}  // namespace hindsight
