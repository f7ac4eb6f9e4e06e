// The time series of fields that a run writes: fields.h5, and fields.xdmf that ParaView plays.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/results/datasets.hpp"
#include "io/results/output_layout.hpp"

namespace hindsight {

/// fields.h5: /times, /steps; on a grid one dataset /FIELD/NNNNNN per output; for an ODE one dataset /FIELD over all
/// outputs. Without finish() the file keeps its .partial name; it opens whenever the process may have been killed, and
/// another process, on any number of ranks, can go on with it. Collective.
class FieldWriter {
 public:
  /// @param most outputs that can come, at least 1; a run that ends with fewer leaves a file without the others.
  FieldWriter(const RunFolder& folder, const Grid& grid, std::vector<std::string> fields, std::int64_t most);
  /// Goes on with the .partial file of another process after these outputs; later ones in it are written again.
  /// @throws ResourceError, on every rank, when it cannot be opened, lacks datasets, or has other steps and times.
  FieldWriter(const RunFolder& folder, const Grid& grid, std::vector<std::string> fields, std::int64_t most,
              OutputsWritten written);
  /// @param cells of the fields; files hold doubles whatever these are. An ODE's outputs may reach the file some at a
  /// time.
  /// @throws Error(bug) when there are `most` already.
  void write(std::int64_t step, double time, const std::vector<ConstCellArray>& cells);
  const OutputsWritten& written() const { return written_; }
  /// Seconds that all outputs take on this rank, measured on a few, or parts of them, of zeros in places of outputs
  /// that have not come; where all are many bytes, with their way to the device. Next to nothing of an ODE. Collective.
  double measure();
  /// What was written has reached the device: after it, written() may be kept to go on from.
  void flush();
  void finish(const std::string& case_name);

 private:
  double seconds_of_outputs(std::int64_t count, std::int64_t parts);
  FieldFile opened(const std::function<void(const std::string& path)>& prepare) const;
  void write_lists();
  std::string xdmf() const;
  const RunFolder& folder_;
  const Grid& grid_;
  std::vector<std::string> fields_;
  std::int64_t most_;
  OutputLayout layout_;
  OutputsWritten written_;
  std::size_t listed_ = 0;  ///< outputs whose numbers are in the file
  FieldFile file_;
};

}  // namespace hindsight
