// Sums over shots follow one tree, whatever the order in which shots are done.
#include "adjoint/shots/tree_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace hindsight {
namespace {

/// The sum as it is written: "((0+1)+2)".
struct Written {
  std::string text;
  Written& operator+=(const Written& other) {
    text = "(" + text + "+" + other.text + ")";
    return *this;
  }
};

std::string written(const std::vector<std::size_t>& order, const std::vector<std::size_t>& left_out = {}) {
  TreeSum<Written> sum(order.size());
  for (const std::size_t i : order) {
    EXPECT_FALSE(sum.is_complete());
    if (std::ranges::find(left_out, i) != left_out.end())
      sum.leave_out(i);
    else
      sum.add(i, {std::to_string(i)});
  }
  EXPECT_TRUE(sum.is_complete());
  const auto result = sum.take();
  return result ? result->text : "nothing";
}

std::vector<std::size_t> in_order(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST(TreeSum, IsTheTreeThatItSays) {
  EXPECT_EQ(written(in_order(1)), "0");
  EXPECT_EQ(written(in_order(2)), "(0+1)");
  EXPECT_EQ(written(in_order(3)), "((0+1)+2)");
  EXPECT_EQ(written(in_order(7)), "(((0+1)+(2+3))+((4+5)+6))");
}

TEST(TreeSum, DoesNotShowTheOrder) {
  std::mt19937 random(1);
  for (std::size_t count = 1; count <= 40; ++count) {
    std::vector<std::size_t> order = in_order(count);
    const std::string expected = written(order);
    for (int trial = 0; trial < 20; ++trial) {
      std::shuffle(order.begin(), order.end(), random);
      EXPECT_EQ(written(order), expected);
    }
  }
}

TEST(TreeSum, LeavesParts) {
  EXPECT_EQ(written({3, 0, 2, 1}, {2}), "((0+1)+3)");
  EXPECT_EQ(written({3, 0, 2, 1}, {0, 1}), "(2+3)");
  EXPECT_EQ(written({1, 0}, {0, 1}), "nothing");
  EXPECT_EQ(written({4, 3, 2, 1, 0}, {4}), "((0+1)+(2+3))");
}

TEST(TreeSum, KeepsFewPartsThatComeInOrder) {
  for (const std::size_t count : {1U, 5U, 64U, 1000U}) {
    TreeSum<Written> sum(count);
    std::size_t most = 0;
    for (std::size_t i = 0; i < count; ++i) {
      sum.add(i, {"x"});
      most = std::max(most, sum.waiting());
    }
    EXPECT_LE(static_cast<double>(most), std::log2(static_cast<double>(count)) + 1);
  }
}

}  // namespace
}  // namespace hindsight
