#include "solvers/equations/emit_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "runtime/error.hpp"
#include "runtime/subnormals.hpp"
#include "solvers/equations/kernel_text.hpp"

namespace hindsight {
namespace {

using Level = KernelText::Level;

constexpr int plain_threads = 128, most_threads = 256, lanes = 8;
constexpr std::int64_t enough = 1 << 18;    // threads that keep a large device busy
constexpr std::int64_t longest_chunk = 16;  // cells that a thread takes one after another

/// Threads of a block that adds up rows: all summands of a piece fit into shared memory.
int row_threads(std::size_t sums) {
  int threads = most_threads;
  if (constexpr std::size_t most = shared_bytes / (2 * lanes * sizeof(double)); sums > most)
    throw ResourceError(fmt::format(
        "--backend: a kernel adds up {} sums, one for each scalar unknown that it reads; on a device there may be {}; "
        "use --backend host",
        sums, most));
  while (threads > lanes && static_cast<std::size_t>(threads + lanes) * sums * sizeof(double) > shared_bytes)
    threads /= 2;
  return threads;
}

class DeviceWriter {
 public:
  DeviceWriter(const KernelSpec& kernel, Boxes boxes) : kernel_(kernel) {
    facts_.name = kernel.name;
    facts_.boxes = boxes;
    facts_.sums_rows = boxes == Boxes::rows && !kernel.sums.empty();
    facts_.threads = boxes == Boxes::cell ? 1 : facts_.sums_rows ? row_threads(kernel.sums.size()) : plain_threads;
    const KernelText probe(kernel);
    for (const int symbol : probe.scalars())
      places_.emplace(symbol, static_cast<int>(facts_.scalars.size())), facts_.scalars.push_back(symbol);
    const std::set<int> fields = probe.fields_read();
    facts_.fields.assign(fields.begin(), fields.end());
    for (std::size_t i = 0; i < kernel.outputs.size(); ++i) facts_.fields.push_back(probe.output_field(i));
    for (const KernelSpec::Sum& sum : kernel.sums) facts_.sums.push_back(sum.accumulator);
    const std::set<int> layouts = probe.layouts();
    facts_.layouts.assign(layouts.begin(), layouts.end());
  }

  const DeviceKernelFacts& facts() const { return facts_; }

  std::string text() {
    const KernelText body(kernel_, &places_);
    text_ += arguments_text(facts_);
    line(fmt::format("KERNEL({}, {}) {{", kernel_.name, facts_.threads));
    for (std::size_t i = 0; i < facts_.layouts.size(); ++i)
      line(fmt::format("const integer stride_y{0} = L.strides[{1}], stride_z{0} = L.strides[{2}];",
                       KernelText::suffix(facts_.layouts[i]), 2 * i, 2 * i + 1));
    std::size_t next = 0;
    for (const int symbol : body.fields_read()) text_ += body.read_array(symbol, fmt::format("L.fields[{}]", next++));
    for (std::size_t i = 0; i < kernel_.outputs.size(); ++i)
      text_ += body.written_array(i, fmt::format("L.fields[{}]", next++));
    for (const int axis : body.axes()) line(fmt::format("const double* const X{0} = L.coordinates[{0}];", axis));
    text_ += body.values(Level::launch);
    if (facts_.boxes == Boxes::cell) {
      write_one_cell(body);
    } else if (facts_.sums_rows) {
      write_row_with_sums(body);
    } else {
      write_cells(body);
    }
    line("}");
    return text_;
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }
  void write_rows() {
    for (const int layout : facts_.layouts)
      line(fmt::format("const integer row{0} = stride_y{0} * j + stride_z{0} * k;", KernelText::suffix(layout)));
  }

  /// Sums go to one accumulator per cell.
  void write_cell(const KernelText& body) {
    text_ += body.values(Level::cell) + body.outputs();
    for (std::size_t s = 0; s < kernel_.sums.size(); ++s) line(fmt::format("L.sums[{}][i] += {};", s, body.summand(s)));
  }

