// Gradients of stiff problems over tolerances, beside those of SUNDIALS' CVODES (BDF, dense systems, its adjoint with
// checkpoints every 150 steps): time, memory, and the errors of the end state and of the gradient.
#include <cvodes/cvodes.h>
#include <malloc.h>
#include <mpi.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_context.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/cvodes.hpp"
#include "bench/measure.hpp"
#include "src/session.hpp"

namespace hindsight::bench {
namespace {

using Vector = std::vector<double>;

/// One system y' = f(y, p) for the peer, with an objective: the integral of y[seen], or the end value.
struct Problem {
  std::string name;
  int n, np;
  Vector start, parameters;
  double end;
  std::function<void(const double* p, const double* y, double* dy)> f;
  std::function<void(const double* p, const double* y, const std::function<void(int, int, double)>& put)> jacobian;
  std::function<void(const double* p, const double* y, const double* w, double* out)> by_parameters;  // w^T df/dp
  bool is_integral;
  int seen;
  Vector absolute;  // the tolerances of fields, by the relative one
  std::string text;
  std::vector<std::string> fields;
  Vector end_state = {};     // published, where it is (Test Set for IVP Solvers 2.4); else of a tight run
  Vector end_gradient = {};  // in multiple precision, where it is known
};

Problem robertson(double end) {
  Problem p;
  p.name = end > 1e10 ? "robertson to 1e11" : "robertson";
  p.n = p.np = 3;
  p.start = {1, 0, 0};
  p.parameters = {0.04, 1e4, 3e7};
  p.end = end;
  p.f = [](const double* k, const double* y, double* d) {
    const double r1 = k[0] * y[0], r2 = k[1] * y[1] * y[2], r3 = k[2] * y[1] * y[1];
    d[0] = -r1 + r2;
    d[1] = r1 - r2 - r3;
    d[2] = r3;
  };
  p.jacobian = [](const double* k, const double* y, const auto& put) {
    put(0, 0, -k[0]), put(0, 1, k[1] * y[2]), put(0, 2, k[1] * y[1]);
    put(1, 0, k[0]), put(1, 1, -k[1] * y[2] - 2 * k[2] * y[1]), put(1, 2, -k[1] * y[1]);
    put(2, 1, 2 * k[2] * y[1]);
  };
  p.by_parameters = [](const double*, const double* y, const double* w, double* out) {
    out[0] = (w[1] - w[0]) * y[0];
    out[1] = (w[0] - w[1]) * y[1] * y[2];
    out[2] = (w[2] - w[1]) * y[1] * y[1];
  };
  p.is_integral = true;
  p.seen = 2;
  p.absolute = {1e-2, 1e-6, 1e-2, 1.0};
  p.text = R"yaml(
case: robertson
parameters: {p1: 0.04, p2: 1e4, p3: 3e7}
state: {a: {initial: 1}, b: {initial: 0}, c: {initial: 0}, g: {initial: 0}}
equations: {dt(a): "-p1*a + p2*b*c", dt(b): "p1*a - p2*b*c - p3*b^2", dt(c): "p3*b^2", dt(g): c}
objective: [{final: g}]
unknowns: {p1: {}, p2: {}, p3: {}}
)yaml";
  p.fields = {"a", "b", "c", "g"};
  if (end > 1e10) {
    p.absolute = {1e-5, 1e-10, 1e-2, 1.0};
    p.end_state = {0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050};
    p.end_gradient = {1583162.77986022, -6.328059935789283, 0.001054681006746708};  // tests/reference/robertson.py
  } else {
    p.end_gradient = {768377.3266017384, -3.068920919998591, 0.0005114889978822648};  // likewise
  }
  return p;
}

Problem van_der_pol() {
  Problem p;
  p.name = "van-der-pol";
  p.n = 2;
  p.np = 1;
  p.start = {2, 0};
  p.parameters = {1000};
  p.end = 2000;
  p.f = [](const double* k, const double* y, double* d) {
    d[0] = y[1];
    d[1] = k[0] * (1 - y[0] * y[0]) * y[1] - y[0];
  };
  p.jacobian = [](const double* k, const double* y, const auto& put) {
    put(0, 1, 1.0);
    put(1, 0, -2 * k[0] * y[0] * y[1] - 1), put(1, 1, k[0] * (1 - y[0] * y[0]));
  };
  p.by_parameters = [](const double*, const double* y, const double* w, double* out) {
    out[0] = w[1] * (1 - y[0] * y[0]) * y[1];
  };
  p.is_integral = false;
  p.seen = 0;
  p.absolute = {1, 1e-3};
  p.text = R"yaml(
case: van-der-pol
parameters: {mu: 1000}
state: {u: {initial: 2}, v: {initial: 0}}
equations: {dt(u): "v", dt(v): "mu*(1 - u^2)*v - u"}
objective: [{final: u}]
unknowns: {mu: {}}
)yaml";
  p.fields = {"u", "v"};
  p.end_state = {1.706167732170469, -0.8928097010248125e-3};
  return p;
}

