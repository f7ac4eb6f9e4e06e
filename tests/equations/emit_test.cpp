// ranks: 1 2
// Compiled kernels, and those that are tapes, give the interpreter's bits.
#include <gtest/gtest.h>

#include <bit>

#include "runtime/emulated/emulated_device.hpp"
#include "runtime/memory.hpp"
#include "solvers/equations/derive.hpp"
#include "solvers/equations/discretise.hpp"
#include "solvers/equations/kernel.hpp"
#include "solvers/equations/row_buffers.hpp"
#include "solvers/equations/simplify.hpp"
#include "tests/equations/periodic_grid.hpp"
#include "tests/equations/random_graph.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

using testing::Values;

constexpr int halo = 4;

/// Arrays with halos, all filled, and the tables that a launch reads.
class Box {
 public:
  Box(const Graph& graph, std::array<int, 3> cells) : graph_(graph), cells_(cells) {
    std::mt19937_64 engine(11);
    std::uniform_real_distribution<double> uniform(0.2, 1.8);
    const std::size_t size = static_cast<std::size_t>(width(0)) * width(1) * width(2);
    for (std::size_t f = 0; f < graph.fields().size(); ++f) {
      arrays_.emplace_back(size);
      for (double& value : arrays_.back()) value = uniform(engine);
    }
    for (std::size_t s = 0; s < graph.scalars().size(); ++s) scalars_.push_back(uniform(engine));
    for (int axis = 0; axis < 3; ++axis)
      for (int i = 0; i < width(axis); ++i) x_[static_cast<std::size_t>(axis)].push_back(0.1 * (i - halo) + axis);
  }

  int width(int axis) const { return cells_[static_cast<std::size_t>(axis)] + 2 * halo; }
  std::size_t index(int i, int j, int k) const {
    return static_cast<std::size_t>(i + halo + width(0) * (j + halo + width(1) * (k + halo)));
  }
  const Values& array(const std::string& name) const {
    return arrays_[static_cast<std::size_t>(graph_.field_index(name))];
  }
  std::size_t rows() const { return static_cast<std::size_t>(cells_[1] * cells_[2]); }

  /// Values of the roots at a cell, from the arrays as they are now.
  Values interpret_at(const std::vector<Expr>& roots, int i, int j, int k) const {
    const int at[3] = {i, j, k};
    return interpret(roots,
                     {[&](int symbol) { return scalars_[static_cast<std::size_t>(symbol)]; },
                      [&](int symbol, Offset o) {
                        return arrays_[static_cast<std::size_t>(symbol)][index(i + o[0], j + o[1], k + o[2])];
                      },
                      [&](int axis, int offset) {
                        return x_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(at[axis] + offset + halo)];
                      }});
  }

  /// Returns when it is done, on host arrays whatever the machine.
  void launch(const Kernel& kernel, std::vector<Values>& sums, Boxes rows, Machine& machine) {
    std::vector<double*> fields, accumulators;
    for (Values& array : arrays_) fields.push_back(array.data() + index(0, 0, 0));
    for (Values& sum : sums) accumulators.push_back(sum.data());
    const double* coordinates[3] = {x_[0].data() + halo, x_[1].data() + halo, x_[2].data() + halo};
    const ArrayStrides strides{width(0), std::int64_t{width(0)} * width(1)};
    const Launch launch{fields.data(),
                        scalars_.data(),
                        coordinates,
                        accumulators.data(),
                        {0, 0, 0},
                        {cells_[0], cells_[1], cells_[2]},
                        &strides,
                        rows == Boxes::rows ? 1 : 0,
                        rows == Boxes::rows ? cells_[1] : 0};
    kernel(launch);
    machine.finish();
  }

  template <class Function>
  void for_each_cell(Function f) const {
    for (int k = 0; k < cells_[2]; ++k)
      for (int j = 0; j < cells_[1]; ++j)
        for (int i = 0; i < cells_[0]; ++i) f(i, j, k);
  }

 private:
  const Graph& graph_;
  std::array<int, 3> cells_;
  std::vector<Values> arrays_;
  Values scalars_;
  std::array<Values, 3> x_;
};

