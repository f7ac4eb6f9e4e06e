// result.json and what a person reads after a run.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "io/results/field_writer.hpp"
#include "src/options.hpp"
#include "src/session.hpp"

namespace hindsight {

using Json = nlohmann::ordered_json;

/// Names the folder: --out, or runs/CASE/VERB.
std::string run_path(const Options& options, const Case& c);

/// What status.json of a run's folder says of it, or that of another of its groups of ranks; empty where it does not.
Json status_of(const std::string& run, int group = 0);

/// log.jsonl: what happened when, one JSON object a line, each on disk before the next. Rank 0 writes. A resumed run
/// goes on with the earlier one's.
class RunLog {
 public:
  RunLog(const RunFolder& folder, const std::string& verb, const Session& session);
  void event(const std::string& name, Json details = Json::object());

 private:
  std::ofstream file_;
};

/// Writes states to fields.h5 at the case's output times.
class OutputObserver {
 public:
  /// @param written goes on with the file of an earlier process after these outputs.
  /// @throws ResourceError, on every rank, when it cannot.
  OutputObserver(const Session& session, const RunFolder& folder, std::optional<OutputsWritten> written = {});
  StateObserver observer();
  const OutputsWritten& written() const { return writer_.written(); }
  /// Seconds that all outputs will take. Collective.
  double measure() { return session_.communicator().max(writer_.measure()); }
  /// What was written has reached the device. Collective.
  void flush() { writer_.flush(); }
  void finish();

 private:
  void observe(std::int64_t k, double t, StateBlocks state);
  void write(std::int64_t k, double t, StateBlocks state, double share);
  CellArray between(StateBlocks state, std::size_t f, double share);

  const Session& session_;
  std::vector<std::size_t> shown_;
  std::vector<double> times_;  // that are output, with the latest end
  std::size_t next_;           // of them
  std::int64_t last_ = -1;     // state written; a sweep that begins again shows the same once more
  Memory between_;             // fields between two states (TimeLine::share_at)
  FieldWriter writer_;
};

/// "0.1.0"
std::string program_version();
/// The commit that this program was built from, with "+changes" where files differed from it; "unknown" outside a
/// checkout.
std::string build_commit();
/// The words that started this process.
std::string command_line();
/// Objective, misfits, memory, provenance: what every result.json begins with.
Json base_result(const std::string& verb, const Session& session, double objective);
/// What the output of a gradient takes: its file is made, then written to as the run goes on.
struct OutputSeconds {
  double begin = 0.0;             ///< measured, with the measuring of
  std::optional<double> written;  ///< which is predicted, where it is known
};
/// Of the whole process, from its start to its end, as can be said when the sweep begins: what it had taken until
/// then, that memory included, the gradient and the output as planned, and its end, which takes about as long as its
/// start.
double predicted_total(const Options& options, const Session& session, const OutputSeconds& output);
/// @param seconds of the gradients, with outputs.
Json counts_result(const Options& options, const Session& session, const DriverCounts& counts, double seconds,
                   const OutputSeconds& output = {});
/// Per unknown: a value, or {norm, dataset}; writes `file` with fields and series. Collective.
Json values_result(const Session& session, const RunFolder& folder, const std::string& file,
                   const UnknownValues& values);
/// misfits.h5, of the last evaluation; none where nothing was observed. Collective.
void write_misfits(const Session& session, const RunFolder& folder);
/// "walked back 100 steps; drift 3e-12, accepted 1e-06", a line, where a result has counts of that; else nothing.
std::string walked_text(const Json& result);
/// The `memory.resident` of result.json. Collective.
Json resident_result(const Session& session);
/// A table of the shots of the last evaluation; empty for a case without.
std::string shots_text(const Session& session);
/// "misfit of u: 21 values, sum of squares 1.23, ..." one line per misfit term.
std::string misfit_text(const Session& session);
/// A JSON text to --json's file or standard output, by rank 0. Collective. @throws ResourceError.
void write_json(const Options& options, const Communicator& comm, const Json& json);
/// Asked before anything is computed. Collective. @param run_folder as the command line names it; "" where it does not.
/// @throws ResourceError when a file cannot be written, unless it lies in a run's folder that the run has yet to make.
void require_writable(const std::string& path, const std::string& run_folder, const Communicator& comm);

}  // namespace hindsight