constexpr int members = 1000;

/// The network of cases/kinetics.yaml; a member's first rate is that times 0.5 to 1.5.
Problem kinetics() {
  Problem p;
  p.name = "kinetics";
  p.n = p.np = 10;
  p.start = {2, 0.5, 0, 0, 0, 0.3, 0, 0, 0, 0};
  p.parameters = {2, 0.5, 1, 0.3, 4, 1, 0.6, 0.5, 1, 0.1};
  p.end = 20;
  p.f = [](const double* k, const double* y, double* d) {
    const double r1 = k[0] * y[0] * y[1], r2 = k[1] * y[2], r3 = k[2] * y[2], r4 = k[3] * y[3], r5 = k[4] * y[4] * y[5],
                 r6 = k[5] * y[6], r7 = k[6] * y[6], r8 = k[7] * y[7], r9 = k[8] * y[0] * y[8], r10 = k[9] * y[9];
    d[0] = -r1 + r2 - r9 + r10;
    d[1] = -r1 + r2 + r3;
    d[2] = r1 - r2 - r3;
    d[3] = r3 - r4;
    d[4] = r4 - r5 + r6;
    d[5] = -r5 + r6 + r7;
    d[6] = r5 - r6 - r7;
    d[7] = r7 - r8;
    d[8] = r8 - r9 + r10;
    d[9] = r9 - r10;
  };
  p.jacobian = [](const double* k, const double* y, const auto& put) {
    put(0, 0, -k[0] * y[1] - k[8] * y[8]), put(0, 1, -k[0] * y[0]), put(0, 2, k[1]);
    put(0, 8, -k[8] * y[0]), put(0, 9, k[9]);
    put(1, 0, -k[0] * y[1]), put(1, 1, -k[0] * y[0]), put(1, 2, k[1] + k[2]);
    put(2, 0, k[0] * y[1]), put(2, 1, k[0] * y[0]), put(2, 2, -k[1] - k[2]);
    put(3, 2, k[2]), put(3, 3, -k[3]);
    put(4, 3, k[3]), put(4, 4, -k[4] * y[5]), put(4, 5, -k[4] * y[4]), put(4, 6, k[5]);
    put(5, 4, -k[4] * y[5]), put(5, 5, -k[4] * y[4]), put(5, 6, k[5] + k[6]);
    put(6, 4, k[4] * y[5]), put(6, 5, k[4] * y[4]), put(6, 6, -k[5] - k[6]);
    put(7, 6, k[6]), put(7, 7, -k[7]);
    put(8, 0, -k[8] * y[8]), put(8, 7, k[7]), put(8, 8, -k[8] * y[0]), put(8, 9, k[9]);
    put(9, 0, k[8] * y[8]), put(9, 8, k[8] * y[0]), put(9, 9, -k[9]);
  };
  p.by_parameters = [](const double*, const double* y, const double* w, double* out) {
    out[0] = (w[2] - w[0] - w[1]) * y[0] * y[1];
    out[1] = (w[0] + w[1] - w[2]) * y[2];
    out[2] = (w[1] - w[2] + w[3]) * y[2];
    out[3] = (w[4] - w[3]) * y[3];
    out[4] = (w[6] - w[4] - w[5]) * y[4] * y[5];
    out[5] = (w[4] + w[5] - w[6]) * y[6];
    out[6] = (w[5] - w[6] + w[7]) * y[6];
    out[7] = (w[8] - w[7]) * y[7];
    out[8] = (w[9] - w[0] - w[8]) * y[0] * y[8];
    out[9] = (w[0] + w[8] - w[9]) * y[9];
  };
  p.is_integral = false;
  p.seen = 9;
  p.absolute = Vector(10, 1.0);
  p.text = R"yaml(
case: kinetics
grid: {x: {cells: 1000, to: 1000, boundary: {slope: 0}}}
parameters: {k1: 2, k2: 0.5, k3: 1, k4: 0.3, k5: 4, k6: 1, k7: 0.6, k8: 0.5, k9: 1, k10: 0.1}
functions: {"r1(a, b)": "k1*(0.5 + x/1000)*a*b"}
state: {A: {initial: 2}, B: {initial: 0.5}, C: {initial: 0}, D: {initial: 0}, E: {initial: 0},
        F: {initial: 0.3}, G: {initial: 0}, H: {initial: 0}, I: {initial: 0}, J: {initial: 0}}
equations:
  dt(A): "-r1(A, B) + k2*C - k9*A*I + k10*J"
  dt(B): "-r1(A, B) + (k2 + k3)*C"
  dt(C): "r1(A, B) - (k2 + k3)*C"
  dt(D): "k3*C - k4*D"
  dt(E): "k4*D - k5*E*F + k6*G"
  dt(F): "-k5*E*F + (k6 + k7)*G"
  dt(G): "k5*E*F - (k6 + k7)*G"
  dt(H): "k7*G - k8*H"
  dt(I): "k8*H - k9*A*I + k10*J"
  dt(J): "k9*A*I - k10*J"
objective: [{final: J}]
unknowns: {k1: {}, k2: {}, k3: {}, k4: {}, k5: {}, k6: {}, k7: {}, k8: {}, k9: {}, k10: {}}
)yaml";
  p.fields = {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J"};
  return p;
}