std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}
bool same(double a, double b) {
  return bits(a) == bits(b) || (a != a && b != b);
}

/// How kernels run.
struct Way {
  Machine* machine = nullptr;
  std::size_t longest = longest_compiled;  ///< 0: all are tapes

  KernelLibrary load(const KernelSpec& kernel, Boxes boxes) const {
    return {{kernel}, boxes, Communicator(MPI_COMM_WORLD), *machine, longest};
  }
};

std::array<Way, 3> ways() {
  static const std::unique_ptr<Machine> device = emulated::open_machine();
  return {Way{&Machine::host()}, Way{&Machine::host(), 0}, Way{device.get()}};
}

/// Runs one kernel that writes `roots` to fields out0, out1, ... and compares every bit.
void expect_same_bits(Graph& graph, const std::vector<Expr>& roots, std::array<int, 3> cells, const Way& way) {
  KernelSpec kernel{"kernel", {}, {}};
  for (std::size_t r = 0; r < roots.size(); ++r) {
    const std::string name = "out" + std::to_string(r);
    (void)graph.field(name);
    kernel.outputs.push_back({name, roots[r]});
  }
  Box box(graph, cells);
  std::vector<Values> expected;
  box.for_each_cell([&](int i, int j, int k) { expected.push_back(box.interpret_at(roots, i, j, k)); });
  const KernelLibrary library = way.load(kernel, Boxes::rows);
  std::vector<Values> sums;
  box.launch(library[0], sums, Boxes::rows, *way.machine);
  std::size_t cell = 0;
  box.for_each_cell([&](int i, int j, int k) {
    for (std::size_t r = 0; r < roots.size(); ++r) {
      const double got = box.array("out" + std::to_string(r))[box.index(i, j, k)];
      ASSERT_TRUE(same(got, expected[cell][r]))
          << r << " at " << i << "," << j << "," << k << ": " << got << " and " << expected[cell][r];
    }
    ++cell;
  });
}

void expect_same_bits(Graph& graph, const std::vector<Expr>& roots, std::array<int, 3> cells) {
  for (const Way& way : ways()) expect_same_bits(graph, roots, cells, way);
}

TEST(Emit, EveryOperationHasTheBitsOfTheInterpreter) {
  Graph graph;
  const Expr u = graph.field("u", {1, 0, 0}), v = graph.field("v", {0, -1, 1}), p = graph.scalar("p");
  const Expr d = u - v, c = u < v, zero = c * (v < u), nan = log(-u);
  std::vector<Expr> roots = {-u,
                             u + v,
                             u - v,
                             u * v,
                             u / v,
                             abs(d),
                             sqrt(u),
                             min(u, v),
                             max(u, v),
                             pow(u, v),
                             exp(d),
                             log(u),
                             sin(d),
                             cos(d),
                             tan(d),
                             tanh(d),
                             c,
                             u <= v,
                             where(c, u, v),
                             u * p,
                             graph.coordinate(0, {2, 0, 0}) * u,
                             graph.coordinate(1, {0, -1, 0}) * u,
                             graph.coordinate(2) + v,
                             graph.make(Op::sign, {d}),
                             graph.make(Op::fma, {u, v, p}),
                             graph.make(Op::equal, {c, graph.scalar("q") < p}),
                             graph.make(Op::logical_and, {c, u < p}),
                             graph.make(Op::logical_or, {c, u < p}),
                             graph.make(Op::logical_not, {c}),
                             p * p + 3.0,
                             log(-u),
                             u / zero,
                             zero / zero,
                             min(zero, -zero),
                             max(zero, -zero),
                             min(-zero, zero),
                             max(-zero, zero),
                             min(nan, u),
                             max(nan, u),
                             min(u, nan),
                             max(u, nan),
                             u <= nan,
                             where(nan, u, v),
                             graph.make(Op::less_equal, {u, u}),
                             graph.make(Op::sign, {nan}),
                             graph.make(Op::logical_and, {nan, c}),
                             graph.make(Op::logical_not, {nan}),
                             sqrt(d),
                             where(c, log(d), sqrt(d))};
  expect_same_bits(graph, roots, {37, 3, 2});
}

