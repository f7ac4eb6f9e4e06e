// ranks: 1 2
// Gradients on a CUDA device, beside those of the host. Skipped where there is none.
#include "runtime/cuda/device.hpp"
#include "runtime/cuda/cuda_machine.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

/// The same bits: their equations are arithmetic, and initial states and parameter fields come from the host.
TEST(Device, GivesTheHostsGradients) {
  if (const cuda::DeviceReport report = cuda::report(); report.devices == 0) GTEST_SKIP() << report.sentence;
  if (const cuda::CompilerReport report = cuda::compiler_report(); !report.is_there) GTEST_SKIP() << report.sentence;
  const std::vector<std::pair<const char*, std::vector<std::string>>> cases = {
      {"gray-scott", {"time.to=10"}},
      {"burgers", {"objective=[{final: \"u^2\"}]"}},
      {"advection-3d",  // without what a cosine multiplies
       {"parameters.swirl=0", "unknowns={wind: {}, sinking: {}, mixing: {scale: log}, initial(c): {}}"}},
      {"lorenz96", {}},
      {"stochastic-allen-cahn", {"time.to=0.2", "objective=[{final: \"u^2\"}]"}}};
  for (const auto& [name, set] : cases) {
    SCOPED_TRACE(name);
    Session host(test::shipped_case(name, set), test::world(), Sensitivities::adjoint_and_tangent);
    const Evaluation a = host.gradient({});
    const UnknownValues direction = test::some_direction(host, 0.3);
    const auto tangent = host.simulation().tangent(direction);
    for (const char* slots : {"1000 slots", "4 slots"}) {  // with few, steps come again and go as graphs
      std::vector<std::string> all = set;
      all.push_back(std::string("checkpoints.device=") + slots);
      SessionOptions on_device;
      on_device.machine = cuda::open_machine(test::world());
      Session device(test::shipped_case(name, all), test::world(), Sensitivities::adjoint_and_tangent, on_device);
      const std::int64_t before = on_device.machine->batches_replayed();
      const Evaluation b = device.gradient({});
      EXPECT_EQ(a.objective, b.objective);
      EXPECT_EQ(a.gradient, b.gradient);
      if (std::string(name) == "gray-scott" && slots[0] == '4' && test::world().size() == 1) {
        EXPECT_GT(on_device.machine->batches_replayed(), before);
      }
      EXPECT_EQ(tangent, device.simulation().tangent(direction));
    }
  }
}

/// A device's exp and sin have other last digits.
TEST(Device, IsCloseWhereEquationsAreNoArithmetic) {
  if (const cuda::DeviceReport report = cuda::report(); report.devices == 0) GTEST_SKIP() << report.sentence;
  if (const cuda::CompilerReport report = cuda::compiler_report(); !report.is_there) GTEST_SKIP() << report.sentence;
  const std::string text = R"yaml(
case: ignition
grid: {x: {cells: 64, to: 1}, y: {cells: 48, to: 1}}
parameters: {D: 1e-3, a: 0.5}
state: {u: {initial: "1 + 0.2*sin(2*pi*x)*cos(2*pi*y)"}}
equations: {dt(u): "D*lap(u) + a*exp(-1/u)*cos(u)"}
time: {method: rk4, step: 0.01, to: 1}
objective: [{final: "u^2"}]
unknowns: {D: {}, a: {}, initial(u): {}}
checkpoints: {host: 10 slots}
)yaml";
  const std::vector<Case> cases{test::text_case(text), test::shipped_case("stochastic-allen-cahn", {"time.to=0.2"}),
                                test::shipped_case("heat-conductivity"), test::shipped_case("advection-3d")};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    SessionOptions on_device;
    on_device.machine = cuda::open_machine(test::world());
    Session host(c, test::world(), Sensitivities::adjoint), device(c, test::world(), Sensitivities::adjoint, on_device);
    const Evaluation a = host.gradient({}), b = device.gradient({});
    EXPECT_NEAR(b.objective, a.objective, 1e-12 * std::fabs(a.objective));
    EXPECT_LE(host.relative_difference(b.gradient, a.gradient), 1e-12);
  }
}

/// What is missing is said, not crashed upon.
TEST(Device, MissingOnesAreNamed) {
  if (cuda::compiler_report().is_there) {
    EXPECT_THROW(cuda::compile("", "sm_1"), ResourceError);
  }
  if (cuda::report().devices > 0) return;
  EXPECT_THROW(cuda::open_device(0), ResourceError);
  EXPECT_THROW(cuda::open_machine(test::self()), ResourceError);
}

}  // namespace
}  // namespace hindsight
