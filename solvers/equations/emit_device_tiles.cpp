#include "solvers/equations/emit_device_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "runtime/subnormals.hpp"
#include "solvers/equations/kernel_text.hpp"
#include "solvers/equations/tape.hpp"

namespace hindsight {
namespace {

using Level = KernelText::Level;

constexpr int threads = 256;
constexpr int widest = 128;
// A tile is at least this part of what its block reads.
constexpr double least_part = 1.0 / 3.0;
// A compiler takes some seconds for so many lines of all kernels.
constexpr std::size_t longest = 3000;

/// Arrays in shared memory that have as many cells around a tile, and with that one place for each cell.
struct Places {
  std::array<int, 3> around;
  std::vector<int> symbols;
};

class TilesWriter {
 public:
  explicit TilesWriter(const KernelsOfTiles& all) : all_(all), graph_(all.kernels.front().spec->roots()[0].graph()) {
    places_.push_back({all.around, all.begins_with});
    for (const KernelsOfTiles::One& one : all.kernels)
      if (!one.handed_on.empty()) places_.push_back({one.around, one.handed_on});
    for (std::size_t p = 0; p < places_.size(); ++p)
      for (const int symbol : places_[p].symbols) elsewhere_[symbol] = fmt::format("_{}", p);
    facts_.name = all.name;
    facts_.threads = threads;
    find_tile();
    if (facts_.tile[0] > 0) find_arguments();
  }
  bool has_tile() const { return facts_.tile[0] > 0; }
  const DeviceKernelFacts& facts() const { return facts_; }

  std::string text() {
    text_ = arguments_text(facts_);
    line(fmt::format("KERNEL({}, {}) {{", facts_.name, threads));
    for (std::size_t i = 0; i < facts_.layouts.size(); ++i)
      line(fmt::format("const integer stride_y{0} = L.strides[{1}], stride_z{0} = L.strides[{2}];",
                       KernelText::suffix(facts_.layouts[i]), 2 * i, 2 * i + 1));
    for (std::size_t axis = 0; axis < 2; ++axis) {
      line(fmt::format("const integer lo{0} = L.lo[{0}] + (BLOCK {1} L.blocks_x) * {2};", axis, axis == 0 ? "%" : "/",
                       facts_.tile[axis]));
      line(fmt::format("const integer hi{0} = lo{0} + {1} < L.hi[{0}] ? lo{0} + {1} : L.hi[{0}];", axis,
                       facts_.tile[axis]));
    }
    for (std::size_t p = 0; p < places_.size(); ++p) {
      line(fmt::format("const integer stride_y_{} = {};", p, width(p, 0)));
      for (const int symbol : places_[p].symbols)
        line(fmt::format("SHARED {} s{}[{}];", type_of(symbol), symbol, cells(p)));
    }
    for (std::size_t axis = 0; axis < 2; ++axis)
      if (all_.has_walls[axis])
        line(
            fmt::format("const integer first{0} = L.within_walls[{0}], end{0} = L.within_walls[{1}];", axis, 2 + axis));
    write_beginning();
    for (const KernelsOfTiles::One& one : all_.kernels) {
      write(one);
      write_beyond_walls(one);
    }
    line("}");
    return text_;
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }
  const char* type_of(int symbol) const { return graph_.kind(symbol).element == Element::float32 ? "float" : "double"; }
  int width(std::size_t p, std::size_t axis) const { return facts_.tile[axis] + 2 * places_[p].around[axis]; }
  int cells(std::size_t p) const { return width(p, 0) * width(p, 1); }

  /// The one that is the largest part of what its block reads.
  void find_tile() {
    double best = least_part;
    std::array<int, 2> found{0, 0};
    for (int x = 8; x <= widest; x += 8)
      for (int y = 4; y <= widest; ++y) {
        facts_.tile = {x, y};
        std::int64_t bytes = 0;
        for (std::size_t p = 0; p < places_.size(); ++p)
          for (const int symbol : places_[p].symbols) bytes += cells(p) * bytes_of(graph_.kind(symbol).element);
        const double part = static_cast<double>(x) * y / cells(0);
        if (bytes > shared_bytes || part <= best) continue;
        best = part;
        found = facts_.tile;
      }
    facts_.tile = found;
  }

