#include "tests/support.hpp"

#include <cstdio>

#include "runtime/cuda/cuda_machine.hpp"
#include "runtime/cuda/device.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "tests/places.hpp"

namespace hindsight::test {

Case shipped_case(const std::string& name, const std::vector<std::string>& set) {
  const char* const source = std::getenv("HINDSIGHT_SOURCE");
  return read_case(std::string(source != nullptr ? source : test::source_folder()) + "/cases/" + name + ".yaml", set);
}

Case text_case(const std::string& text, const std::vector<std::string>& set) {
  return parse_case("test.yaml", text, set);
}

Communicator world() {
  return Communicator(MPI_COMM_WORLD);
}

Communicator self() {
  return Communicator(MPI_COMM_SELF);
}

std::unique_ptr<Machine> device(const Communicator& comm) {
  const bool is_there = cuda::report().devices > 0 && cuda::compiler_report().is_there;
  std::unique_ptr<Machine> machine = is_there ? cuda::open_machine(comm) : emulated::open_machine();
  static const bool said = std::printf("on: %s\n", machine->description().c_str()) > 0;
  (void)said;
  return machine;
}

std::vector<std::string> first_order_methods() {
  std::vector<std::string> names;
  for (const Method& method : methods().all())
    if (!method.is_of_second_order) names.push_back(method.name);
  return names;
}

std::vector<double> owned_part(const Grid& grid, const std::vector<double>& all) {
  std::vector<double> part;
  const Index3 &n = grid.cells(), &first = grid.first(), &global = grid.global_cells();
  for (std::int64_t k = 0; k < n[2]; ++k)
    for (std::int64_t j = 0; j < n[1]; ++j)
      for (std::int64_t i = 0; i < n[0]; ++i)
        part.push_back(
            all[static_cast<std::size_t>(first[0] + i + global[0] * (first[1] + j + global[1] * (first[2] + k)))]);
  return part;
}

std::string failure_of(const std::string& text, Sensitivities wanted) {
  try {
    Session session(text_case(text), world(), wanted);
    if (wanted == Sensitivities::none)
      session.objective({});
    else
      session.gradient({});
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

void expect_same_bits(const Session& here, const Evaluation& mine, const Evaluation& serial) {
  EXPECT_EQ(mine.objective, serial.objective);
  const auto& unknowns = here.simulation().spec().unknowns;
  for (std::size_t i = 0; i < unknowns.size(); ++i) {
    const bool is_field = unknowns[i].is_field() && here.simulation().grid().dimensions() > 0;
    const std::vector<double> expected =
        is_field ? owned_part(here.simulation().grid(), serial.gradient[i]) : serial.gradient[i];
    EXPECT_EQ(mine.gradient[i], expected) << unknowns[i].label();
  }
}

UnknownValues some_direction(const Session& session, double phase) {
  UnknownValues direction = session.simulation().values();
  const Grid& grid = session.simulation().grid();
  for (std::size_t i = 0; i < direction.size(); ++i) {
    const bool is_field = session.simulation().spec().unknowns[i].is_field() && grid.dimensions() > 0;
    if (!is_field) {
      for (std::size_t k = 0; k < direction[i].size(); ++k)
        direction[i][k] = std::sin(phase + 1.7 * static_cast<double>(k + 3 * i));
      continue;
    }
    std::vector<double> all(static_cast<std::size_t>(grid.total_cells()));
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = std::sin(phase + 0.7 * static_cast<double>(k));
    direction[i] = owned_part(grid, all);
  }
  return direction;
}

void expect_right_gradient(Session& session, double largest_step, double dot_tolerance) {
  const Evaluation base = session.gradient({});
  const UnknownValues start = session.simulation().values();
  const UnknownValues v = some_direction(session, 0.3);
  const double slope = session.dot(base.gradient, v);
  const double tangent = session.tangent(v).second;
  EXPECT_NEAR(tangent, slope, dot_tolerance * std::max(std::fabs(slope), std::fabs(tangent)));
  std::vector<double> remainder;
  for (int i = 0; i < 6; ++i) {
    const double e = largest_step * std::pow(0.5, i);
    UnknownValues moved = start;
    for (std::size_t u = 0; u < moved.size(); ++u)
      for (std::size_t k = 0; k < moved[u].size(); ++k) moved[u][k] += e * v[u][k];
    session.simulation().set_values(moved);
    remainder.push_back(std::fabs(session.objective({}) - base.objective - e * slope));
  }
  session.simulation().set_values(start);
  for (std::size_t i = 0; i + 1 < remainder.size(); ++i)
    EXPECT_GE(std::log2(remainder[i] / remainder[i + 1]), 1.9) << "halving " << i << ": " << remainder[i];
}

}  // namespace hindsight::test