double factor_of(const Problem& p, int member) {
  return p.name == "kinetics" ? 0.5 + (member + 0.5) / members : 1.0;
}

/// What a program found at one tolerance.
struct Found {
  double seconds = 0.0, objective = 0.0, megabytes = 0.0;
  Vector state, gradient;  // of all members, fields of a member one after another; the objective's
  long steps = 0;
};

/// CVODES on one system after another: each member has steps of its own.
class Peer {
 public:
  Peer(const Problem& problem, double tolerance) : p_(problem), tolerance_(tolerance) {
    SUNContext_Create(nullptr, &context_);
  }
  ~Peer() { SUNContext_Free(&context_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// As of Ours, but that its runs choose their steps anew: with the best of several increments.
  double difference_as_discretised() {
    const Vector gradient = this->gradient().gradient;
    double worst = 0.0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      double best = INFINITY;
      for (const double e : {1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4}) {
        const auto at = [&](double times) {
          Problem moved = p_;
          moved.parameters[i] *= 1.0 + times * e;
          return Peer(moved, tolerance_).gradient().objective;
        };
        const double slope = (at(1) - at(-1)) / (2 * e * p_.parameters[i]);
        best = std::min(best, std::fabs(slope / gradient[i] - 1.0));
      }
      worst = std::max(worst, best);
    }
    return worst;
  }

  Found gradient() {
    Found found;
    found.gradient.assign(static_cast<std::size_t>(p_.np), 0.0);
    const std::size_t before = heap();
    const Stopwatch watch;
    for (int m = 0; m < (p_.name == "kinetics" ? members : 1); ++m) solve(m, found, before);
    found.seconds = watch.seconds();
    return found;
  }

 private:
  struct Data {
    const Problem* problem;
    Vector parameters;
  };
  static std::size_t heap() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  }
  static int rhs(double, N_Vector y, N_Vector dy, void* user) {
    const auto* d = static_cast<const Data*>(user);
    d->problem->f(d->parameters.data(), N_VGetArrayPointer(y), N_VGetArrayPointer(dy));
    return 0;
  }
  static int jacobian(double, N_Vector y, N_Vector, SUNMatrix j, void* user, N_Vector, N_Vector, N_Vector) {
    const auto* d = static_cast<const Data*>(user);
    d->problem->jacobian(d->parameters.data(), N_VGetArrayPointer(y),
                         [&](int r, int c, double value) { SM_ELEMENT_D(j, r, c) = value; });
    return 0;
  }
  static int quadrature(double, N_Vector y, N_Vector dq, void* user) {
    N_VGetArrayPointer(dq)[0] = N_VGetArrayPointer(y)[static_cast<const Data*>(user)->problem->seen];
    return 0;
  }
  static int rhs_back(double, N_Vector y, N_Vector w, N_Vector dw, void* user) {
    const auto* d = static_cast<const Data*>(user);
    double* const out = N_VGetArrayPointer(dw);
    const double* const lambda = N_VGetArrayPointer(w);
    for (int i = 0; i < d->problem->n; ++i) out[i] = 0.0;
    d->problem->jacobian(d->parameters.data(), N_VGetArrayPointer(y),
                         [&](int r, int c, double value) { out[c] -= value * lambda[r]; });
    if (d->problem->is_integral) out[d->problem->seen] -= 1.0;
    return 0;
  }
  static int jacobian_back(double, N_Vector y, N_Vector, N_Vector, SUNMatrix j, void* user, N_Vector, N_Vector,
                           N_Vector) {
    const auto* d = static_cast<const Data*>(user);
    d->problem->jacobian(d->parameters.data(), N_VGetArrayPointer(y),
                         [&](int r, int c, double value) { SM_ELEMENT_D(j, c, r) = -value; });
    return 0;
  }
  static int quadrature_back(double, N_Vector y, N_Vector w, N_Vector dq, void* user) {
    const auto* d = static_cast<const Data*>(user);
    d->problem->by_parameters(d->parameters.data(), N_VGetArrayPointer(y), N_VGetArrayPointer(w),
                              N_VGetArrayPointer(dq));
    return 0;
  }