  void find_arguments() {
    std::set<int> fields(all_.begins_with.begin(), all_.begins_with.end()), scalars, layouts;
    for (const int symbol : all_.begins_with) layouts.insert(graph_.kind(symbol).layout);
    for (const KernelsOfTiles::One& one : all_.kernels) {
      for (const KernelsOfTiles::BeyondWalls& array : one.beyond_walls)
        for (std::size_t axis = 0; axis < 2; ++axis)
          for (const WallOfTiles& wall : array.walls[axis])
            if (all_.has_walls[axis] && wall.values >= 0) fields.insert(wall.values);
      const KernelText body(*one.spec, nullptr, false, {}, elsewhere_);
      for (const int symbol : body.fields_read())
        if (!elsewhere_.contains(symbol)) fields.insert(symbol);
      for (std::size_t i = 0; i < one.spec->outputs.size(); ++i)
        if (!elsewhere_.contains(body.output_field(i))) fields.insert(body.output_field(i));
      scalars.merge(body.scalars());
      layouts.merge(body.layouts());
    }
    facts_.fields.assign(fields.begin(), fields.end());
    facts_.scalars.assign(scalars.begin(), scalars.end());
    facts_.layouts.assign(layouts.begin(), layouts.end());
    for (std::size_t i = 0; i < facts_.scalars.size(); ++i) scalar_places_[facts_.scalars[i]] = static_cast<int>(i);
  }

  std::string address(int symbol) const {
    if (elsewhere_.contains(symbol)) return fmt::format("s{}", symbol);
    return in_memory(symbol);
  }
  std::string in_memory(int symbol) const {
    return fmt::format("L.fields[{}]", std::ranges::find(facts_.fields, symbol) - facts_.fields.begin());
  }

  /// That the cell (i, j) is within walls, as "&& ..."; empty where there are none.
  std::string is_within_walls() const {
    std::string text;
    for (std::size_t axis = 0; axis < 2; ++axis)
      if (all_.has_walls[axis]) text += fmt::format(" && {0} >= first{1} && {0} < end{1}", "ij"[axis], axis);
    return text;
  }
  /// That a block's tile, with so many cells around it, goes beyond a wall; empty where there are none.
  std::string meets_walls(const std::array<int, 3>& around) const {
    std::string text;
    for (std::size_t axis = 0; axis < 2; ++axis)
      if (all_.has_walls[axis])
        text += fmt::format("{0}lo{1} - {2} < first{1} || hi{1} + {2} > end{1}", text.empty() ? "" : " || ", axis,
                            around[axis]);
    return text;
  }

  /// Threads take the cells of a tile, and those around it, in turn. @param condition "&& ..." on each; may be empty.
  template <class Body>
  void write_cells(const std::array<int, 3>& around, const std::string& condition, Body body) {
    const int wide = facts_.tile[0] + 2 * around[0], high = facts_.tile[1] + 2 * around[1];
    line(fmt::format("EACH_THREAD({}) for (int n = thread; n < {}; n += {}) {{", threads, wide * high, threads));
    line(fmt::format("const integer i = lo0 - {} + n % {}, j = lo1 - {} + n / {};", around[0], wide, around[1], wide));
    line(fmt::format("if (i < hi0 + {} && j < hi1 + {}{}) {{", around[0], around[1], condition));
    for (const int layout : facts_.layouts)
      line(fmt::format("const integer row{0} = stride_y{0} * j;", KernelText::suffix(layout)));
    for (std::size_t p = 0; p < places_.size(); ++p)
      line(fmt::format("const integer row_{0} = stride_y_{0} * (j - lo1 + {1}) - lo0 + {2};", p, places_[p].around[1],
                       places_[p].around[0]));
    body();
    line("}");
    line("}");
  }

  void write_beginning() {
    line("{");
    for (const int symbol : all_.begins_with)
      line(fmt::format("const {0}* const f{1} = (const {0}*){2};", type_of(symbol), symbol, in_memory(symbol)));
    write_cells(all_.around, "", [&] {
      for (const int symbol : all_.begins_with)
        line(
            fmt::format("s{0}[row_0 + i] = f{0}[row{1} + i];", symbol, KernelText::suffix(graph_.kind(symbol).layout)));
    });
    line("}");
  }

  void write(const KernelsOfTiles::One& one) {
    const KernelText body(*one.spec, &scalar_places_, false, {}, elsewhere_);
    line("{");
    for (const int symbol : body.fields_read()) text_ += body.read_array(symbol, address(symbol));
    for (std::size_t i = 0; i < one.spec->outputs.size(); ++i)
      text_ += body.written_array(i, address(body.output_field(i)));
    for (const int axis : body.axes()) line(fmt::format("const double* const X{0} = L.coordinates[{0}];", axis));
    text_ += body.values(Level::launch);
    write_cells(one.around, is_within_walls(),
                [&] { text_ += body.values(Level::row) + body.values(Level::cell) + body.outputs(); });
    line("}");
  }

