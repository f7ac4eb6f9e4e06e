// The time series of fields that a run writes: fields.h5, and fields.xdmf that ParaView plays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/results/datasets.hpp"

namespace hindsight {

/// fields.h5: /times, /steps; on a grid one dataset /FIELD/NNNNNN per output; for an ODE one dataset /FIELD over all
/// outputs. Without finish() the file keeps its .partial name. Collective.
class FieldWriter {
 public:
  FieldWriter(const RunFolder& folder, const Grid& grid, std::vector<std::string> fields);
  /// `cells[f]` points to local cell (0,0,0) of field f.
  void write(std::int64_t step, double time, const std::vector<const double*>& cells);
  void finish(const std::string& case_name);

 private:
  std::string xdmf() const;
  const RunFolder& folder_;
  const Grid& grid_;
  std::vector<std::string> fields_;
  std::vector<std::int64_t> steps_;
  std::vector<double> times_;
  std::vector<std::vector<double>> values_;  // ODE only
  FieldFile file_;
};

}  // namespace hindsight