  void write_one_cell(const KernelText& body) {
    line("const integer i = 0;");
    for (const int layout : facts_.layouts) line(fmt::format("const integer row{} = 0;", KernelText::suffix(layout)));
    text_ += body.values(Level::row);
    write_cell(body);
  }

  void write_cells(const KernelText& body) {
    line("const int width = L.width, block = BLOCK, blocks_x = L.blocks_x, blocks_y = L.blocks_y;");
    line(
        "const int block_x = block % blocks_x, block_y = block / blocks_x % blocks_y, block_z = block / blocks_x / "
        "blocks_y;");
    line(fmt::format("EACH_THREAD({}) {{", plain_threads));
    line("const integer i = L.lo[0] + (integer)block_x * width + thread % width;");
    line(fmt::format("const integer y = L.lo[1] + ((integer)block_y * ({} / width) + thread / width) * L.chunk_y;",
                     plain_threads));
    line("const integer z = L.lo[2] + (integer)block_z * L.chunk_z;");
    line("const integer end_y = y + L.chunk_y < L.hi[1] ? y + L.chunk_y : L.hi[1];");
    line("const integer end_z = z + L.chunk_z < L.hi[2] ? z + L.chunk_z : L.hi[2];");
    line("if (i < L.hi[0])");
    line("for (integer k = z; k < end_z; ++k)");
    line("#pragma unroll 2");  // four, as compilers have it, make short kernels spill registers
    line("for (integer j = y; j < end_y; ++j) {");
    write_rows();
    text_ += body.values(Level::row);
    write_cell(body);
    line("}");
    line("}");
  }

  /// Eight interleaved partial sums per row and sum, each added up by one thread.
  void write_row_with_sums(const KernelText& body) {
    const std::size_t count = kernel_.sums.size();
    const int piece = facts_.threads;
    line("const integer rows_y = L.hi[1] - L.lo[1];");
    line("const integer j = L.lo[1] + BLOCK % rows_y, k = L.lo[2] + BLOCK / rows_y;");
    write_rows();
    text_ += body.values(Level::row);
    line(fmt::format("SHARED double part[{0}][{1}], summand[{0}][{2}];", count, lanes, piece));
    line(fmt::format("EACH_THREAD({})", piece));
    line(fmt::format("for (int n = thread; n < {}; n += {}) part[n / {}][n % {}] = 0.0;", count * lanes, piece, lanes,
                     lanes));
    line(fmt::format("for (integer first = L.lo[0]; first < L.hi[0]; first += {}) {{", piece));
    line(fmt::format("const int size = L.hi[0] - first < {0} ? L.hi[0] - first : {0};", piece));
    line(fmt::format("EACH_THREAD({}) if (thread < size) {{", piece));
    line("const integer i = first + thread;");
    text_ += body.values(Level::cell) + body.outputs();
    for (std::size_t s = 0; s < count; ++s) line(fmt::format("summand[{}][thread] = {};", s, body.summand(s)));
    line("}");
    line(fmt::format("EACH_THREAD({})", piece));
    line(fmt::format("for (int n = thread; n < {}; n += {})", count * lanes, piece));
    line(
        fmt::format("for (int m = n % {0}; m < size; m += {0}) part[n / {0}][n % {0}] += summand[n / {0}][m];", lanes));
    line("}");
    line(fmt::format("EACH_THREAD({})", piece));
    line(fmt::format("for (int s = 0; s < {} && thread == 0; ++s)", count));  // two may have one accumulator
    line("L.sums[s][L.row_y * j + L.row_z * k] +=");
    line("((part[s][0] + part[s][4]) + (part[s][2] + part[s][6])) +");
    line("((part[s][1] + part[s][5]) + (part[s][3] + part[s][7]));");
  }

