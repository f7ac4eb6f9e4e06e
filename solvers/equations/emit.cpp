#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <set>

#include "runtime/subnormals.hpp"
#include "solvers/equations/columns.hpp"
#include "solvers/equations/kernel_text.hpp"
#include "solvers/equations/row_buffers.hpp"
#include "solvers/equations/tape.hpp"
#include "solvers/equations/vector_text.hpp"

namespace hindsight {
namespace {

using Level = KernelText::Level;

// Cells of a strip, and partial sums of a row: as many doubles as the widest vectors hold.
constexpr int cells_of_strip = 8;

// Longer kernels than this (length_of(), tape.hpp) that compilers are to vectorise are compiled once, not in strips: it
// would take half as long again.
constexpr std::size_t longest_in_strips = 200;

// Longer ones take row after row.
constexpr std::size_t longest_in_two_rows = 120;

// Bytes of a row that are worked on at once: with the rows within reach, buffers stay in a cache.
constexpr int buffered_tile = 4096, plain_tile = 8192;

/// The texts of what a kernel reads from its buffers, by node.
std::map<NodeId, std::string> reads_of(const std::vector<RowBuffer>& buffers) {
  std::map<NodeId, std::string> texts;
  for (std::size_t b = 0; b < buffers.size(); ++b)
    for (const auto& [id, at] : buffers[b].readers)
      texts.emplace(id, fmt::format("b{}_{}[i + {}]", b, at[1] - buffers[b].y[0], int{at[0]}));
  return texts;
}

std::array<int, 2> reach_of(const std::vector<RowBuffer>& buffers) {
  std::array<int, 2> reach{0, 0};
  for (const RowBuffer& buffer : buffers) reach = {std::min(reach[0], buffer.x[0]), std::max(reach[1], buffer.x[1])};
  return reach;
}

/// The values of a kernel and of what its buffers hold that depend on x alone (columns.hpp).
std::vector<NodeId> columns_of(const KernelSpec& kernel, const std::vector<RowBuffer>& buffers) {
  std::set<NodeId> buffered, found;
  for (const RowBuffer& buffer : buffers)
    for (const auto& [id, at] : buffer.readers) buffered.insert(id);
  const auto find_in = [&](const std::vector<Expr>& roots, const std::function<bool(NodeId)>& is_beyond) {
    const std::vector<NodeId> all = column_values(roots.front().graph(), reachable(roots, is_beyond), roots);
    found.insert(all.begin(), all.end());
  };
  find_in(kernel.roots(), [&](NodeId id) { return buffered.contains(id); });
  for (const RowBuffer& buffer : buffers) find_in({buffer.value}, {});
  return {found.begin(), found.end()};
}

/// A kernel as a C function with row loops.
class KernelWriter {
 public:
  KernelWriter(const KernelSpec& kernel, Boxes boxes)
      : kernel_(kernel),
        boxes_(boxes),
        walks_tiles_(boxes == Boxes::rows && kernel.sums.empty()),
        has_strips_(!kernel.sums.empty() || length_of(kernel) <= longest_in_strips),
        buffers_(walks_tiles_ ? row_buffers(kernel) : std::vector<RowBuffer>()),
        reach_(reach_of(buffers_)),
        columns_(walks_tiles_ ? columns_of(kernel, buffers_) : std::vector<NodeId>()),
        body_(kernel, nullptr, boxes == Boxes::cell, given(reads_of(buffers_))) {
    for (const RowBuffer& buffer : buffers_) {
      specs_.push_back({"buffer", {{"", buffer.value}}, {}});
      fills_.emplace_back(specs_.back(), nullptr, false, given({}));
    }
    Graph& graph = kernel.roots().front().graph();
    for (const NodeId id : columns_) {
      specs_.push_back({"column", {{"", Expr(&graph, id)}}, {}});
      column_texts_.emplace_back(specs_.back());
    }
  }