/// Whether a host computes several cells of them at once, and takes rows in pairs.
struct Written {
  bool has_vectors, has_pairs;
};
Written written(const std::vector<Expr>& roots) {
  KernelSpec kernel{"kernel", {}, {}};
  for (const Expr& root : roots) kernel.outputs.push_back({"u", root});
  const std::string text = emit_c({kernel}, Boxes::rows);
  return {text.find("const vector v") != text.npos, text.find("rows == 2") != text.npos};
}

TEST(Emit, CellsBesideEachOtherInVectorsHaveTheBitsOfTheInterpreter) {
  for (const bool is_of_rows : {false, true}) {
    Graph graph;
    const Expr u = graph.field("u"), v = graph.field("v", {0, -1, 1}), p = graph.scalar("p");
    const Expr d = u - v, c = u < v, zero = c * (v < u), nan = zero / zero;
    std::vector<Expr> roots = {-u,
                               u + p,
                               u * v - p,
                               u / v,
                               -zero,
                               abs(-zero),
                               abs(d),
                               min(zero, -zero),
                               max(-zero, zero),
                               min(nan, u),
                               max(u, nan),
                               c,
                               u <= nan,
                               where(c, u, v),
                               where(nan, p, v),
                               where(abs(d) < p, graph.constant(0.0), d),
                               p * p + 3.0,
                               graph.coordinate(0, {2, 0, 0}) * u,
                               graph.make(Op::sign, {d}),
                               graph.make(Op::sign, {nan}),
                               graph.make(Op::fma, {u, v, p}),
                               graph.make(Op::fma, {-u, v, d}),
                               graph.make(Op::equal, {c, u <= v}),
                               graph.make(Op::logical_and, {nan, c}),
                               graph.make(Op::logical_or, {c, u < p}),
                               graph.make(Op::logical_not, {nan}),
                               graph.make(Op::logical_not, {c}) * d,
                               graph.field("u", {4, 1, 0})};
    for (const std::int8_t y : {std::int8_t{-1}, std::int8_t{0}, std::int8_t{2}})
      for (std::int8_t x = -4; x <= 4; ++x) roots.push_back(graph.field("u", {x, y, 0}) - v);
    if (is_of_rows) roots.push_back(graph.coordinate(1, {0, -1, 0}) * u);
    // The longest kernels take row after row.
    const std::vector<Expr> few(roots.end() - 12, roots.end());
    EXPECT_TRUE(written(roots).has_vectors);
    EXPECT_EQ(written(few).has_pairs, !is_of_rows);
    for (const int width : {1, 2, 3, 7, 8, 9, 16, 21}) expect_same_bits(graph, roots, {width, 3, 2});
    for (const int rows : {1, 2, 3, 4}) expect_same_bits(graph, few, {8 + 5 * rows, rows, 2});
  }
}