  void solve(int member, Found& found, std::size_t before) {
    Data data{&p_, p_.parameters};
    data.parameters[0] *= factor_of(p_, member);
    N_Vector y = N_VNew_Serial(p_.n, context_), absolute = N_VNew_Serial(p_.n, context_);
    for (int i = 0; i < p_.n; ++i) {
      NV_Ith_S(y, i) = p_.start[static_cast<std::size_t>(i)];
      NV_Ith_S(absolute, i) = tolerance_ * p_.absolute[static_cast<std::size_t>(i)];
    }
    void* const memory = CVodeCreate(CV_BDF, context_);
    require_cvodes(CVodeInit(memory, rhs, 0.0, y));
    require_cvodes(CVodeSVtolerances(memory, tolerance_, absolute));
    require_cvodes(CVodeSetUserData(memory, &data));
    require_cvodes(CVodeSetMaxNumSteps(memory, 1000000));
    SUNMatrix matrix = SUNDenseMatrix(p_.n, p_.n, context_), matrix_back = SUNDenseMatrix(p_.n, p_.n, context_);
    SUNLinearSolver solver = SUNLinSol_Dense(y, matrix, context_);
    require_cvodes(CVodeSetLinearSolver(memory, solver, matrix));
    require_cvodes(CVodeSetJacFn(memory, jacobian));
    N_Vector q = N_VNew_Serial(1, context_);
    N_VConst(0.0, q);
    if (p_.is_integral) {
      require_cvodes(CVodeQuadInit(memory, quadrature, q));
      require_cvodes(CVodeSetQuadErrCon(memory, SUNTRUE));
      require_cvodes(CVodeQuadSStolerances(memory, tolerance_, tolerance_));
    }
    require_cvodes(CVodeAdjInit(memory, 150, CV_HERMITE));
    double t = 0.0;
    int checkpoints = 0;
    require_cvodes(CVodeF(memory, p_.end, y, &t, CV_NORMAL, &checkpoints));
    long steps = 0;
    CVodeGetNumSteps(memory, &steps);
    found.steps = std::max(found.steps, steps);
    for (int i = 0; i < p_.n; ++i) found.state.push_back(NV_Ith_S(y, i));
    if (p_.is_integral) {
      CVodeGetQuad(memory, &t, q);
      found.state.push_back(NV_Ith_S(q, 0));
    }
    found.objective += p_.is_integral ? NV_Ith_S(q, 0) : NV_Ith_S(y, p_.seen);

    N_Vector w = N_VNew_Serial(p_.n, context_), qb = N_VNew_Serial(p_.np, context_);
    N_VConst(0.0, w);
    N_VConst(0.0, qb);
    if (!p_.is_integral) NV_Ith_S(w, p_.seen) = 1.0;
    int which = 0;
    require_cvodes(CVodeCreateB(memory, CV_BDF, &which));
    require_cvodes(CVodeInitB(memory, which, rhs_back, p_.end, w));
    require_cvodes(CVodeSStolerancesB(memory, which, tolerance_, tolerance_ * adjoint_scale_));
    require_cvodes(CVodeSetUserDataB(memory, which, &data));
    require_cvodes(CVodeSetMaxNumStepsB(memory, which, 1000000));
    SUNLinearSolver solver_back = SUNLinSol_Dense(w, matrix_back, context_);
    require_cvodes(CVodeSetLinearSolverB(memory, which, solver_back, matrix_back));
    require_cvodes(CVodeSetJacFnB(memory, which, jacobian_back));
    require_cvodes(CVodeQuadInitB(memory, which, quadrature_back, qb));
    require_cvodes(CVodeSetQuadErrConB(memory, which, SUNTRUE));
    require_cvodes(CVodeQuadSStolerancesB(memory, which, tolerance_, tolerance_ * adjoint_scale_));
    require_cvodes(CVodeB(memory, 0.0, CV_NORMAL));
    require_cvodes(CVodeGetQuadB(memory, which, &t, qb));
    for (int i = 0; i < p_.np; ++i)
      found.gradient[static_cast<std::size_t>(i)] -= NV_Ith_S(qb, i) * (i == 0 ? factor_of(p_, member) : 1.0);
    found.megabytes = std::max(found.megabytes, static_cast<double>(heap() - before) / 1e6);
    void* owned = memory;
    CVodeFree(&owned);
    for (SUNLinearSolver s : {solver, solver_back}) SUNLinSolFree(s);
    for (SUNMatrix m : {matrix, matrix_back}) SUNMatDestroy(m);
    for (N_Vector v : {y, absolute, q, w, qb}) N_VDestroy(v);
  }