  std::string text() {
    line(fmt::format("void {}_within(const struct launch* L) {{", kernel_.name));
    line("const double* const S = L->scalars;");
    for (const int layout : body_.layouts())
      line(fmt::format("const integer stride_y{0} = L->strides[{1}].y, stride_z{0} = L->strides[{1}].z;",
                       KernelText::suffix(layout), layout));
    for (int symbol : fields_read()) text_ += body_.read_array(symbol, fmt::format("L->fields[{}]", symbol));
    for (std::size_t i = 0; i < kernel_.outputs.size(); ++i)
      text_ += body_.written_array(i, fmt::format("L->fields[{}]", body_.output_field(i)));
    for (int axis : axes()) line(fmt::format("const double* const X{0} = L->coordinates[{0}];", axis));
    text_ += body_.values(Level::launch);
    if (boxes_ == Boxes::cell) {
      line("const integer i = 0;");
      for (const int layout : body_.layouts())
        line(fmt::format("const integer row{} = 0;", KernelText::suffix(layout)));
      text_ += body_.values(Level::row);
      if (kernel_.repeats.carried.empty()) {
        write_cell(body_, writes_of_cell());
      } else {
        write_times();
      }
      line("}");
      return text_;
    }
    if (!buffers_.empty() || !columns_.empty()) {
      write_tiles();
      line("}");
      return text_;
    }
    line("for (integer k = L->lo[2]; k < L->hi[2]; ++k)");
    line("for (integer j = L->lo[1]; j < L->hi[1]; ++j) {");
    write_row_places();
    text_ += body_.values(Level::row);
    if (takes_two_rows())
      write_two_rows();
    else if (kernel_.sums.empty() || boxes_ == Boxes::line)
      write_row("L->lo[0]", "L->hi[0]", body_, writes_of_cell());
    else
      write_row_with_sums();
    line("}");
    line("}");
    return text_;
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  /// The place of a cell that a value is put to, or added to.
  struct Write {
    std::string place;
    NodeId value;
    bool is_added = false;
  };

  /// @param rows further along y.
  std::vector<Write> writes_of_outputs(std::int8_t rows = 0) const {
    std::vector<Write> all;
    for (std::size_t i = 0; i < kernel_.outputs.size(); ++i)
      all.push_back({body_.written_text(i, rows), kernel_.outputs[i].value.id()});
    return all;
  }

  /// Sums go to one accumulator per cell.
  std::vector<Write> writes_of_cell() const {
    std::vector<Write> all = writes_of_outputs();
    for (const KernelSpec::Sum& sum : kernel_.sums)
      all.push_back({fmt::format("L->sums[{}][i]", sum.accumulator), sum.value.id(), true});
    return all;
  }

  void write_cell(const KernelText& text, const std::vector<Write>& writes) {
    text_ += text.values(Level::cell);
    for (const Write& write : writes)
      line(fmt::format("{} {}= {};", write.place, write.is_added ? "+" : "", KernelText::name(write.value)));
  }

  void write_vector(const VectorText& text, const std::vector<Write>& writes) {
    text_ += text.values();
    write_vector_to(text, writes);
  }

  void write_vector_to(const VectorText& text, const std::vector<Write>& writes) {
    for (const auto& [place, value, is_added] : writes)
      line(fmt::format("PUT({0}, {1}{2});", place, is_added ? fmt::format("AT({}) + ", place) : "", text.all(value)));
  }

  /// The cell again and again. What is carried and what is summed up waits in variables.
  void write_times() {
    for (const int symbol : body_.carried())
      line(fmt::format("double {} = f{}[row + i];", KernelText::carried_name(symbol), symbol));
    for (const int symbol : body_.trail_written()) line(fmt::format("double* const t{0} = L->fields[{0}];", symbol));
    for (std::size_t i = 0; i < kernel_.outputs.size(); ++i) line(fmt::format("double last{};", i));
    for (std::size_t s = 0; s < kernel_.sums.size(); ++s)
      line(fmt::format("double sum{} = L->sums[{}][i];", s, kernel_.sums[s].accumulator));
    line("for (integer n = 0; n < L->times; ++n) {");
    line("const integer at = (L->times - 1 - n) * L->trail_step;");
    for (const int symbol : body_.trail_written())
      line(fmt::format("t{}[row + i + n * L->trail_step] = {};", symbol, KernelText::carried_name(symbol)));
    text_ += body_.values(Level::cell);
    for (std::size_t i = 0; i < kernel_.outputs.size(); ++i) {
      line(fmt::format("last{} = {};", i, body_.output(i)));
      if (const int symbol = body_.carried_from(i); symbol >= 0)
        line(fmt::format("{} = last{};", KernelText::carried_name(symbol), i));
    }
    for (std::size_t s = 0; s < kernel_.sums.size(); ++s) line(fmt::format("sum{} += {};", s, body_.summand(s)));
    line("}");
    for (std::size_t i = 0; i < kernel_.outputs.size(); ++i) line(fmt::format("o{0}[row + i] = last{0};", i));
    for (std::size_t s = 0; s < kernel_.sums.size(); ++s)
      line(fmt::format("L->sums[{}][i] = sum{};", kernel_.sums[s].accumulator, s));
  }

  /// Tiles of rows, so that what is buffered stays in a cache; of each tile row after row.
  void write_tiles() {
    const auto each = static_cast<int>(bytes_of(kernel_.roots().front().graph().element()));
    const int tile = (buffers_.empty() ? plain_tile : buffered_tile) / each;
    for (std::size_t b = 0; b < buffers_.size(); ++b)
      line(fmt::format("{} b{}[{}][{}];", fills_[b].output_type(0), b, rows_of(b),
                       tile + buffers_[b].x[1] - buffers_[b].x[0]));
    line("for (integer k = L->lo[2]; k < L->hi[2]; ++k)");
    line(fmt::format("for (integer begin = L->lo[0]; begin < L->hi[0]; begin += {}) {{", tile));
    line(fmt::format("const integer end = L->hi[0] - begin < {0} ? L->hi[0] : begin + {0};", tile));
    for (std::size_t c = 0; c < columns_.size(); ++c) write_column(c, tile);
    line("for (integer j = L->lo[1]; j < L->hi[1]; ++j) {");
    for (std::size_t b = 0; b < buffers_.size(); ++b) write_fill(b);
    write_row_places();
    text_ += body_.values(Level::row);
    write_row("begin", "end", body_, writes_of_cell());
    line("}");
    line("}");
  }

  /// A row's cells from `begin` to `end`: in vectors where the text has them. At both ends, and before cell 0, where
  /// there may be less than eight doubles before a cell, it is computed cell by cell.
  void write_row(const std::string& begin, const std::string& end, const KernelText& text,
                 const std::vector<Write>& writes) {
    if (!VectorText::suits(text)) return write_strips(begin, end, text, writes);
    const bool is_of_grid = &text == &body_;  // what is kept reaches beyond rows
    const VectorText vectors(text, is_of_grid);
    line("{");
    line(fmt::format("const integer last = {};", end));
    if (std::ranges::any_of(writes, &Write::is_added)) {
      line(fmt::format("integer first = {};", begin));
      line(fmt::format("for (; first >= 0 && first + {0} <= last; first += {0})", cells_of_strip));
      line(fmt::format("for (integer l = 0; l < {}; l += lanes) {{", cells_of_strip));
      line("const integer i = first + l;");
      write_vector(vectors, writes);
      line("}");
      return write_rest("last", text, writes);
    }
    line(fmt::format("for (integer i = {}; i < last; ++i) {{", begin));
    line("if (i >= 0 && i % lanes == 0) {");
    line("for (; i + lanes <= last; i += lanes) {");
    write_vector(vectors, writes);
    line("}");
    line("if (i == last) break;");
    line("}");
    line("__asm__ volatile(\"\");");
    write_cell(text, writes);
    line("}");
    line("}");
  }

  /// Two rows share what they read of those around them: most of it, where stencils reach far along y. What depends on
  /// the row alone would be another for each.
  bool takes_two_rows() const {
    const auto reads_along_y = [&](NodeId id) {
      const Node& node = body_.graph()[id];
      return node.op == Op::field && node.offset[1] != 0;
    };
    const auto is_of_row = [&](NodeId id) { return body_.level(id) == Level::row; };
    return boxes_ == Boxes::rows && kernel_.sums.empty() && VectorText::suits(body_) &&
           length_of(kernel_) <= longest_in_two_rows && std::ranges::any_of(body_.nodes(), reads_along_y) &&
           std::ranges::none_of(body_.nodes(), is_of_row);
  }

  /// Row j, and the one behind it where there is one.
  void write_two_rows() {
    const VectorText first(body_, true), second(body_, true, 1);
    line("const integer rows = j + 1 < L->hi[1] ? 2 : 1, last = L->hi[0];");
    line("for (integer i = L->lo[0]; i < last; ++i) {");
    line("if (i >= 0 && i % lanes == 0) {");
    line("if (rows == 2) for (; i + lanes <= last; i += lanes) {");
    text_ += first.values() + second.values();
    write_vector_to(first, writes_of_outputs());
    write_vector_to(second, writes_of_outputs(1));
    line("}");
    line("else for (; i + lanes <= last; i += lanes) {");
    write_vector(first, writes_of_outputs());
    line("}");
    line("if (i == last) break;");
    line("}");
    line("for (integer n = j; n < j + rows; ++n) {");
    line("__asm__ volatile(\"\");");
    line("const integer j = n;");
    write_row_places();
    write_cell(body_, writes_of_outputs());
    line("}");
    line("}");
    line("j += rows - 1;");
  }

  /// The same where compilers have to find the vectors. Of strips of constant length they find that cells beside each
  /// other lie at constant distances, and address all of them from a few registers; in a loop of unknown length GCC
  /// takes a register for each distance, and has none left for stencils of a high order. (Unrolled before they are
  /// vectorised, short strips would not be.)
  void write_strips(const std::string& begin, const std::string& end, const KernelText& text,
                    const std::vector<Write>& writes) {
    if (!has_strips_) {
      line("#pragma GCC ivdep");
      line(fmt::format("for (integer i = {}; i < {}; ++i) {{", begin, end));
      write_cell(text, writes);
      return line("}");
    }
    line("{");
    line(fmt::format("integer first = {};", begin));
    line(fmt::format("for (; first + {0} <= {1}; first += {0})", cells_of_strip, end));
    line("#pragma GCC ivdep");
    line("#pragma GCC unroll 1");
    line(fmt::format("for (integer l = 0; l < {}; ++l) {{", cells_of_strip));
    line("const integer i = first + l;");
    write_cell(text, writes);
    line("}");
    write_rest(end, text, writes);
  }

  /// What is left of a row is computed cell by cell: vectors would take as long to compile again.
  void write_rest(const std::string& end, const KernelText& text, const std::vector<Write>& writes) {
    line(fmt::format("for (integer l = 0, i = first; i < {}; l = (l + 1) % {}, ++i) {{", end, cells_of_strip));
    line("__asm__ volatile(\"\");");
    write_cell(text, writes);
    line("}");
    line("}");
  }

  /// The values of a tile's cells, and of those around it that buffers reach.
  void write_column(std::size_t c, int tile) {
    line(fmt::format("{} x{}[{}];", column_type(columns_[c]), c, tile + reach_[1] - reach_[0]));
    line("{");
    text_ += column_texts_[c].values(Level::launch);
    write_row(fmt::format("(begin + ({}))", reach_[0]), fmt::format("(end + {})", reach_[1]), column_texts_[c],
              {{fmt::format("x{}[i - begin - ({})]", c, reach_[0]), columns_[c]}});
    line("}");
  }

  const char* column_type(NodeId id) const {
    const auto makes_doubles = [id](const KernelText& text) { return text.type_in_use(id) == std::string("double"); };
    return makes_doubles(body_) || std::ranges::any_of(fills_, makes_doubles) ? "double" : "float";
  }

  /// What the wrapper has at hand: columns beside buffers.
  std::map<NodeId, std::string> given(std::map<NodeId, std::string> texts) const {
    for (std::size_t c = 0; c < columns_.size(); ++c)
      texts.emplace(columns_[c], fmt::format("x{}[i - begin - ({})]", c, reach_[0]));
    return texts;
  }

  int rows_of(std::size_t b) const { return buffers_[b].y[1] - buffers_[b].y[0] + 1; }

  /// The rows of a buffer that are new to this row; then where those within reach are.
  void write_fill(std::size_t b) {
    const RowBuffer& buffer = buffers_[b];
    const int rows = rows_of(b), lowest = buffer.y[0];
    const auto place = [&](const std::string& row) {
      return fmt::format("b{}[({} - L->lo[1] - ({})) % {}]", b, row, lowest, rows);
    };
    line(fmt::format("for (integer next = j == L->lo[1] ? j + ({}) : j + {}; next <= j + {}; ++next) {{", lowest,
                     buffer.y[1], buffer.y[1]));
    line("const integer j = next;");
    write_row_places();
    text_ += fills_[b].values(Level::launch) + fills_[b].values(Level::row);
    line(fmt::format("{}* const to = {} - begin - ({});", fills_[b].output_type(0), place("j"), buffer.x[0]));
    write_row(fmt::format("(begin + ({}))", buffer.x[0]), fmt::format("(end + {})", buffer.x[1]), fills_[b],
              {{"to[i]", buffer.value.id()}});
    line("}");
    for (int at = 0; at < rows; ++at)
      line(fmt::format("const {}* const b{}_{} = {} - begin - ({});", fills_[b].output_type(0), b, at,
                       place(fmt::format("j + ({})", lowest + at)), buffer.x[0]));
  }

  void write_row_places() {
    for (const int layout : body_.layouts())
      line(fmt::format("const integer row{0} = stride_y{0} * j + stride_z{0} * k;", KernelText::suffix(layout)));
  }

  /// Of the kernel and what fills its buffers.
  std::set<int> fields_read() const {
    std::set<int> all = body_.fields_read();
    for (const KernelText& fill : fills_) all.merge(fill.fields_read());
    return all;
  }
  std::set<int> axes() const {
    std::set<int> all = body_.axes();
    for (const KernelText& fill : fills_) all.merge(fill.axes());
    for (const KernelText& column : column_texts_) all.merge(column.axes());
    return all;
  }

  /// Interleaved partial sums: a strip adds to each of them once.
  void write_row_with_sums() {
    const std::size_t count = kernel_.sums.size();
    std::vector<Write> writes = writes_of_outputs();
    for (std::size_t s = 0; s < count; ++s) {
      line(fmt::format("double part{}[{}] = {{0.0}};", s, cells_of_strip));
      writes.push_back({fmt::format("part{}[l]", s), kernel_.sums[s].value.id(), true});
    }
    write_row("L->lo[0]", "L->hi[0]", body_, writes);
    for (std::size_t s = 0; s < count; ++s) {
      line(fmt::format("L->sums[{}][L->row_y * j + L->row_z * k] +=", kernel_.sums[s].accumulator));
      line(fmt::format("((part{0}[0] + part{0}[4]) + (part{0}[2] + part{0}[6])) +", s));
      line(fmt::format("((part{0}[1] + part{0}[5]) + (part{0}[3] + part{0}[7]));", s));
    }
  }

  const KernelSpec& kernel_;
  Boxes boxes_;
  bool walks_tiles_;  // if there is anything to keep for one
  bool has_strips_;
  std::vector<RowBuffer> buffers_;
  std::array<int, 2> reach_;  // of buffers along x
  std::vector<NodeId> columns_;
  KernelText body_;
  std::deque<KernelSpec> specs_;  // of what is kept
  std::vector<KernelText> fills_, column_texts_;
  std::string text_;
};

}  // namespace

std::string emit_c(const std::vector<KernelSpec>& kernels, Boxes boxes) {
  std::string text = are_of_singles(kernels) ? flushes_subnormals : "";
  text += host::c_names;
  text += subnormals_text;
  text += launch_text;
  text += vector_names;
  for (const KernelSpec& kernel : kernels) {
    text += "static __attribute__((noinline)) " + KernelWriter(kernel, boxes).text();
    text += fmt::format("void {0}(const struct launch* L) {{\nSUBNORMALS_FLUSHED({0}_within(L));\n}}\n", kernel.name);
  }
  return text;
}

}  // namespace hindsight