TEST(Emit, RandomGraphsAndTheirDerivativesHaveTheBitsOfTheInterpreter) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    Graph graph;
    testing::RandomGraph random(graph, seed, 2);
    std::vector<Expr> roots;
    for (const testing::Twin& twin : random.twins(40)) roots.push_back(twin.expr);
    roots.erase(roots.begin(), roots.end() - 6);
    const Adjoint bar = adjoint({roots[5]}, {graph.constant(1.0)}, {"u", "v"}, {"p"});
    for (Expr e : tangent(roots, {{true, "u", "du"}, {false, "p", "dp"}})) roots.push_back(e);
    roots.insert(roots.end(), bar.fields.begin(), bar.fields.end());
    roots.insert(roots.end(), bar.scalars.begin(), bar.scalars.end());
    const std::vector<Reach> all = reach(roots);
    const bool fits =
        std::all_of(all.begin(), all.end(), [](const Reach& r) { return r.depth[0] <= halo && r.depth[1] <= halo; });
    ASSERT_TRUE(fits);
    expect_same_bits(graph, fuse_multiply_add(roots), {21, 3, 1});
  }
}

/// Gathers of stencils with variable coefficients, whose multipliers times coefficients are kept by rows.
TEST(Emit, RowsThatAreKeptHaveTheBitsOfTheInterpreter) {
  for (const int order : {2, 8}) {
    Graph graph;
    const Expr u = graph.field("u"), c = graph.field("c"), s = graph.field("s");
    const Stencils stencils{2, {0.1, 0.2, 0.3}, order, FaceMean::arithmetic};
    const std::vector<Expr> right = discretise(
        {c * c * laplacian(u, 2) / (1.0 + s * graph.coordinate(0) + graph.coordinate(1) * graph.coordinate(1)),
         derivative(c * u, 0, 1) + sin(s * u)},
        stencils);
    const Adjoint bar = adjoint(right, {graph.field("lambda"), graph.field("mu")}, {"u", "c"}, {});
    const std::vector<Expr> roots = fuse_multiply_add(bar.fields);
    const std::vector<RowBuffer> buffers = row_buffers({"kernel", {{"a", roots[0]}, {"b", roots[1]}}, {}});
    ASSERT_FALSE(buffers.empty());
    EXPECT_EQ(buffers[0].readers.size(), order == 2 ? 5U : 17U);
    EXPECT_EQ(buffers[0].y, (std::array<int, 2>{-order / 2, order / 2}));
    expect_same_bits(graph, roots, {5, 7, 2});
    expect_same_bits(graph, roots, {531, 3, 1});
  }
}

TEST(Emit, EquationsAndTheirAdjointsHaveTheBitsOfTheInterpreter) {
  Graph graph;
  const Expr u = graph.field("u"), v = graph.field("v"), a = graph.scalar("a");
  const std::vector<Expr> right =
      discretise({a * laplacian(u, 3) - u * v * v, div_grad(1.0 + u * u, v), upwind(u - v, u, 0)},
                 {3, {0.1, 0.2, 0.3}, 4, FaceMean::arithmetic});
  const Adjoint bar = adjoint({right[0]}, {graph.field("lambda")}, {"u", "v"}, {"a"});
  std::vector<Expr> roots = right;
  roots.insert(roots.end(), bar.fields.begin(), bar.fields.end());
  roots.push_back(bar.scalars[0]);
  expect_same_bits(graph, fuse_multiply_add(roots), {19, 5, 4});
}

/// Boxes that take several blocks and chunks of a device.
TEST(Emit, LargeBoxesHaveTheSameBitsInAllWays) {
  Graph graph;
  const Expr u = graph.field("u");
  const Expr root = discretise({laplacian(u, 3)}, {3, {0.1, 0.2, 0.3}, 2, FaceMean::arithmetic})[0];
  (void)graph.field("out");
  const KernelSpec kernel{"kernel", {{"out", root}}, {}};
  for (const std::array<int, 3> cells : {std::array<int, 3>{1031, 1029, 1}, {129, 131, 67}}) {
    std::array<Values, 3> out;
    for (std::size_t m = 0; m < out.size(); ++m) {
      Box box(graph, cells);
      const KernelLibrary library = ways()[m].load(kernel, Boxes::rows);
      std::vector<Values> sums;
      box.launch(library[0], sums, Boxes::rows, *ways()[m].machine);
      out[m] = box.array("out");
    }
    EXPECT_EQ(out[0], out[1]);
    EXPECT_EQ(out[0], out[2]);
  }
}

