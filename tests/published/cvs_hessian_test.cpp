// SUNDIALS CVODES example cvsHessian; values computed to more digits by Taylor series.
#include <cmath>

#include "tests/support.hpp"

namespace hindsight {
namespace {

TEST(Published, CvsHessianGradient) {
  for (const char* method : {"rk4", "dopri5"}) {
    Session session(test::text_case(R"yaml(
case: cvs-hessian
parameters: {p1: 1, p2: 2}
state: {y1: {initial: 1}, y2: {initial: 1}, y3: {initial: 1}, g: {initial: 0}}
equations:
  dt(y1): "-p1*y1^2 - y3"
  dt(y2): "-y2"
  dt(y3): "-p2^2*y2*y3"
  dt(g): "(y1^2 + y2^2 + y3^2)/2"
time: {step: 5e-4, to: 2}
objective: [{final: g}]
unknowns: {p1: {}, p2: {}, initial(y1): {}, initial(y2): {}, initial(y3): {}}
)yaml",
                                    {std::string("time.method=") + method}),
                    test::self(), Sensitivities::adjoint);
    const Evaluation e = session.gradient({});
    const double expected[] = {-0.12837865465635068, 0.018036760854797133, 0.40725736067362153, 0.50887894141043004,
                               0.035278985373485183};
    EXPECT_NEAR(e.objective, 0.53087859062954515, 1e-11);
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_NEAR(e.gradient[i][0], expected[i], 1e-11 * std::fabs(expected[i]) + 1e-12);
  }
}

TEST(Published, CvsHessianByTheTrapezoidRule) {
  Session session(test::text_case(R"yaml(
case: cvs-hessian
parameters: {p1: 1, p2: 2}
state: {y1: {initial: 1}, y2: {initial: 1}, y3: {initial: 1}}
equations:
  dt(y1): "-p1*y1^2 - y3"
  dt(y2): "-y2"
  dt(y3): "-p2^2*y2*y3"
time: {step: 1e-5, to: 2}
objective: [{integral: "(y1^2 + y2^2 + y3^2)/2"}]
unknowns: {p1: {}, p2: {}}
)yaml"),
                  test::self(), Sensitivities::adjoint);
  const Evaluation e = session.gradient({});
  EXPECT_NEAR(e.objective, 0.53087859062954515, 5e-10);
  EXPECT_NEAR(e.gradient[0][0], -0.12837865465635068, 5e-10);
  EXPECT_NEAR(e.gradient[1][0], 0.018036760854797133, 5e-10);
}

}  // namespace
}  // namespace hindsight
