// How strongly waves shake each cell, against differences of the states of a run; and what follows for variables.
// ranks: 1 2 3
#include "src/illumination.hpp"

#include <cmath>

#include "tests/support.hpp"

namespace hindsight {
namespace {

constexpr const char* wave =
    "case: wave\ngrid: {x: {cells: 13, to: 1, boundary: {value: 0}}, y: {cells: 16, to: 1, boundary: {slope: 0}}}\n"
    "parameters: {a: 0.7, c: {field: \"0.8 + 0.1*x\"}}\n"
    "state: {u: {initial: \"x*sin(2*pi*y)\"}, v: {initial: \"0.2*x\", rate: \"y\"}}\n"
    "equations: {dtt(u): \"c^2*lap(u) - a*v\", dtt(v): \"c*lap(v)\"}\n"
    "objective: [{final: \"u^2 + v^2\"}]\nunknowns: {a: {}, c: {where: \"x > 0.3\"}, initial(u): {}}\n"
    "time: {method: leapfrog, step: 0.02, to: 0.5}\n";

TEST(Illumination, SumsUpSquaredAccelerations) {
  Session session(test::text_case(wave), test::world(), Sensitivities::adjoint);
  const UnknownValues found = session.illumination();
  const Simulation& simulation = session.simulation();
  const Grid& grid = simulation.grid();
  std::vector<std::vector<double>> states;  // of both fields, one after the other
  session.simulation().walk([&](std::int64_t, StateBlocks state) {
    states.emplace_back();
    for (std::int64_t f = 0; f < 2; ++f)
      for (std::int64_t j = 0; j < grid.cells()[1]; ++j)
        for (std::int64_t i = 0; i < grid.cells()[0]; ++i)
          states.back().push_back(state.now[f * grid.layout().field_stride + grid.layout().at(i, j, 0)]);
    return true;
  });
  const double h = 0.5 / static_cast<double>(states.size() - 1);
  const std::size_t cells = states[0].size() / 2;
  ASSERT_EQ(found[1].size(), cells);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    double sum = 0.0;
    for (std::size_t k = 1; k + 1 < states.size(); ++k)
      for (const std::size_t i : {cell, cells + cell})
        sum += h * std::pow((states[k + 1][i] - 2 * states[k][i] + states[k - 1][i]) / (h * h), 2);
    EXPECT_NEAR(found[1][cell], sum, 1e-9 * sum);
  }
  EXPECT_EQ(found[0], std::vector<double>(1, 0.0));
  EXPECT_EQ(found[2], std::vector<double>(cells, 0.0));
}

TEST(Illumination, HasTheSameBitsOnAllRanks) {
  Session session(test::text_case(wave), test::world(), Sensitivities::adjoint);
  Session alone(test::text_case(wave), test::self(), Sensitivities::adjoint);
  const UnknownValues found = session.illumination(), expected = alone.illumination();
  const Grid& grid = session.simulation().grid();
  EXPECT_EQ(found[1], test::owned_part(grid, expected[1]));
  EXPECT_EQ(scales_of(session.simulation(), found)[1],
            test::owned_part(grid, scales_of(alone.simulation(), expected)[1]));
  double most = 0.0;
  for (std::size_t k = 0; k < expected[1].size(); ++k)
    if (alone.simulation().moving(1)[k]) most = std::max(most, expected[1][k]);
  EXPECT_NEAR(scales_of(alone.simulation(), expected)[1][200], std::sqrt(expected[1][200] / most + 0.01), 1e-15);
  EXPECT_EQ(scales_of(alone.simulation(), expected)[0], std::vector<double>(1, 1.0));
}

}  // namespace
}  // namespace hindsight