  const Problem& p_;
  double tolerance_;
  double adjoint_scale_ = 1e-3;
  SUNContext context_ = nullptr;
};

/// A session, made once; gradients of it are timed.
class Ours {
 public:
  Ours(const Problem& p, const std::string& method, double tolerance) : problem_(p) {
    std::string absolute;
    for (std::size_t f = 0; f < p.fields.size(); ++f) {
      char text[64];
      std::snprintf(text, sizeof text, "%s%s: %.3g", f == 0 ? "" : ", ", p.fields[f].c_str(),
                    p.absolute[f] * tolerance);
      absolute += text;
    }
    char time[200];
    std::snprintf(time, sizeof time, "time: {method: %s, to: %.17g, tolerance: {relative: %.3g, ", method.c_str(),
                  p.end, tolerance);
    session_ = std::make_unique<Session>(
        parse_case("bench.yaml", p.text + time + "absolute: {" + absolute + "}}}\ncheckpoints: {host: 64 MB}\n", {}),
        Communicator(MPI_COMM_SELF), Sensitivities::adjoint);
  }

  Found gradient() {
    Found found;
    const Stopwatch watch;
    const Evaluation evaluation = session_->gradient({});
    found.seconds = watch.seconds();
    found.objective = evaluation.objective;
    for (const Vector& derivative : evaluation.gradient) found.gradient.push_back(derivative[0]);
    found.megabytes = static_cast<double>(session_->peak_bytes(Tier::host)) / 1e6;
    found.steps = static_cast<long>(session_->simulation().time().steps());
    return found;
  }

