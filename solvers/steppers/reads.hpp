// How far kernels read, and the ghosts that follow from it.
#pragma once

#include <array>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "solvers/equations/kernel.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/steppers/pass.hpp"

namespace hindsight {

/// Visits where a kernel reads one set of field symbols (all, and the coordinates of cells, when empty), once per
/// offset and symbol.
void for_reads(const KernelSpec& kernel, const std::vector<int>& symbols,
               const std::function<void(const Offset&)>& visit);
/// The deepest reads of any of the kernels, of one set of field symbols (of all, and of coordinates, when empty).
Reach deepest(const std::vector<const KernelSpec*>& kernels, const std::vector<int>& symbols);
std::vector<const KernelSpec*> pointers(const std::vector<KernelSpec>& kernels);

/// Indices in Graph::noises() of what the kernels read and what changes with the step.
std::vector<std::size_t> noises_read(const Graph& graph, const std::vector<const KernelSpec*>& kernels);

/// Depth of the rings of ghosts that feed interior cells through walls: how far the expressions read; 0 on axes without
/// walls.
std::array<int, 3> ring_depth(const Model& model, const std::vector<Expr>& expressions);

/// Whether expressions depend on the time, by series too, or on the length of the step, which may change with it.
bool depends_on_time(const Model& model, const std::vector<Expr>& expressions);
/// The values of all walls.
std::vector<Expr> wall_values(const Model& model);

/// The ghosts of `symbols` as deep as `kernel` reads them.
GhostGroup ghosts_for(const KernelSpec& kernel, const std::vector<int>& symbols, const std::vector<FieldWalls>* walls);

/// Bytes that a kernel must read and write per cell: each field read once, each output written once.
std::pair<int, int> traffic(const KernelSpec& kernel);
/// The same of several that run together. @param within symbols of arrays that stay in a cache.
std::pair<int, int> traffic(const std::vector<const KernelSpec*>& kernels, const std::set<int>& within);

std::array<int, 3> add(std::array<int, 3> a, const std::array<int, 3>& b);
std::array<int, 3> deeper(std::array<int, 3> a, const std::array<int, 3>& b);

}  // namespace hindsight
