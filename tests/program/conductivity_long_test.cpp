// The shipped inversion for a field, as it is shipped.
// label: long
#include "tests/program/estimated_conductivity.hpp"

namespace hindsight {
namespace {

class Conductivity : public test::OwnFolder {};

TEST_F(Conductivity, ReachesTheNoise) {
  test::expect_conductivity_found("");
}

}  // namespace
}  // namespace hindsight