  /// The largest relative difference between the gradient and differences of runs of the same steps.
  double difference_as_discretised() {
    const Evaluation evaluation = session_->gradient({});
    Simulation& simulation = session_->simulation();
    simulation.fix_end();
    const UnknownValues start = simulation.values();
    double worst = 0.0;
    for (std::size_t i = 0; i < start.size(); ++i) {
      double best = INFINITY;
      for (const double e : {1e-3, 1e-4, 1e-5}) {
        const auto at = [&](double times) {
          UnknownValues moved = start;
          moved[i][0] *= 1.0 + times * e;
          simulation.set_values(moved);
          return session_->objective({});
        };
        const double slope = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * e * start[i][0]);
        best = std::min(best, std::fabs(slope / evaluation.gradient[i][0] - 1.0));
      }
      worst = std::max(worst, best);
    }
    simulation.set_values(start);
    return worst;
  }

  Vector state() {
    Vector all;
    const Grid& grid = session_->simulation().grid();
    const std::size_t n = problem_.fields.size();
    session_->objective([&](std::int64_t k, double, double* state) {
      if (k != session_->simulation().time().steps()) return;
      all.assign(static_cast<std::size_t>(grid.total_cells()) * n, 0.0);
      Vector cells(static_cast<std::size_t>(grid.total_cells()));
      for (std::size_t f = 0; f < n; ++f) {
        pack_cells(grid, state + grid.layout().origin + static_cast<std::int64_t>(f) * grid.layout().field_stride,
                   cells.data());
        for (std::size_t c = 0; c < cells.size(); ++c) all[c * n + f] = cells[c];
      }
    });
    return all;
  }

 private:
  const Problem& problem_;
  std::unique_ptr<Session> session_;
};

/// The largest error of a field, over its largest value.
double state_error(const Vector& found, const Vector& reference, std::size_t fields) {
  double worst = 0.0;
  for (std::size_t f = 0; f < fields; ++f) {
    double error = 0.0, size = 0.0;
    for (std::size_t i = f; i < reference.size(); i += fields) {
      error = std::max(error, std::fabs(found[i] - reference[i]));
      size = std::max(size, std::fabs(reference[i]));
    }
    worst = std::max(worst, error / size);
  }
  return worst;
}

double gradient_error(const Vector& found, const Vector& reference) {
  double worst = 0.0;
  for (std::size_t i = 0; i < reference.size(); ++i) worst = std::max(worst, std::fabs(found[i] / reference[i] - 1.0));
  return worst;
}

}  // namespace

