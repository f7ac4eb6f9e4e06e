// The case file as plain structs: parsed once, here, and never again. Texts keep the place they came from, so that
// later errors (unknown names, wrong data) can say file, line and column.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adjoint/store/codecs/codecs.hpp"
#include "runtime/error.hpp"

namespace hindsight {

/// An expression as it was written; a bare number in the file is its text. `place` is that of its first character.
struct Text {
  std::string text;
  SourcePlace place;
};

enum class Edge { periodic, value, slope };

/// One side of an axis. The expression may name a field's own rule: {u: {value: 0}, v: {slope: 1}} gives one per field.
struct EdgeRule {
  Edge edge = Edge::periodic;
  Text expression;  ///< value or slope; "0" by default
};

struct CaseAxis {
  std::string name;  ///< x, y or z; in this order
  std::int64_t cells = 0;
  double from = 0.0, to = 1.0;
  bool periodic = true;
  /// [lower, upper] rules when not periodic, for fields that have none of their own
  std::array<EdgeRule, 2> sides;
  /// rules of single fields: `boundary: {lower: {u: {value: 1}}, upper: ...}`
  std::array<std::map<std::string, EdgeRule>, 2> field_sides;
  SourcePlace place;
};

struct CaseGrid {
  std::vector<CaseAxis> axes;
  int order = 2;                ///< grid.order: 2, 4, 6, 8
  bool harmonic_means = false;  ///< grid.means: arithmetic | harmonic
};

/// One parameter. Exactly one kind.
struct CaseParameter {
  enum class Kind { scalar, field, field_file, series };
  std::string name;
  Kind kind = Kind::scalar;
  double value = 0.0;                 ///< scalar
  Text field;                         ///< field: an expression of coordinates
  std::string file, dataset;          ///< field_file: HDF5, the path resolved; series: the table it was read from
  std::vector<double> times, values;  ///< series: knots, increasing; linear in between, constant outside
  SourcePlace place;
};

struct CaseState {
  std::string name;
  Text initial;
  SourcePlace place;
};

struct CaseFunction {
  std::string name;
  std::vector<std::string> arguments;
  Text body;
};

struct CaseEquation {
  std::string field;  ///< dt(field)
  Text right_hand_side;
};

struct CaseTime {
  std::string method = "rk4";   ///< one of methods() (solvers/steppers/methods.hpp)
  std::string steps = "fixed";  ///< one of step_sources() (solvers/time/step_sources.hpp)
  double from = 0.0, step = 0.0, to = 0.0;
  std::optional<Text> until;  ///< ends the run; then `to` is from + at_most * step
  SourcePlace place;
};

struct Observation {
  double time = 0.0;
  std::array<double, 3> at{0, 0, 0};
  double value = 0.0;
};

/// One objective term.
struct CaseTerm {
  std::string kind;     ///< one of term_kinds() (adjoint/objective/term_kinds.hpp), or misfit
  Text expression;      ///< misfit: `of`, a field or an expression of fields
  double weight = 1.0;  ///< `weight:`, any kind
  bool is_misfit() const { return kind == "misfit"; }
  // misfit: J = 1/2 sum ((simulated - observed)/noise)^2, of logarithms with log: true
  std::string data;                       ///< resolved path, for messages
  std::vector<Observation> observations;  ///< sorted by time, then in file order
  double noise = 1.0;
  bool log = false;
  SourcePlace place;
};

struct Prior {
  double mean = 0.0, sd = 1.0;
};

struct CaseUnknown {
  std::string name;      ///< parameter, or state for initial(...)
  bool initial = false;  ///< initial(name)
  std::optional<double> lower, upper;
  bool log_scale = false;
  std::optional<Prior> prior;
  SourcePlace place;
  std::string label() const { return initial ? "initial(" + name + ")" : name; }
};

/// "1 GiB" is bytes; "10 slots" is a count of states besides the working memory.
struct CaseBudget {
  enum class Unit { bytes, slots };
  Unit unit = Unit::bytes;
  std::int64_t amount = 0;
  SourcePlace place;
};

/// `auto` and the kinds of `hindsight schedule`.
const std::vector<std::string>& checkpoint_schedules();

/// How the states of a slow tier are made smaller.
struct CaseCodec {
  bool is_given = false;         ///< else the planner may choose a lossless one for the disk
  std::string kind = no_codec;   ///< one of codecs() (adjoint/store/codecs/codecs.hpp), which says what it may have:
  double tolerance = 0.0;        ///< largest error of a cell over its field's largest magnitude; 0: from `accept`
  std::optional<double> accept;  ///< the relative error of the gradient that is accepted of a lossy one
  bool difference = false;       ///< to the neighbouring checkpoint, before all
  std::string then;              ///< the compressor of what it makes; empty: the codec's default
};

struct CaseCheckpoints {
  std::string schedule = "auto";
  std::optional<CaseBudget> host, device, disk;
  std::string directory;               ///< disk.directory; empty: the run folder
  std::optional<int> queue, prefetch;  ///< of disk: states that wait to be written, and that are read ahead, at most
  CaseCodec host_codec, disk_codec;
  std::int64_t period = 0;  ///< steps, of periodic schedules; 0: they choose
  SourcePlace place;
};

struct CaseInversion {
  std::string method = "lbfgs";  ///< lbfgs (the same as blmvm), bqnls, bncg; PETSc options reach TAO's other methods
  std::int64_t iterations = 100;
  double gradient = 1e-6;  ///< stop when |gradient| (scaled, projected) falls below
  double relative = 0.0;   ///< stop when it fell by this factor
};

struct CaseOutput {
  double every = 0.0;               ///< time between outputs; 0: only the end
  std::vector<std::string> fields;  ///< empty: all
};

struct Case {
  std::string name;
  std::string file;              ///< path of the case file
  std::optional<CaseGrid> grid;  ///< absent: an ODE
  std::vector<CaseParameter> parameters;
  std::vector<CaseState> state;
  std::vector<CaseFunction> functions;
  std::vector<CaseEquation> equations;
  CaseTime time;
  std::vector<CaseTerm> objective;
  std::vector<CaseUnknown> unknowns;
  CaseCheckpoints checkpoints;
  std::optional<CaseInversion> inversion;
  CaseOutput output;
  std::string resolved;  ///< the case with overrides applied and absolute paths, as YAML, for the run folder

  /// The case file and the data files that it names.
  std::vector<std::string> inputs() const;
};

/// Reads and checks a case file. Everything that can be known without parsing expressions is checked here: unknown,
/// missing and duplicate keys, types, ranges, names used twice or reserved, equations without state and states without
/// equation, unknowns that are no parameter or state, data files (columns, numbers, NaN, times inside the run).
/// @param overrides "time.step=0.25" style; applied before checking; an override of a key that cannot exist is an
/// error.
/// @throws InputError with file, line, column, allowed values and the nearest name.
Case read_case(const std::string& path, const std::vector<std::string>& overrides);

/// The same from text that is at hand; `path` is used for messages and relative paths.
Case parse_case(const std::string& path, const std::string& text, const std::vector<std::string>& overrides);

/// The JSON Schema of case files.
std::string case_schema();

/// A commented case file to start from: `hindsight init ode|pde`.
std::string case_template(const std::string& kind);

}  // namespace hindsight
