// Dense systems of three hundred coupled fields.
// label: long
#include "tests/adjoint/coupled_systems.hpp"

namespace hindsight {
namespace {

TEST(CoupledLong, GradientsOfThreeHundredFieldsAreExact) {
  test::expect_right_gradient_of_species(300, "rodas4", 2);
}

}  // namespace
}  // namespace hindsight