  /// Where a tile meets walls: each cell beyond them for itself, from those within, in the order of the axes.
  void write_beyond_walls(const KernelsOfTiles::One& one) {
    const std::string meets = meets_walls(one.around);
    if (meets.empty() || one.beyond_walls.empty()) return;
    line(fmt::format("if ({}) {{", meets));
    write_cells(one.around, fmt::format(" && !(1{})", is_within_walls()), [&] {
      for (std::size_t axis = 0; axis < 2; ++axis) write_mirror(axis);
      for (const KernelsOfTiles::BeyondWalls& array : one.beyond_walls) write_ghost(array);
    });
    line("}");
  }

  /// Along one axis, the layer of a ghost and the cell that it mirrors; of cells within the axis' walls, themselves.
  void write_mirror(std::size_t axis) {
    const char at = "ij"[axis];
    if (!all_.has_walls[axis]) return line(fmt::format("const integer mirror{} = {};", axis, at));
    line(fmt::format("const integer m{0} = {1} < first{0} ? first{0} - 1 - {1} : {1} - end{0};", axis, at));
    line(fmt::format(
        "const integer mirror{0} = {1} < first{0} ? first{0} + m{0} : m{0} >= 0 ? end{0} - 1 - m{0} : {1};", axis, at));
  }

  void write_ghost(const KernelsOfTiles::BeyondWalls& array) {
    const std::string place = elsewhere_.at(array.symbol);
    line("{");
    line(fmt::format("{0} g = s{1}[row{2} + stride_y{2} * (mirror1 - j) + mirror0];", type_of(array.symbol),
                     array.symbol, place));
    for (std::size_t axis = 0; axis < 2; ++axis) {
      if (!all_.has_walls[axis]) continue;
      const char* const along = axis == 0 ? "mirror1" : "i";  // y's walls go on over the ghosts of x
      line(fmt::format("if ({0} < first{1}) {2}", "ij"[axis], axis, ghost_text(array, axis, 0, along)));
      line(fmt::format("else if ({0} >= end{1}) {2}", "ij"[axis], axis, ghost_text(array, axis, 1, along)));
    }
    line(fmt::format("s{0}[row{1} + i] = g;", array.symbol, place));
    line("}");
  }

  /// Operations in the order of "fill_wall" (grid/cell_operations_device.cpp), for the same bits. A single that is
  /// subnormal is stored as zero here, which is what kernels take it for where they read it.
  std::string ghost_text(const KernelsOfTiles::BeyondWalls& array, std::size_t axis, std::size_t side,
                         const char* along) const {
    const WallOfTiles& wall = array.walls[axis][side];
    if (wall.rule.sign == 0.0) return "g = 0;";
    const std::string value = wall.values < 0 ? literal(wall.constant)
                                              : fmt::format("((const double*){})[{}]", in_memory(wall.values), along);
    return fmt::format("g = ({0})({1} * (1 + {2} * (double)m{3}) * {4} {5} (double)g);", type_of(array.symbol),
                       literal(wall.rule.factor), literal(wall.rule.growth), axis, value,
                       wall.rule.sign < 0.0 ? "-" : "+");
  }

  const KernelsOfTiles& all_;
  const Graph& graph_;
  std::vector<Places> places_;
  std::map<int, std::string> elsewhere_;  // what is behind the names of places, by symbol
  std::map<int, int> scalar_places_;
  DeviceKernelFacts facts_;
  std::string text_;
};

}  // namespace

std::optional<DeviceSource> emit_device_tiles(const KernelsOfTiles& kernels) {
  std::size_t length = 0;
  std::vector<KernelSpec> specs;
  for (const KernelsOfTiles::One& one : kernels.kernels) {
    length += length_of(*one.spec);
    specs.push_back(*one.spec);
  }
  TilesWriter writer(kernels);
  if (!writer.has_tile() || length > longest) return std::nullopt;
  DeviceSource source{"#define S L.scalars\n" + writer.text(), {writer.facts()}};
  if (are_of_singles(specs)) source.text = flushes_subnormals + source.text;
  return source;
}

}  // namespace hindsight
