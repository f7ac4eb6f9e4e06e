#include "solvers/equations/model.hpp"

#include <gtest/gtest.h>

namespace hindsight {
namespace {

TEST(Series, IsLinearBetweenKnotsAndConstantOutside) {
  const Series series{"q", {1.0, 2.0, 4.0}, {10.0, 20.0, 0.0}};
  EXPECT_EQ(series.at(0.0), 10.0);
  EXPECT_EQ(series.at(1.0), 10.0);
  EXPECT_EQ(series.at(1.5), 15.0);
  EXPECT_EQ(series.at(2.0), 20.0);
  EXPECT_EQ(series.at(3.5), 5.0);
  EXPECT_EQ(series.at(4.0), 0.0);
  EXPECT_EQ(series.at(9.0), 0.0);
  EXPECT_EQ(series.place(3.5).knot, 1U);
  EXPECT_EQ(series.place(3.5).weight, 0.75);
}

TEST(Series, OfOneKnotIsConstant) {
  const Series series{"q", {1.0}, {3.0}};
  for (double t : {0.0, 1.0, 2.0}) EXPECT_EQ(series.at(t), 3.0);
}

TEST(Model, StagesRenameStateTimeAndSeriesOnly) {
  Model model;
  model.fields = {"u"};
  model.scalars = {"a"};
  model.series = {"q"};
  model.parameter_fields = {"kappa"};
  Graph& graph = *model.graph;
  const auto build = [&](const std::string& u, const std::string& t, const std::string& q) {
    return graph.scalar("a") * graph.field(u, {1, 0, 0}) + graph.scalar(t) * graph.scalar(q) * graph.field("kappa");
  };
  const Expr e = build("u", "t", "q");
  EXPECT_TRUE(at_stage(model, {e}, "2")[0].same_as(build("u@2", "t@2", "q@2")));
}

TEST(Model, PointwiseModelsReadNoNeighbours) {
  Model model;
  model.right_hand_sides = {model.graph->field("u") * model.graph->coordinate(0)};
  EXPECT_TRUE(model.is_pointwise());
  model.right_hand_sides.push_back(model.graph->field("u", {0, 1, 0}));
  EXPECT_FALSE(model.is_pointwise());
}

}  // namespace
}  // namespace hindsight
