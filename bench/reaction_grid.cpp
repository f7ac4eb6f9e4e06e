#include "bench/reaction_grid.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>

namespace hindsight::bench {
namespace {

constexpr const char* bump = "exp(-50*((x - 0.3)^2 + (y - 0.4)^2))";

/// u and v of the owned cells, whose numbers follow each other.
void for_cells(Vec u, Vec out, const std::function<void(const double* in, double* to)>& work, int fields) {
  PetscInt size = 0;
  const PetscScalar* in = nullptr;
  PetscScalar* to = nullptr;
  VecGetLocalSize(u, &size);
  VecGetArrayRead(u, &in);
  VecGetArray(out, &to);
  for (PetscInt i = 0; i < size; i += fields) work(in + i, to + i);
  VecRestoreArray(out, &to);
  VecRestoreArrayRead(u, &in);
}

}  // namespace

/// A plate whose steps let heat through 11 cells of 512.
ReactionProblem heat(int cells, int steps) {
  return {"heat", 1, 1.0, 0.0, 0.0, 0.0, 5e-4 * steps, cells, steps};
}

ReactionProblem autocatalysis(int cells, int steps) {
  return {"autocatalysis", 2, 0.01, 1.0, 0.5, 20.0, 1e-2 * steps, cells, steps};
}

std::string case_text(const ReactionProblem& p) {
  const std::string grid = fmt::format("{{cells: {}, to: 1, boundary: periodic}}", p.cells);
  const std::string head =
      fmt::format("case: {}\ngrid: {{x: {}, y: {}}}\nparameters: {{D: {:.17g}, a: {:.17g}, b: {:.17g}, r: {:.17g}}}\n",
                  p.name, grid, grid, p.diffusion, p.a, p.b, p.rate);
  if (!p.reacts())
    return head + fmt::format(
                      "state: {{u: {{initial: \"{}\"}}}}\nequations: {{dt(u): \"D*lap(u)\"}}\n"
                      "objective: [{{final: \"u^2\"}}]\nunknowns: {{D: {{}}, initial(u): {{}}}}\n",
                      bump);
  return head + fmt::format(
                    "state: {{u: {{initial: \"1 - 0.5*{0}\"}}, v: {{initial: \"0.1 + 0.5*{0}\"}}}}\n"
                    "equations:\n  dt(u): \"D*lap(u) - a*dx(u) - b*dy(u) - r*u*v^2\"\n"
                    "  dt(v): \"D*lap(v) - a*dx(v) - b*dy(v) + r*u*v^2\"\n"
                    "objective: [{{final: \"v^2\"}}]\nunknowns: {{r: {{}}, initial(u): {{}}}}\n",
                    bump);
}

ReactionGrid::ReactionGrid(const ReactionProblem& problem, MPI_Comm comm) : problem_(problem) {
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  DMDACreate2d(comm, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DMDA_STENCIL_STAR, problem_.cells, problem_.cells, 1,
               ranks, problem_.fields, 1, nullptr, nullptr, &dm_);
  DMSetUp(dm_);
}

void ReactionGrid::set_initial(Vec u) const {
  DMDALocalInfo info;
  PetscScalar*** out = nullptr;
  DMDAGetLocalInfo(dm_, &info);
  DMDAVecGetArrayDOF(dm_, u, &out);
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j)
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
      const double x = (i + 0.5) * problem_.width() - 0.3, y = (j + 0.5) * problem_.width() - 0.4;
      const double height = std::exp(-50 * (x * x + y * y));
      out[j][i][0] = problem_.reacts() ? 1 - 0.5 * height : height;
      if (problem_.reacts()) out[j][i][1] = 0.1 + 0.5 * height;
    }
  DMDAVecRestoreArrayDOF(dm_, u, &out);
}

/// @param direction -1: of the transpose.
void ReactionGrid::diffuse_and_carry(Vec u, Vec out, double direction) const {
  DMDALocalInfo info;
  Vec local = nullptr;
  PetscScalar ***in = nullptr, ***to = nullptr;
  DMDAGetLocalInfo(dm_, &info);
  DMGetLocalVector(dm_, &local);
  DMGlobalToLocalBegin(dm_, u, INSERT_VALUES, local);
  DMGlobalToLocalEnd(dm_, u, INSERT_VALUES, local);
  DMDAVecGetArrayDOFRead(dm_, local, &in);
  DMDAVecGetArrayDOF(dm_, out, &to);
  const double d = problem_.diffusion / (problem_.width() * problem_.width());
  const double a = direction * problem_.a / (2 * problem_.width()), b = direction * problem_.b / (2 * problem_.width());
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j)
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i)
      for (PetscInt f = 0; f < info.dof; ++f)
        to[j][i][f] = (d - a) * in[j][i + 1][f] + (d + a) * in[j][i - 1][f] + (d - b) * in[j + 1][i][f] +
                      (d + b) * in[j - 1][i][f] - 4 * d * in[j][i][f];
  DMDAVecRestoreArrayDOF(dm_, out, &to);
  DMDAVecRestoreArrayDOFRead(dm_, local, &in);
  DMRestoreLocalVector(dm_, &local);
}

