// A two-variable ODE with a million RK4 steps: what a step costs, and a gradient over a forward run.
#include <mpi.h>

#include "bench/measure.hpp"
#include "src/session.hpp"

namespace hindsight::bench {

void measure(int argc, char** argv) {
  Session session(parse_case("bench.yaml", R"yaml(
case: lotka-volterra
parameters: {alpha: 0.54, beta: 0.027, gamma: 0.8, delta: 0.024}
state: {u: {initial: 34}, v: {initial: 5.8}}
equations:
  dt(u): "(alpha - beta*v)*u"
  dt(v): "(-gamma + delta*u)*v"
time: {method: rk4, step: 2e-5, to: 20}
objective: [{final: "u^2 + v^2"}]
unknowns: {alpha: {}, beta: {}, gamma: {}, delta: {}, initial(u): {}, initial(v): {}}
)yaml",
                             {}),
                  Communicator(MPI_COMM_SELF), Sensitivities::adjoint);
  const std::vector<double> t = medians({[&] { session.objective({}); }, [&] { session.gradient({}); }});
  Report report("Lotka-Volterra, 1e6 RK4 steps, schedule " + session.plan().kind->name);
  report.add("(e) forward", t[0] * 1e3, "ns/step");
  report.add("    gradient", t[1] * 1e3, "ns/step");
  report.add("    gradient over forward", t[1] / t[0], "", "at most 3");
  report.finish(argc, argv);
}

}  // namespace hindsight::bench
