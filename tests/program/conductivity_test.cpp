// The shipped inversion for a field, on a coarser grid, and ended earlier: 70 evaluations in place of 160.
// conductivity_long_test.cpp runs it as it is.
#include "tests/program/estimated_conductivity.hpp"

namespace hindsight {
namespace {

class Conductivity : public test::OwnFolder {};

TEST_F(Conductivity, ReachesTheNoise) {
  test::expect_conductivity_found(
      "--set grid.x.cells=20 --set grid.y.cells=20 --set time.step=2e-3 --set inversion.gradient=10");
}

}  // namespace
}  // namespace hindsight
