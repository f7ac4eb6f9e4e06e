// What a kernel computes, written in the C that hosts and devices share. Wrappers (emit.cpp, emit_device.cpp) put loops
// or threads around it.
//
// The text refers to these names, which wrappers define: i, j, k the cell; row, so that cells are at row + i; f0, f1,
// ... and o0, o1, ... the arrays that are read and written; X0, X1, X2 the coordinates; S the scalars; stride_y,
// stride_z. Arrays of layout 1 have row1, stride_y1 and stride_z1 in place of these, and so on; those that a wrapper
// keeps elsewhere have other words behind these names.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "solvers/equations/kernel.hpp"

namespace hindsight {

/// Of a number in kernels: exact and portable, hexadecimal floating point.
std::string literal(double value);

/// The C of an operation on its arguments, all of them such elements; "" of leaves, and of operators that have to be
/// discretised.
std::string operation_text(Op op, const std::string& a, const std::string& b, const std::string& c,
                           Element element = Element::float64);

/// Whether they belong to a graph of singles, and flush subnormals (runtime/subnormals.hpp).
bool are_of_singles(const std::vector<KernelSpec>& kernels);

/// The C of ArrayStrides, and of Launch (kernel.hpp) as far as hosts read it.
inline constexpr const char* launch_text = R"(struct strides { integer y, z; };
struct launch {
  double* const* fields;
  const double* scalars;
  const double* const* coordinates;
  double* const* sums;
  integer lo[3], hi[3];
  const struct strides* strides;
  integer row_y, row_z, times, trail_step;
};
)";

/// Values are doubles. In graphs of singles (Graph::element()) kernels that read an array of singles compute singles
/// where a value depends on an array or on several coordinates. What depends on constants, scalars and one coordinate
/// stays a double, which is rounded when it meets a single; and what is added to an array of doubles is added as a
/// double. Sums are doubles always.
class KernelText {
 public:
  /// Where a node's value can change: the loop it must be computed in.
  enum class Level { launch, row, cell };

  /// @param scalars places in S by symbol; null: the symbols themselves. @param repeats whether the wrapper applies the
  /// cell several times as KernelSpec::Repeats says: then `at` is where the trail of a time begins.
  /// @param given the text of values of cells that the wrapper has at hand; what they alone depend on is left out.
  /// @param elsewhere symbols of arrays that the wrapper keeps elsewhere, and what is behind the names of their places.
  explicit KernelText(const KernelSpec& kernel, const std::map<int, int>* scalars = nullptr, bool repeats = false,
                      std::map<NodeId, std::string> given = {}, std::map<int, std::string> elsewhere = {});

  /// Definitions of all values of a level, a line each.
  std::string values(Level level) const;
  /// Writes the outputs of the cell.
  std::string outputs() const;
  /// The names of an output's and of a summand's value.
  std::string output(std::size_t output) const { return name(kernel_.outputs[output].value.id()); }
  /// "double" or "float".
  const char* output_type(std::size_t output) const { return type_of(kernel_.outputs[output].value.id()); }
  /// All nodes whose values it has, arguments before users.
  const std::vector<NodeId>& nodes() const { return nodes_; }
  const KernelSpec& kernel() const { return kernel_; }
  const Graph& graph() const { return *graph_; }
  static std::string name(NodeId id);
  Level level(NodeId id) const { return level_.at(id); }
  /// Whether the wrapper has it at hand.
  bool is_given(NodeId id) const { return given_.contains(id); }
  bool is_leaf(NodeId id) const { return is_given(id) || arity((*graph_)[id].op) == 0; }
  /// What a value is made from: of a leaf the place where it lies.
  std::string value(NodeId id) const;
  /// The places of cells that are read and written. @param rows further along y.
  std::string read_text(int symbol, const Offset& offset) const;
  std::string written_text(std::size_t output, std::int8_t rows = 0) const;
  /// "float" where only singles are made of a value, else its own type.
  const char* type_in_use(NodeId id) const;
  std::string summand(std::size_t sum) const { return name(kernel_.sums[sum].value.id()); }

  // Where the cell is applied several times: symbols of arrays.
  /// Those that are read once, and then carried in variables.
  std::vector<int> carried() const;
  static std::string carried_name(int symbol) { return "c" + std::to_string(symbol); }
  /// Of these, those whose value at each time is written to the trail.
  std::vector<int> trail_written() const;
  /// The one that an output is carried to; -1: none.
  int carried_from(std::size_t output) const;

  std::set<int> fields_read() const;
  std::set<int> scalars() const;
  std::set<int> axes() const;
  /// Of all arrays that are not elsewhere, in order.
  std::set<int> layouts() const;
  /// The definition of an array's pointer from the address that it was handed over as.
  std::string read_array(int symbol, const std::string& address) const;
  std::string written_array(std::size_t output, const std::string& address) const;
  /// "1": what is behind the names of a layout; of layout 0 nothing.
  static std::string suffix(int layout) { return layout == 0 ? "" : std::to_string(layout); }
  int output_field(std::size_t output) const { return graph_->field_index(kernel_.outputs[output].field); }

 private:
  void find_singles();
  const char* type_of(NodeId id) const { return singles_.contains(id) ? "float" : "double"; }
  std::string argument(NodeId id, NodeId of) const;
  std::string place_of(int symbol) const;
  std::string index(const Offset& offset, int symbol) const;
  Level level_of(NodeId id) const;

  const KernelSpec& kernel_;
  const std::map<int, int>* scalars_;
  const Graph* graph_;
  std::vector<NodeId> nodes_;
  std::map<NodeId, Level> level_;
  std::set<NodeId> singles_;  // the others are doubles
  std::map<NodeId, std::string> given_;
  std::map<int, std::string> elsewhere_;
  std::map<std::string, int> carried_;  // symbols that are read, by the arrays that they come from
  std::set<int> trail_;
};

}  // namespace hindsight
