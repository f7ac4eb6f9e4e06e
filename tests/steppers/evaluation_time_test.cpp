// How kernels know the time of an evaluation, the series then, and where derivatives with respect to knots go.
#include "solvers/steppers/kernels/evaluation_time.hpp"

#include <gtest/gtest.h>

#include "solvers/steppers/stage_names.hpp"

namespace hindsight {
namespace {

/// One cell, an active series q and another, p, which is not; sums from 3 on. `read` are the scalars that kernels read.
class TimeOfAnEvaluation : public ::testing::Test {
 protected:
  void make(const std::vector<std::string>& read, SeriesReads reads = SeriesReads::values) {
    model.series = {"p", "q"};
    active.series = {"q"};
    for (const std::string& name : read) model.graph->scalar(name);
    time.emplace(model, active, 2, 3, reads);
    series.emplace(model, active);
    grid.emplace(std::vector<Axis>{}, Communicator(MPI_COMM_SELF), std::array<int, 3>{0, 0, 0});
    tables.emplace(*model.graph, *grid, 3 + EvaluationTime::sums(active, reads));
    series->prepare(*grid, {{"p", {0.0, 1.0}, {7.0, 9.0}}, {"q", {0.0, 2.0, 3.0}, {10.0, 20.0, 50.0}}});
    series->bind_sums(0, knots.data());
    one.emplace(KernelLibrary({{"add_to_sums", {}, {{3, weight(0)}, {4, weight(1)}}}}, Boxes::cell,
                              Communicator(MPI_COMM_SELF)));
  }
  Expr weight(int knot) { return model.graph->scalar(StageNames::weight("q", 2, knot)); }
  double scalar(const std::string& name) { return tables->scalar(model.graph->scalar_index(name)); }
  /// What a kernel adds to the knots that sums the weights.
  std::vector<double> knots_at(double t) {
    knots.assign(3, 0.0);
    time->bind_knots(*tables, *series, t);
    tables->launch((*one)[0], grid->interior());
    return knots;
  }

  Model model;
  Active active;
  std::vector<double> knots = std::vector<double>(3);
  std::optional<Grid> grid;
  std::optional<Tables> tables;
  std::optional<SeriesData> series;
  std::optional<EvaluationTime> time;
  std::optional<KernelLibrary> one;
};

const std::vector<std::string> all = {"t@2", "p@2", "q@2", "d(q@2)", "w0(q)@2", "w1(q)@2"};

TEST_F(TimeOfAnEvaluation, SetsTheTimeAndTheSeriesThen) {
  make(all);
  time->set(*tables, *series, 0.5);
  EXPECT_EQ(scalar("t@2"), 0.5);
  EXPECT_EQ(scalar("p@2"), 8.0);
  EXPECT_EQ(scalar("q@2"), 12.5);
  series->set_values(1, {0.0, 4.0, 4.0});
  time->set(*tables, *series, 0.5);
  EXPECT_EQ(scalar("q@2"), 1.0);
  series->set_directions({{"q", {0.0, 2.0, 3.0}, {1.0, 2.0, 2.0}}});
  time->set_directions(*tables, *series, 0.5);
  EXPECT_EQ(scalar("d(q@2)"), 1.25);
}

TEST_F(TimeOfAnEvaluation, GivesEachKnotItsWeight) {
  make(all);
  EXPECT_EQ(knots_at(0.5), (std::vector<double>{0.75, 0.25, 0.0}));
  EXPECT_EQ(knots_at(2.0), (std::vector<double>{0.0, 1.0, 0.0}));
  EXPECT_EQ(knots_at(2.75), (std::vector<double>{0.0, 0.25, 0.75}));
  EXPECT_EQ(time->places()[0].knot, 1U);
  EXPECT_EQ(time->places()[0].weight, 0.75);
}

TEST_F(TimeOfAnEvaluation, GivesTheFirstAndTheLastKnotAllBeyondThem) {
  make(all);
  EXPECT_EQ(knots_at(-1.0), (std::vector<double>{1.0, 0.0, 0.0}));
  EXPECT_EQ(knots_at(3.0), (std::vector<double>{0.0, 0.0, 1.0}));
  EXPECT_EQ(knots_at(9.0), (std::vector<double>{0.0, 0.0, 1.0}));
}

TEST_F(TimeOfAnEvaluation, SetsTheRatesOfSeriesWhereTheyAreRead) {
  const std::vector<std::string> rates = {"rate(p)@2", "rate(q)@2", "d(rate(q)@2)", "w0(rate(q))@2", "w1(rate(q))@2"};
  const auto expect = [&](double t, double p, double q, std::vector<double> shares) {
    time->set(*tables, *series, t);
    time->bind_knots(*tables, *series, t);
    EXPECT_EQ(scalar("rate(p)@2"), p) << t;
    EXPECT_EQ(scalar("rate(q)@2"), q) << t;
    EXPECT_EQ((std::vector<double>{scalar("w0(rate(q))@2"), scalar("w1(rate(q))@2")}), shares) << t;
  };
  make(rates, SeriesReads::values_and_rates);
  expect(-1.0, 0.0, 0.0, {0.0, 0.0});
  expect(0.0, 2.0, 5.0, {-0.5, 0.5});
  expect(1.0, 0.0, 5.0, {-0.5, 0.5});
  expect(2.0, 0.0, 30.0, {-1.0, 1.0});
  expect(3.0, 0.0, 0.0, {0.0, 0.0});
  series->set_directions({{"q", {0.0, 2.0, 3.0}, {1.0, 2.0, 2.0}}});
  time->set_directions(*tables, *series, 0.5);
  EXPECT_EQ(scalar("d(rate(q)@2)"), 0.5);
  EXPECT_EQ(EvaluationTime::sums(active, SeriesReads::values_and_rates), 4);
}

TEST_F(TimeOfAnEvaluation, LeavesOutWhatNoKernelReads) {
  make({"q@2"});
  const std::size_t scalars = model.graph->scalars().size();
  time->set(*tables, *series, 0.5);
  time->set_directions(*tables, *series, 0.5);
  EXPECT_EQ(scalar("q@2"), 12.5);
  EXPECT_EQ(model.graph->scalars().size(), scalars);
  EXPECT_EQ(model.graph->scalar_index("t@2"), -1);
  EXPECT_EQ(EvaluationTime::sums(active), 2);
}

}  // namespace
}  // namespace hindsight
