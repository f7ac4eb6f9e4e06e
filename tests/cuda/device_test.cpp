// Gradients on a CUDA device, beside those of the host. Skipped where there is none.
#include "src/backend/cuda/device.hpp"
#include "src/backend/cuda/nvrtc.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

TEST(Device, GivesTheHostsGradients) {
  if (const cuda::DeviceReport report = cuda::report(); report.devices == 0) GTEST_SKIP() << report.sentence;
  if (const cuda::CompilerReport report = cuda::compiler_report(); !report.is_there) GTEST_SKIP() << report.sentence;
  const std::vector<std::pair<const char*, std::vector<std::string>>> cases = {{"gray-scott", {"time.to=10"}},
                                                                               {"heat-conductivity", {}},
                                                                               {"burgers", {}},
                                                                               {"advection-3d", {}},
                                                                               {"lorenz96", {}}};
  for (const auto& [name, set] : cases) {
    SCOPED_TRACE(name);
    const Case c = test::shipped_case(name, set);
    PlanOptions on_device;
    on_device.machine = cuda_device(test::self());
    Session host(c, test::self(), true, false, true), device(c, test::self(), true, false, true, on_device);
    const Evaluation a = host.gradient({}), b = device.gradient({});
    EXPECT_NEAR(b.objective, a.objective, 1e-13 * std::fabs(a.objective));
    for (std::size_t i = 0; i < a.gradient.size(); ++i) {
      double largest = 0.0, off = 0.0;
      for (std::size_t k = 0; k < a.gradient[i].size(); ++k) {
        largest = std::max(largest, std::fabs(a.gradient[i][k]));
        off = std::max(off, std::fabs(a.gradient[i][k] - b.gradient[i][k]));
      }
      EXPECT_LE(off, 1e-13 * largest) << host.simulation().spec().unknowns[i].label();
    }
  }
}

/// What is missing is said, not crashed upon.
TEST(Device, MissingOnesAreNamed) {
  if (cuda::compiler_report().is_there) {
    EXPECT_THROW(cuda::compile("", "sm_1"), ResourceError);
  }
  if (cuda::report().devices > 0) return;
  EXPECT_THROW(cuda::open_device(0), ResourceError);
  EXPECT_THROW(cuda_device(test::self()), ResourceError);
}

}  // namespace
}  // namespace hindsight
