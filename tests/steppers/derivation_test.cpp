// Which kernels follow from expressions, and what they write.
#include "solvers/steppers/kernels/derivation.hpp"

#include <gtest/gtest.h>

#include "solvers/equations/print.hpp"
#include "solvers/steppers/reads.hpp"
#include "solvers/steppers/stage_names.hpp"
#include "tests/steppers/wall_model.hpp"

namespace hindsight {
namespace {

using test::ModelText;
using test::WallModel;

const Axis periodic{"x", 8, 0, 8, true}, walls{"x", 8, 0, 8, false};

/// F and J^T lambda as they are, in arrays F(u) and g(u); gathers that are zero go nowhere.
KernelRequest bare(const Model& model, const Active& active) {
  KernelRequest request;
  request.names = {"value", "tangent", "gather", "border", "ring", "add"};
  request.stage = 1;
  request.expressions = at_stage(model, model.right_hand_sides, "1");
  for (const std::string& field : model.fields) {
    request.states.push_back(StageNames::stage(field, 1));
    request.multiplier_arrays.push_back(StageNames::lambda(field));
  }
  request.series = series_variables(active, 1, static_cast<int>(active.scalars.size()));
  request.multiplier = [&model](std::size_t r) { return model.graph->field(StageNames::lambda(model.fields[r])); };
  request.epilogue.values = [&model](KernelSpec& kernel, const std::vector<Expr>& values) {
    for (std::size_t f = 0; f < values.size(); ++f) kernel.outputs.push_back({"F(" + model.fields[f] + ")", values[f]});
  };
  request.epilogue.tangents = request.epilogue.values;
  request.epilogue.gather = [&model](std::size_t f, Expr gather) {
    return gather.is_constant(0.0) ? std::vector<KernelSpec::Output>()
                                   : std::vector<KernelSpec::Output>{{"g(" + model.fields[f] + ")", gather}};
  };
  request.epilogue.add = [&model](std::size_t f, Expr ghost) {
    const std::string target = "g(" + model.fields[f] + ")";
    return std::vector<KernelSpec::Output>{{target, model.graph->field(target) + ghost}};
  };
  return request;
}

/// "u = ...; v = ...; sum 0 += ...", or "none".
std::string text_of(const KernelSpec& kernel) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  for (const KernelSpec::Output& o : kernel.outputs) add(o.field + " = " + to_text(o.value));
  for (const KernelSpec::Sum& s : kernel.sums) add("sum " + std::to_string(s.accumulator) + " += " + to_text(s.value));
  return text.empty() ? "none" : text;
}

struct Derived {
  explicit Derived(const ModelText& text) : of(text), request(bare(of.model, of.active)) {}
  GatherKernels gather() const { return gather_kernels(of.model, of.active, request); }
  WallModel of;
  KernelRequest request;
};

TEST(Derivation, PeriodicModelsHaveNoKernelsForWalls) {
  const Derived derived({.name = "", .axes = {periodic}, .equations = {{"u", "dxx(u)"}}});
  const GatherKernels gather = derived.gather();
  EXPECT_EQ(gather.main.name, "gather");
  EXPECT_EQ(text_of(gather.border), "none");
  EXPECT_TRUE(gather.rings.empty());
  EXPECT_EQ(text_of(gather.add), "none");
}

TEST(Derivation, WallsAddARingAndABorderOnlyWhereGhostsMayBeInfinite) {
  const std::vector<std::array<std::array<test::WallText, 2>, 3>> value = {{}};
  const Derived linear({.name = "", .axes = {walls}, .equations = {{"u", "dxx(u)"}}, .walls = value});
  EXPECT_EQ(text_of(linear.gather().border), "none");
  ASSERT_EQ(linear.gather().rings.size(), 2U);
  EXPECT_EQ(linear.gather().rings[0].spec.name, "ring_x0");
  EXPECT_EQ(linear.gather().rings[1].spec.name, "ring_x1");
  EXPECT_EQ(text_of(linear.gather().rings[0].spec), "ghost(u) = lambda(u)[x+1]");
  EXPECT_EQ(text_of(linear.gather().rings[1].spec), "ghost(u) = lambda(u)[x-1]");
  EXPECT_EQ(text_of(linear.gather().add), "g(u) = g(u) + ghost(u)");
  const Derived root({.name = "", .axes = {walls}, .equations = {{"u", "sqrt(u)*dx(u)"}}, .walls = value});
  EXPECT_EQ(root.gather().border.name, "border");
  EXPECT_EQ(root.gather().border.outputs.size(), root.gather().main.outputs.size());
  EXPECT_NE(text_of(root.gather().border), text_of(root.gather().main));
}

TEST(Derivation, WallsFeedNothingBackToWhatNothingDependsOn) {
  const Derived derived(
      {.name = "", .axes = {walls}, .equations = {{"u", "dxx(u)"}, {"v", "dx(u)"}}, .walls = {{}, {}}});
  const GatherKernels gather = derived.gather();
  ASSERT_EQ(gather.main.outputs.size(), 1U);
  EXPECT_EQ(gather.main.outputs[0].field, "g(u)");
  ASSERT_EQ(gather.rings.size(), 2U);
  ASSERT_EQ(gather.rings[0].spec.outputs.size(), 1U);
  EXPECT_EQ(gather.rings[0].spec.outputs[0].field, "ghost(u)");
}

TEST(Derivation, WallsThatAreNotReadAgainstTheFlowHaveNoRing) {
  const Derived derived({.name = "", .axes = {walls}, .equations = {{"u", "-upwind(2, u, x)"}}, .walls = {{}}});
  const GatherKernels gather = derived.gather();
  ASSERT_EQ(gather.rings.size(), 1U);
  EXPECT_EQ(gather.rings[0].spec.name, "ring_x0");
}

TEST(Derivation, RingsReadNoDeeperBeyondWallsThanTheirGridDoes) {
  const auto reach_of = [](const Derived& derived, const char* array) {
    const Graph& graph = *derived.of.model.graph;
    const std::array<int, 3> depth = ring_depth(derived.of.model, derived.request.expressions);
    return derived.gather().reach({graph.field_index(array)}, depth);
  };
  // The outermost of two ghosts reads two cells inwards; towards the outside nothing is read.
  const Derived wide({.name = "", .axes = {walls}, .equations = {{"u", "u*dxx(u)"}}, .walls = {{}}, .order = 4});
  EXPECT_EQ(reach_of(wide, "lambda(u)").depth, (std::array<int, 3>{2, 0, 0}));
  EXPECT_EQ(reach_of(wide, "u@1").depth, (std::array<int, 3>{2, 0, 0}));
}

TEST(Derivation, PointwiseModelsAreNotTouchedByWalls) {
  const Derived derived({.name = "", .axes = {walls}, .equations = {{"u", "-u"}}, .walls = {{}}});
  EXPECT_FALSE(cross_walls(derived.of.model, derived.request.expressions));
  EXPECT_TRUE(derived.gather().rings.empty());
}

TEST(Derivation, SharesMultiplyWhatParametersGetAndNothingElse) {
  Derived derived({.name = "",
                   .axes = {periodic},
                   .equations = {{"u", "a*u + q*kappa"}},
                   .scalars = {{"a", 1.0}, {"unused", 1.0}},
                   .series = {{"q", {0.0}, {1.0}}},
                   .parameter_fields = {"kappa"}});
  EXPECT_EQ(text_of(value_kernel(derived.request)), "F(u) = q@1*kappa + a*u@1");
  EXPECT_EQ(text_of(derived.gather().main),
            "g(u) = lambda(u)*a; bar(kappa) = lambda(u)*q@1 + bar(kappa); sum 0 += lambda(u)*u@1; "
            "sum 2 += w0(q)@1*(lambda(u)*kappa); sum 3 += w1(q)@1*(lambda(u)*kappa)");
  derived.request.share = derived.of.model.graph->scalar("h");
  EXPECT_EQ(text_of(derived.gather().main),
            "g(u) = lambda(u)*a; bar(kappa) = h*(lambda(u)*q@1) + bar(kappa); sum 0 += h*(lambda(u)*u@1); "
            "sum 2 += w0(q)@1*(h*(lambda(u)*kappa)); sum 3 += w1(q)@1*(h*(lambda(u)*kappa))");
}

TEST(Derivation, TangentsFollowAllThatIsDifferentiatedFor) {
  const Derived derived(
      {.name = "", .equations = {{"u", "a*u + q"}}, .scalars = {{"a", 1.0}}, .series = {{"q", {0.0}, {1.0}}}});
  EXPECT_EQ(text_of(tangent_kernel(derived.of.model, derived.of.active, derived.request)),
            "F(u) = d(u@1)*a + d(a)*u@1 + d(q@1)");
}

}  // namespace
}  // namespace hindsight