TEST(Emit, AnOutputMayReplaceAFieldThatIsReadAtTheCellItself) {
  Graph graph;
  const Expr u = graph.field("u"), v = graph.field("v", {1, 0, 0});
  (void)graph.field("w");
  const KernelSpec kernel{"update", {{"u", u * v + 1.0}, {"w", u}}, {}};
  for (const Way& way : ways()) {
    Box box(graph, {300, 2, 1});
    std::vector<Values> expected;
    box.for_each_cell([&](int i, int j, int k) { expected.push_back(box.interpret_at(kernel.roots(), i, j, k)); });
    const KernelLibrary library = way.load(kernel, Boxes::rows);
    std::vector<Values> sums;
    box.launch(library[0], sums, Boxes::rows, *way.machine);
    std::size_t cell = 0;
    box.for_each_cell([&](int i, int j, int k) {
      EXPECT_EQ(bits(box.array("u")[box.index(i, j, k)]), bits(expected[cell][0]));
      EXPECT_EQ(bits(box.array("w")[box.index(i, j, k)]), bits(expected[cell++][1]));
    });
  }
}

/// The documented order: lane = cell mod 8, lanes in order of cells, then pairs.
double row_sum(const Values& summands) {
  std::array<double, 8> lane{};
  for (std::size_t i = 0; i < summands.size(); ++i) lane[i % 8] += summands[i];
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

TEST(Emit, SumsByRowsHaveAFixedOrder) {
  for (int nx : {1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 14, 15, 17, 22, 23, 30, 31, 255, 256, 257, 263, 1000}) {
    Graph graph;
    const Expr u = graph.field("u"), v = graph.field("v"), e = u * v, s = u - v;
    (void)graph.field("out");
    const KernelSpec kernel{"sums", {{"out", u + v}}, {{1, e}, {0, s}}};
    for (const Way& way : ways()) {
      Box box(graph, {nx, 3, 2});
      std::vector<Values> sums(2, Values(box.rows(), 0.5));
      const KernelLibrary library = way.load(kernel, Boxes::rows);
      box.launch(library[0], sums, Boxes::rows, *way.machine);
      for (int k = 0; k < 2; ++k)
        for (int j = 0; j < 3; ++j) {
          Values products, differences;
          for (int i = 0; i < nx; ++i) {
            const Values at = box.interpret_at({e, s}, i, j, k);
            products.push_back(at[0]), differences.push_back(at[1]);
          }
          const auto row = static_cast<std::size_t>(j + 3 * k);
          EXPECT_EQ(bits(sums[1][row]), bits(0.5 + row_sum(products))) << nx;
          EXPECT_EQ(bits(sums[0][row]), bits(0.5 + row_sum(differences))) << nx;
        }
    }
  }
}

TEST(Emit, SumsByCellsAddToEachCell) {
  Graph graph;
  const Expr u = graph.field("u"), e = u * graph.field("v", {-1, 0, 0});
  const KernelSpec kernel{"sums", {}, {{0, e}, {0, u}}};
  for (const Way& way : ways()) {
    Box box(graph, {45, 1, 1});
    std::vector<Values> sums(1, Values(45, 0.25));
    const KernelLibrary library = way.load(kernel, Boxes::line);
    box.launch(library[0], sums, Boxes::line, *way.machine);
    for (int i = 0; i < 45; ++i) {
      const Values at = box.interpret_at({e, u}, i, 0, 0);
      EXPECT_EQ(bits(sums[0][static_cast<std::size_t>(i)]), bits((0.25 + at[0]) + at[1])) << i;
    }
  }
}

TEST(Emit, TheSourceDependsOnTheKernelsAlone) {
  const auto source = [](bool busy) {
    Graph graph;
    const Expr u = graph.field("u"), v = graph.field("v");
    const Expr e = sin(u) * v + 1.0;
    if (busy) (void)(exp(e) - cos(v));
    return emit_c({{"k", {{"u", e}}, {}}}, Boxes::rows);
  };
  EXPECT_EQ(source(false), source(true));
  EXPECT_EQ(source(false), source(false));
}

TEST(Emit, OperatorsThatWereNotDiscretisedAreABug) {
  Graph graph;
  EXPECT_THROW(emit_c({{"k", {{"u", laplacian(graph.field("u"), 2)}}, {}}}, Boxes::rows), Error);
}

/// A kernel that reads and writes doubles on a grid and singles on a part of it, where it is launched.
void expect_other_arrays(const Way& way) {
  Machine& machine = *way.machine;
  Graph graph;
  const Expr u = graph.field("u"), s = graph.field("s"), far = graph.field("s", {1, -1, 0});
  graph.field("v");
  for (const char* name : {"s", "s_next"}) graph.set_kind(graph.field(name).node().symbol, {Element::float32, 1});
  const KernelSpec kernel = fused({"mixed", {{"v", u + 2.0 * far}, {"s_next", s + u}}, {}});
  const KernelLibrary library = way.load(kernel, Boxes::rows);
  constexpr std::int64_t nx = 7, ny = 5, sx = 4, sy = 3, begin = 1;  // the part begins at cell (1, 1)
  Memory us(nx * ny, machine), vs(nx * ny, machine), ss(sx * sy / 2, machine), nexts(sx * sy / 2, machine);
  std::vector<double> host(nx * ny);
  std::vector<float> singles(sx * sy);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = 0.125 * static_cast<double>(i);
  for (std::size_t i = 0; i < singles.size(); ++i) singles[i] = 1.0F / static_cast<float>(i + 3);
  machine.copy(us.data(), host.data(), us.size());
  machine.copy(ss.data(), reinterpret_cast<const double*>(singles.data()), ss.size());
  std::vector<double*> fields(graph.fields().size());
  const auto place = [&](const char* name) -> double*& {
    return fields[static_cast<std::size_t>(graph.field_index(name))];
  };
  const auto part = [&](const Memory& of) {
    return reinterpret_cast<double*>(reinterpret_cast<float*>(of.data()) - begin - begin * sx);
  };
  place("u") = us.data();
  place("v") = vs.data();
  place("s") = part(ss);
  place("s_next") = part(nexts);
  const ArrayStrides strides[] = {{nx, nx * ny}, {sx, sx * sy}};
  const double* coordinates[3] = {nullptr, nullptr, nullptr};
  const Launch launch{fields.data(), nullptr, coordinates, nullptr, {1, 2, 0}, {4, 4, 1}, strides, 1, ny};
  library[0](launch);
  machine.finish();
  const std::vector<double> found = machine.values(vs.data(), vs.size()),
                            words = machine.values(nexts.data(), nexts.size());
  const auto* const next = reinterpret_cast<const float*>(words.data());
  for (std::int64_t j = 2; j < 4; ++j)
    for (std::int64_t i = 1; i < 4; ++i) {
      const auto single = [&](std::int64_t x, std::int64_t y) {
        return singles[static_cast<std::size_t>(x - begin + sx * (y - begin))];
      };
      const double own = host[static_cast<std::size_t>(i + nx * j)];
      EXPECT_EQ(found[static_cast<std::size_t>(i + nx * j)], own + 2.0 * static_cast<double>(single(i + 1, j - 1)));
      EXPECT_EQ(next[i - begin + sx * (j - begin)], static_cast<float>(static_cast<double>(single(i, j)) + own));
    }
}

TEST(Emit, ArraysOfOtherLayoutsAndElements) {
  for (const Way& way : ways()) expect_other_arrays(way);
}

}  // namespace
}  // namespace hindsight
