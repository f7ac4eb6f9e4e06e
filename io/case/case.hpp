// The case file as plain structs: a problem in text (adjoint/problem/problem_text.hpp) and what is done with it. Parsed
// once, here, and never again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/plan/checkpoint_options.hpp"
#include "adjoint/problem/problem_text.hpp"
#include "runtime/error.hpp"

namespace hindsight {

struct Prior {
  double mean = 0.0, sd = 1.0;
};

/// What an inversion takes for granted of an unknown.
struct Assumptions {
  std::optional<double> lower, upper;
  bool log_scale = false;
  std::optional<Prior> prior;
};

/// What a case may name: `auto` and all of schedules() (adjoint/schedule/schedule.hpp).
std::vector<std::string> checkpoint_schedules();

/// When an optimiser ends.
struct InversionLimits {
  std::int64_t iterations = 100;
  double gradient = 1e-6;  ///< stop when |gradient| (scaled, projected) falls below
  double relative = 0.0;   ///< stop when it fell by this factor
};

/// A part of an inversion: an optimisation of the case with some of its keys changed. What it does not say is as in the
/// inversion.
struct InversionStage : InversionLimits {
  std::vector<std::string> shots;     ///< that count; empty: all
  std::vector<std::size_t> unknowns;  ///< that move, by their places in the case; the others rest
  /// Of misfits, in place of their own, by their places among the misfits; empty: all have their own.
  std::vector<std::optional<FilterSpec>> filters = {};
};

struct CaseInversion : InversionLimits {
  std::string method = "lbfgs";  ///< lbfgs (the same as blmvm), bqnls, bncg; PETSc options reach TAO's other methods
  std::int64_t history = 5;      ///< pairs of steps and changes of the gradient that lbfgs and bqnls count on
  bool preconditions = false;    ///< by how strongly waves shake the cells of unknown fields
  std::vector<InversionStage> stages;  ///< one after the other; empty: it is one, of all shots and unknowns
};

struct CaseOutput {
  std::vector<std::string> fields;  ///< empty: all
  std::int64_t estimates = 0;       ///< of an inversion: that of every so many'th iteration is kept; 0: none is
};

/// One of several experiments.
struct Shot {
  std::string name;
  double weight = 1.0;  ///< of its part of the objective
  ProblemText problem;  ///< the case's, with the shot's values
  SourcePlace place;
};

/// One that does not count, because it fails.
struct ExcludedShot {
  std::string name, reason;
};

struct Case : ProblemText {
  std::string name;
  std::string file;                      ///< path of the case file
  bool is_to_be_observed = false;        ///< values of misfits are not read: they are to be written
  std::vector<Assumptions> assumptions;  ///< parallel to the unknowns
  /// Experiments whose objectives are added up, of which the case itself is the first; empty: it is the only one.
  std::vector<Shot> shots;
  std::string shot_table;  ///< the file that they are from
  /// Whether shots that fail at the first evaluation are left out of the sum; and those that cannot even be read.
  bool excludes_failing_shots = false;
  std::vector<ExcludedShot> excluded_shots;
  CheckpointOptions checkpoints;
  /// checkpoints.disk.directory, in which $NAME may stand for a variable of each node; empty: in the run folder
  std::string checkpoint_folder;
  std::optional<CaseInversion> inversion;
  CaseOutput output;
  std::string resolved;  ///< the case with overrides applied and absolute paths, as YAML, for the run folder

  /// The case file and the data files that it names.
  std::vector<std::string> inputs() const;
};

/// Whether the case tells stages of its inversion; else nothing is said of them.
bool has_stages(const Case& c);
/// Those that it tells, or one that is all of the inversion.
std::vector<InversionStage> stages_of(const Case& c);
/// That there are at most.
std::int64_t iterations_of(const std::vector<InversionStage>& stages);

/// Reads and checks a case file. Everything that can be known without parsing expressions is checked here: unknown,
/// missing and duplicate keys, types, ranges, names used twice or reserved, equations without state and states without
/// equation, unknowns that are no parameter or state, data files (columns, numbers, NaN, times inside the run).
/// @param overrides "time.step=0.25" style; applied before checking; an override of a key that cannot exist is an
/// error.
/// @param shot the only one of its shots that counts; empty: all.
/// @throws InputError with file, line, column, allowed values and the nearest name.
/// @param is_to_be_observed see Case.
Case read_case(const std::string& path, const std::vector<std::string>& overrides, const std::string& shot = {},
               bool is_to_be_observed = false);

/// The same from text that is at hand; `path` is used for messages and relative paths.
Case parse_case(const std::string& path, const std::string& text, const std::vector<std::string>& overrides,
                const std::string& shot = {}, bool is_to_be_observed = false);

/// The JSON Schema of case files.
std::string case_schema();

/// A commented case file to start from: `hindsight init ode|pde`.
std::string case_template(const std::string& kind);

}  // namespace hindsight