void ReactionGrid::rates(Vec u, Vec out) const {
  diffuse_and_carry(u, out, 1.0);
  if (!problem_.reacts()) return;
  const double r = problem_.rate;
  const auto react = [r](const double* c, double* to) {
    const double amount = r * c[0] * c[1] * c[1];
    to[0] -= amount;
    to[1] += amount;
  };
  for_cells(u, out, react, 2);
}

void ReactionGrid::jacobian_times(Vec u, Vec v, Vec out, bool is_transposed) const {
  diffuse_and_carry(v, out, is_transposed ? -1.0 : 1.0);
  if (!problem_.reacts()) return;
  const PetscScalar* direction = nullptr;
  VecGetArrayRead(v, &direction);
  const PetscScalar* next = direction;
  const double r = problem_.rate;
  const auto react = [&next, r, is_transposed](const double* c, double* to) {
    const double by_u = r * c[1] * c[1], by_v = 2 * r * c[0] * c[1];
    const double amount = is_transposed ? next[1] - next[0] : by_u * next[0] + by_v * next[1];
    to[0] += is_transposed ? by_u * amount : -amount;
    to[1] += is_transposed ? by_v * amount : amount;
    next += 2;
  };
  for_cells(u, out, react, 2);
  VecRestoreArrayRead(v, &direction);
}

void ReactionGrid::assemble(Vec u, double shift, Mat matrix) const {
  DMDALocalInfo info;
  PetscScalar*** in = nullptr;
  DMDAGetLocalInfo(dm_, &info);
  DMDAVecGetArrayDOFRead(dm_, u, &in);
  const double d = problem_.diffusion / (problem_.width() * problem_.width()), r = problem_.rate;
  const double a = problem_.a / (2 * problem_.width()), b = problem_.b / (2 * problem_.width());
  const PetscInt offsets[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
  const double neighbours[4] = {d - a, d + a, d - b, d + b};
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j)
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i)
      for (PetscInt f = 0; f < info.dof; ++f) {
        MatStencil row{0, j, i, f}, columns[6];
        PetscScalar values[6];
        for (int n = 0; n < 4; ++n) {
          columns[n] = {0, j + offsets[n][1], i + offsets[n][0], f};
          values[n] = -neighbours[n];
        }
        columns[4] = row;
        values[4] = shift + 4 * d;
        if (problem_.reacts()) {
          const double u0 = in[j][i][0], v0 = in[j][i][1], sign = f == 0 ? 1.0 : -1.0;
          columns[5] = {0, j, i, 1 - f};
          values[4] += sign * (f == 0 ? r * v0 * v0 : 2 * r * u0 * v0);
          values[5] = sign * (f == 0 ? 2 * r * u0 * v0 : r * v0 * v0);
        }
        MatSetValuesStencil(matrix, 1, &row, problem_.reacts() ? 6 : 5, columns, values, INSERT_VALUES);
      }
  DMDAVecRestoreArrayDOFRead(dm_, u, &in);
  MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY);
  MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY);
}

void ReactionGrid::by_scalar(Vec u, Vec out) const {
  if (!problem_.reacts()) {
    diffuse_and_carry(u, out, 1.0);
    VecScale(out, 1.0 / problem_.diffusion);
    return;
  }
  const auto react = [](const double* c, double* to) {
    to[1] = c[0] * c[1] * c[1];
    to[0] = -to[1];
  };
  for_cells(u, out, react, 2);
}

double ReactionGrid::objective(Vec u, Vec seed) const {
  const double area = problem_.width() * problem_.width();
  const int last = problem_.fields - 1;
  double sum = 0.0;
  VecSet(seed, 0.0);
  const auto add = [&sum, area, last](const double* c, double* to) {
    sum += area * c[last] * c[last];
    to[last] = 2 * area * c[last];
  };
  for_cells(u, seed, add, problem_.fields);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, PetscObjectComm(reinterpret_cast<PetscObject>(dm_)));
  return sum;
}

std::vector<double> ReactionGrid::own_values(Vec from) const {
  PetscInt size = 0;
  const PetscScalar* values = nullptr;
  VecGetLocalSize(from, &size);
  VecGetArrayRead(from, &values);
  std::vector<double> all(values, values + size);
  VecRestoreArrayRead(from, &values);
  return all;
}

std::vector<double> ReactionGrid::own_first_field(Vec from) const {
  const std::vector<double> all = own_values(from);
  std::vector<double> first;
  for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(problem_.fields)) first.push_back(all[i]);
  return first;
}

}  // namespace hindsight::bench
