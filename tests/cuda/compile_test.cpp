// Every kernel of every shipped case, and of every derivative, compiles for devices without spilling registers.
#include "adjoint/store/device_words.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "solvers/equations/emit_device_tiles.hpp"
#include "solvers/equations/random.hpp"
#include "solvers/grid/boundary.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

class Compiles : public ::testing::TestWithParam<const char*> {};

TEST_P(Compiles, ForAmpereAndHopper) {
  if (const cuda::CompilerReport report = cuda::compiler_report(); !report.is_there) GTEST_SKIP() << report.sentence;
  const Session session(test::shipped_case(GetParam()), test::self(), Sensitivities::adjoint_and_tangent);
  std::size_t kernels = 0;
  int registers = 0;
  for (const KernelLibrary* library : session.simulation().libraries()) {
    const DeviceSource source = emit_device(library->specs(), library->boxes());
    for (const char* architecture : {"sm_80", "sm_90"}) {
      const cuda::Cubin cubin = cuda::compile(cuda::device_text(source.text), architecture);
      ASSERT_EQ(cubin.kernels.size(), source.kernels.size());
      EXPECT_EQ(cubin.code.substr(1, 3), "ELF");
      for (const device::KernelResources& kernel : cubin.kernels) {
        EXPECT_LE(kernel.spilled_bytes, 64) << kernel.name << " for " << architecture;  // rare paths of sin and pow
        EXPECT_GT(kernel.registers, 0) << kernel.name;
        registers = std::max(registers, kernel.registers);
      }
    }
    kernels += source.kernels.size();
  }
  std::printf("%zu kernels, at most %d registers\n", kernels, registers);
}

TEST(CompilesAlone, WhatNoCaseGenerates) {
  if (const cuda::CompilerReport report = cuda::compiler_report(); !report.is_there) GTEST_SKIP() << report.sentence;
  for (const device::ProgramText& program : {device_operations_program(), random_program(), words_program()})
    for (const char* architecture : {"sm_80", "sm_90"}) {
      const cuda::Cubin cubin = cuda::compile(cuda::device_text(program.text), architecture);
      EXPECT_EQ(cubin.kernels.size(), program.kernels.size());
      for (const device::KernelResources& kernel : cubin.kernels) EXPECT_EQ(kernel.spilled_bytes, 0) << kernel.name;
    }
}

/// All stages of Gray-Scott's step in one launch, and a block's memory; on a periodic plane and between walls.
TEST(CompilesAlone, AStepInTiles) {
  if (const cuda::CompilerReport report = cuda::compiler_report(); !report.is_there) GTEST_SKIP() << report.sentence;
  for (const auto& [precision, has_walls] :
       {std::pair("float64", false), {"float32", false}, {"float64", true}, {"float32", true}}) {
    const Session session(test::shipped_case("gray-scott", {std::string("precision=") + precision}), test::self(),
                          Sensitivities::none);
    const std::vector<KernelSpec>& stages = session.simulation().libraries().front()->specs();
    ASSERT_EQ(stages.size(), 4U);
    const Graph& graph = stages.front().roots().front().graph();
    KernelsOfTiles step{
        "step", {graph.field_index("u@1"), graph.field_index("v@1")}, {4, 4, 0}, {}, {has_walls, has_walls}};
    const WallOfTiles constant{ghost_rule(WallRule::value, 0, 0.1), 0.5},
        array{ghost_rule(WallRule::slope, 1, 0.1), 0.0, step.begins_with.front()};
    for (int around = 3; const KernelSpec& stage : stages) {
      step.kernels.push_back({&stage, {}, {around, around, 0}});
      for (const KernelSpec::Output& output : stage.outputs)
        if (around > 0) step.kernels.back().handed_on.push_back(graph.field_index(output.field));
      for (const int symbol : step.kernels.back().handed_on)
        if (has_walls) step.kernels.back().beyond_walls.push_back({symbol, {{{constant, array}, {array, constant}}}});
      --around;
    }
    const std::optional<DeviceSource> source = emit_device_tiles(step);
    ASSERT_TRUE(source);
    for (const char* architecture : {"sm_80", "sm_90"}) {
      const cuda::Cubin cubin = cuda::compile(cuda::device_text(source->text), architecture);
      ASSERT_EQ(cubin.kernels.size(), 1U);
      const device::KernelResources& kernel = cubin.kernels.front();
      EXPECT_EQ(kernel.spilled_bytes, 0) << architecture;
      EXPECT_GT(kernel.shared_bytes, 24 << 10) << architecture;
      EXPECT_LE(kernel.shared_bytes, 48 << 10) << architecture;
      std::printf("%s, %s%s: %d registers, %d bytes shared, tiles of %d x %d\n", precision, architecture,
                  has_walls ? ", walls" : "", kernel.registers, kernel.shared_bytes, source->kernels.front().tile[0],
                  source->kernels.front().tile[1]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Compiles,
                         ::testing::Values("lynx-hare", "school-influenza", "gray-scott", "heat-conductivity",
                                           "burgers", "advection-3d", "lorenz96", "stochastic-allen-cahn"));

}  // namespace
}  // namespace hindsight
