// A gradient of Gray and Scott's reaction and diffusion within 8 MiB of memory: a model from text, no case file.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <exception>

#include "adjoint/gradients/gradients.hpp"
#include "adjoint/problem/problem_text.hpp"
#include "adjoint/problem/unknown_sums.hpp"

using namespace hindsight;

static ProblemText gray_scott() {
  const auto number = [](const char* name, double value) {
    return ParameterText{.name = name, .kind = ParameterText::Kind::scalar, .value = value};
  };
  ProblemText problem;
  problem.grid = GridText{.axes = {{.name = "x", .cells = 64, .to = 2.5}, {.name = "y", .cells = 48, .to = 2.5}}};
  problem.parameters = {number("Du", 8e-5), number("Dv", 4e-5), number("F", 0.024), number("k", 0.06)};
  problem.functions = {{"bump", {"x", "y"}, {"where(abs(x - 1.25) < 0.25 and abs(y - 1.25) < 0.25, x*y/16, 0)"}}};
  problem.state = {{"u", {"1 - 2*bump(x, y)"}}, {"v", {"bump(x, y)"}}};
  problem.equations = {{"u", {"Du*lap(u) - u*v^2 + F*(1 - u)"}}, {"v", {"Dv*lap(v) + u*v^2 - (F + k)*v"}}};
  problem.time = {.method = "rk4", .step = 0.5, .to = 250};
  problem.objective = {{"final", {"(u - 0.5)^2"}}, {"integral", {"v^2"}}};
  problem.unknowns = {{"F"}, {"k"}, {.name = "u", .initial = true}};
  return problem;
}

static void print_gradient() {
  const Communicator comm(MPI_COMM_WORLD);
  GradientOptions options;
  options.checkpoints.host = TierBudget{TierBudget::Unit::bytes, 8 << 20};
  Gradients gradients(read_problem(gray_scott()), comm, options);
  const Evaluation now = gradients.evaluate();
  const UnknownValues field{{}, {}, now.gradient[2]};
  const double norm = std::sqrt(dot(gradients.simulation(), field, field));
  if (!comm.is_root()) return;
  std::printf("schedule %s\n", gradients.plan().kind->name.c_str());
  std::printf("objective %a\nF %a\nk %a\n", now.objective, now.gradient[0][0], now.gradient[1][0]);
  std::printf("|initial(u)| %a\n", norm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 0;
  try {
    print_gradient();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = 1;
  }
  MPI_Finalize();
  return code;
}