  const KernelSpec& kernel_;
  DeviceKernelFacts facts_;
  std::map<int, int> places_;  // of scalars, by symbol
  std::string text_;
};

std::int64_t parts(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

/// Threads of a block along x, cells that a thread takes along y and z, and blocks along x, y and z.
struct Shape {
  std::int64_t width = 1, chunk_y = 1, chunk_z = 1, blocks_x = 1, blocks_y = 1, blocks_z = 1;

  Shape(std::int64_t x, std::int64_t y, std::int64_t z, const std::array<int, 2>& tile) {
    if (tile[0] > 0) {
      blocks_x = parts(x, tile[0]);
      blocks_y = parts(y, tile[1]);
      return;
    }
    while (width < x && width < plain_threads) width *= 2;
    std::int64_t& chunk = z > 1 ? chunk_z : chunk_y;
    while (chunk < longest_chunk && x * y * z / (2 * chunk) >= enough) chunk *= 2;
    blocks_x = parts(x, width);
    blocks_y = parts(y, plain_threads / width * chunk_y);
    blocks_z = parts(z, chunk_z);
  }
};

}  // namespace

std::string arguments_text(const DeviceKernelFacts& kernel) {
  const auto at_least_one = [](std::size_t count) { return std::max<std::size_t>(1, count); };
  return fmt::format(
      "struct {}_arguments {{\n"
      "integer lo[3], hi[3], row_y, row_z, width, chunk_y, chunk_z, blocks_x, blocks_y{};\n"
      "const double* coordinates[3];\n"
      "double* fields[{}];\n"
      "double* sums[{}];\n"
      "double scalars[{}];\n"
      "integer strides[{}];\n"
      "}};\n",
      kernel.name, kernel.tile[0] > 0 ? ", within_walls[4]" : "", at_least_one(kernel.fields.size()),
      at_least_one(kernel.sums.size()), at_least_one(kernel.scalars.size()), at_least_one(2 * kernel.layouts.size()));
}

DeviceSource emit_device(const std::vector<KernelSpec>& kernels, Boxes boxes) {
  DeviceSource source{"#define S L.scalars\n", {}};
  if (are_of_singles(kernels)) source.text = flushes_subnormals + source.text;
  for (const KernelSpec& kernel : kernels) {
    DeviceWriter writer(kernel, boxes);
    source.text += writer.text();
    source.kernels.push_back(writer.facts());
  }
  return source;
}

std::vector<device::KernelName> DeviceSource::names() const {
  std::vector<device::KernelName> all;
  for (const DeviceKernelFacts& kernel : kernels) all.push_back({kernel.name, kernel.threads});
  return all;
}

void DeviceLaunch::set(const DeviceKernelFacts& kernel, const Launch& launch) {
  words_.clear();
  const auto add = [&](auto value) { words_.push_back(std::bit_cast<std::uint64_t>(value)); };
  const auto add_all = [&](const std::vector<int>& symbols, auto table, auto none) {
    for (const int symbol : symbols) add(table[symbol]);
    if (symbols.empty()) add(none);
  };
  std::int64_t extent[3];
  for (int a = 0; a < 3; ++a) extent[a] = launch.hi[a] - launch.lo[a];
  const Shape shape(extent[0], extent[1], extent[2], kernel.tile);
  blocks_ = kernel.boxes == Boxes::cell ? 1
            : kernel.sums_rows          ? extent[1] * extent[2]
                                        : shape.blocks_x * shape.blocks_y * shape.blocks_z;
  for (const std::int64_t value :
       {launch.lo[0], launch.lo[1], launch.lo[2], launch.hi[0], launch.hi[1], launch.hi[2], launch.row_y, launch.row_z,
        shape.width, shape.chunk_y, shape.chunk_z, shape.blocks_x, shape.blocks_y})
    add(value);
  for (std::size_t n = 0; kernel.tile[0] > 0 && n < 4; ++n) add(launch.within_walls[n]);
  for (int a = 0; a < 3; ++a) add(launch.coordinates[a]);
  add_all(kernel.fields, launch.fields, static_cast<double*>(nullptr));
  add_all(kernel.sums, launch.sums, static_cast<double*>(nullptr));
  add_all(kernel.scalars, launch.scalars, 0.0);
  for (const int layout : kernel.layouts) {
    add(launch.strides[layout].y);
    add(launch.strides[layout].z);
  }
  if (kernel.layouts.empty()) add(std::int64_t{0});
}

}  // namespace hindsight