void measure(int argc, char** argv) {
  nlohmann::json all, ratios, as_discretised;
  for (const Problem& problem : {robertson(4e7), robertson(1e11), van_der_pol(), kinetics()}) {
    const std::size_t fields = problem.fields.size();
    Ours tight(problem, "esdirk4", 1e-12);
    Found reference = tight.gradient();
    if (!problem.end_gradient.empty()) reference.gradient = problem.end_gradient;
    reference.state = tight.state();
    for (std::size_t i = 0; i < problem.end_state.size(); ++i) reference.state[i] = problem.end_state[i];
    std::printf("%s: reference (esdirk4, tolerance 1e-12, %ld steps): objective %.12g\n", problem.name.c_str(),
                reference.steps, reference.objective);
    std::map<std::string, std::vector<std::array<double, 2>>> works, steps;
    std::printf("%-10s %9s %8s %11s %11s %11s %9s\n", "", "tolerance", "steps", "state error", "grad. error",
                "time, ms", "MB");
    for (const double tolerance : {1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10}) {
      Ours rodas(problem, "rodas4", tolerance), esdirk(problem, "esdirk4", tolerance);
      Peer peer(problem, tolerance);
      std::map<std::string, Found> found;
      const std::vector<double> seconds =
          medians({[&] { found["rodas4"] = rodas.gradient(); }, [&] { found["esdirk4"] = esdirk.gradient(); },
                   [&] { found["cvodes"] = peer.gradient(); }},
                  problem.name == "kinetics" ? 3 : repetitions);
      if (tolerance == 1e-4 && problem.name.starts_with("robertson")) {
        const double ours = rodas.difference_as_discretised(), others = esdirk.difference_as_discretised();
        const double peers = peer.difference_as_discretised();
        std::printf("gradient beside differences of runs, tolerance 1e-4: rodas4 %.1e, esdirk4 %.1e, cvodes %.1e\n",
                    ours, others, peers);
        as_discretised[problem.name] = {{"rodas4", ours}, {"esdirk4", others}, {"cvodes", peers}};
      }
      found["rodas4"].state = rodas.state();
      found["esdirk4"].state = esdirk.state();
      std::size_t i = 0;
      for (const char* const who : {"rodas4", "esdirk4", "cvodes"}) {
        const Found& f = found[who];
        const double error = state_error(f.state, reference.state, fields);
        const double wrong = gradient_error(f.gradient, reference.gradient);
        std::printf("%-10s %9.0e %8ld %11.1e %11.1e %11.3f %9.3f\n", who, tolerance, f.steps, error, wrong,
                    seconds[i] * 1e3, f.megabytes);
        works[who].push_back({error, seconds[i]});
        steps[who].push_back({error, static_cast<double>(f.steps)});
        all.push_back({{"problem", problem.name},
                       {"by", who},
                       {"tolerance", tolerance},
                       {"steps", f.steps},
                       {"state_error", error},
                       {"gradient_error", wrong},
                       {"seconds", seconds[i++]},
                       {"megabytes", f.megabytes}});
      }
    }
    for (const char* const who : {"rodas4", "esdirk4"})
      for (const double error : {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8})
        if (const double ratio = cost_at(works["cvodes"], error) / cost_at(works[who], error); std::isfinite(ratio)) {
          const double more_steps = cost_at(steps["cvodes"], error) / cost_at(steps[who], error);
          std::printf(
              "  at an error of the end state of %.0e CVODES takes %.1f times as long as %s, and %.1f times as "
              "many steps\n",
              error, ratio, who, more_steps);
          ratios.push_back({{"problem", problem.name},
                            {"by", who},
                            {"state_error", error},
                            {"cvodes_seconds_over", ratio},
                            {"cvodes_steps_over", more_steps}});
        }
    std::fflush(stdout);
  }
  const nlohmann::json result = {{"runs", all}, {"at_equal_errors", ratios}, {"beside_differences", as_discretised}};
  if (argc > 1) std::ofstream(argv[1]) << result.dump(1) << "\n";
}

}  // namespace hindsight::bench
