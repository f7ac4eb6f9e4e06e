// Tableaux fulfil the order conditions of all rooted trees: those of a method, and of the one embedded in it.
#include "solvers/steppers/explicit/tableau.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "solvers/steppers/implicit/tableaux.hpp"

namespace hindsight {
namespace {

/// A rooted tree by what grows on its root, in an order that counts each tree once.
struct Tree {
  std::vector<int> branches;  ///< indices of trees
  int order = 1;
  double gamma = 1.0;  ///< its density
};

/// Adds to `trees` those whose root has these branches and more, none with a larger index than the last one.
void grow(std::vector<Tree>& trees, const std::vector<int>& branches, int left, int last) {
  if (left == 0) {
    Tree tree{branches};
    for (const int b : branches) tree.order += trees[static_cast<std::size_t>(b)].order;
    tree.gamma = tree.order;
    for (const int b : branches) tree.gamma *= trees[static_cast<std::size_t>(b)].gamma;
    trees.push_back(tree);
    return;
  }
  for (int b = last; b >= 0; --b) {
    if (trees[static_cast<std::size_t>(b)].order > left) continue;
    std::vector<int> more = branches;
    more.push_back(b);
    grow(trees, more, left - trees[static_cast<std::size_t>(b)].order, b);
  }
}

std::vector<Tree> trees_up_to(int order) {
  std::vector<Tree> trees = {{}};
  for (int n = 2; n <= order; ++n) grow(trees, {}, n - 1, static_cast<int>(trees.size()) - 1);
  return trees;
}

/// How far the weights miss 1/gamma of a tree. (Hairer, Norsett, Wanner, Solving ODEs I, theorem II.2.13.)
double defect(const Tableau& t, const std::vector<double>& weights, const std::vector<Tree>& trees, const Tree& tree) {
  std::vector<std::vector<double>> a = t.a;
  a.push_back(t.b);                         // F at the new state
  std::vector<std::vector<double>> values;  // per tree and stage: the product over its branches of sum_j a_ij value_j
  for (std::size_t of = 0; of < trees.size(); ++of) {
    values.emplace_back(weights.size(), 1.0);
    for (std::size_t i = 0; i < weights.size(); ++i)
      for (const int b : trees[of].branches) {
        double sum = 0.0;
        for (std::size_t j = 0; j < a[i].size(); ++j) sum += a[i][j] * values[static_cast<std::size_t>(b)][j];
        values.back()[i] *= sum;
      }
    if (&trees[of] != &tree) continue;
    double sum = 0.0;
    for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * values.back()[i];
    return std::fabs(sum - 1.0 / tree.gamma);
  }
  return 1.0;
}

double largest_defect(const Tableau& t, const std::vector<double>& weights, int order) {
  const std::vector<Tree> trees = trees_up_to(order);
  double largest = 0.0;
  for (const Tree& tree : trees) largest = std::max(largest, defect(t, weights, trees, tree));
  return largest;
}

std::vector<Tableau> all_tableaux() {
  std::vector<Tableau> all = tableaux();
  all.insert(all.end(), diagonal_tableaux().begin(), diagonal_tableaux().end());
  return all;
}

TEST(Tableaux, AreOfTheirOrder) {
  EXPECT_EQ(trees_up_to(5).size(), 17U);
  for (const Tableau& t : all_tableaux()) {
    const double round_off = t.name == "tsit5" ? 4e-14 : 1e-14;  // published with sixteen digits, numbers up to 13
    EXPECT_LT(largest_defect(t, t.b, t.order), round_off) << t.name;
    EXPECT_GT(largest_defect(t, t.b, t.order + 1), 1e-6) << t.name;
    for (std::size_t i = 0; i < t.a.size(); ++i) {
      double sum = 0.0;
      for (const double a : t.a[i]) sum += a;
      EXPECT_NEAR(sum, t.c[i], 1e-14) << t.name;
    }
  }
}

TEST(Tableaux, EmbeddedMethodsAreOfTheirOrder) {
  int pairs = 0;
  for (const Tableau& t : all_tableaux()) {
    if (t.error.empty()) continue;
    ++pairs;
    std::vector<double> embedded = t.b;
    embedded.resize(t.error.size());
    for (std::size_t i = 0; i < embedded.size(); ++i) embedded[i] -= t.error[i];
    EXPECT_LT(largest_defect(t, embedded, t.embedded_order), 1e-14) << t.name;
    EXPECT_GT(largest_defect(t, embedded, t.embedded_order + 1), 1e-5) << t.name;
  }
  EXPECT_EQ(pairs, 6);
}

}  // namespace
}  // namespace hindsight
