// Doubles so small that their products are subnormals: explicit steps that spread over cells store zeros for them, on
// hosts and devices, and differentiate as if they did not.
#include <fmt/format.h>

#include "runtime/emulated/emulated_device.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

struct Kind {
  std::string equation, method;
};
const std::vector<Kind> kinds{
    {"dtt(u): \"1e-3*dxx(u)\"", "leapfrog"}, {"dt(u): \"1e-3*dxx(u)\"", "rk4"}, {"dt(u): \"1e-3*dxx(u)\"", "dopri5"}};

TEST(TinyValues, AreTakenForZeros) {
  for (const auto& [equation, method] : kinds)
    for (const auto& [initial, expected] : {std::pair{"1e-102", 1.0}, std::pair{"1e-104", 0.0}})
      for (const bool is_emulated : {false, true}) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", method, initial, is_emulated ? "emulated device" : "host"));
        SessionOptions options;
        if (is_emulated) options.machine = emulated::open_machine({.order = emulated::Order::forwards});
        Session session(test::text_case(fmt::format(
                            "case: still\ngrid: {{x: {{cells: 16, to: 1}}}}\nstate: {{u: {{initial: {}}}}}\n"
                            "equations: {{{}}}\nobjective: [{{final: \"1e102*u\"}}]\n"
                            "time: {{method: {}, step: 0.1, to: 0.5}}\n",
                            initial, equation, method)),
                        test::self(), Sensitivities::none, options);
        EXPECT_NEAR(session.objective({}), expected, 1e-14 * expected);
      }
}

/// A gradient of what is linear does not depend on the state.
TEST(TinyValues, AreDifferentiatedAsIfTheyWereKept) {
  for (const std::string method : {"rk4", "dopri5", "heun"}) {
    SCOPED_TRACE(method);
    const auto gradient = [&](const std::string& initial) {
      Session session(
          test::text_case(fmt::format("case: spot\ngrid: {{x: {{cells: 16, to: 1}}, y: {{cells: 12, to: 1, boundary: "
                                      "{{value: 0}}}}}}\nstate: {{u: {{initial: \"{}\"}}}}\n"
                                      "equations: {{dt(u): \"0.01*lap(u)\"}}\nobjective: [{{final: \"x*y*u\"}}]\n"
                                      "unknowns: {{initial(u): {{}}}}\ntime: {{method: {}, step: 0.01, to: 0.2}}\n",
                                      initial, method)),
          test::self(), Sensitivities::adjoint);
      return session.gradient({}).gradient;
    };
    EXPECT_EQ(gradient("where(x < 0.2, 1e-100*y, 0)"), gradient("1 + x*y"));
  }
}

}  // namespace
}  // namespace hindsight
