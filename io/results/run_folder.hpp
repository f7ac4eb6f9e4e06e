// The folder that a run writes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "solvers/grid/grid.hpp"
#include "src/communicator.hpp"

namespace hindsight {

/// A field to be written: pointer to local cell (0,0,0) in the grid's layout.
struct NamedField {
  std::string name;
  const double* data = nullptr;
};

/// Files appear under their final names only when whole: each is written as NAME.partial, flushed, and renamed by
/// `finish`. Files of an earlier run in the same folder are removed when the run starts. Collective over the grid's
/// ranks. @throws ResourceError when the folder or a file cannot be written (agreed over all ranks).
class RunFolder {
 public:
  RunFolder(std::string path, const Communicator& comm);
  const std::string& path() const { return path_; }
  /// Rank 0 writes a small text file (result.json, convergence.csv, case.yaml).
  void write_text(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
  Communicator comm_;
};

/// fields.h5 and fields.xdmf: a time series of fields on the grid, written collectively with parallel HDF5.
/// Layout of fields.h5: /times (T doubles), /steps (T int64), one dataset per field and output /FIELD/NNNNNN with the
/// grid's shape, slowest axis first ([z][y][x]); for an ODE instead one dataset /FIELD of T values. Coordinates /x, /y,
/// /z. Attributes: units of axes, program version, case name.
class FieldWriter {
 public:
  FieldWriter(const RunFolder& folder, const Grid& grid, std::string case_name);
  ~FieldWriter();
  FieldWriter(const FieldWriter&) = delete;
  FieldWriter& operator=(const FieldWriter&) = delete;
  void write(std::int64_t step, double time, const std::vector<NamedField>& fields);
  /// Writes times and the XDMF page, flushes, closes, renames. Without it the partial files stay, named so.
  void finish();

 private:
  struct Files;
  std::unique_ptr<Files> files_;
};

/// gradient.h5 (or any other file name): one dataset per field with the grid's shape, plus 1D datasets (time series).
void write_datasets(const RunFolder& folder, const std::string& file, const Grid& grid,
                    const std::vector<NamedField>& fields,
                    const std::vector<std::pair<std::string, std::vector<double>>>& series);

/// Reads one field of the grid's global shape into the owned cells of `field` (parallel, each rank its part).
/// @throws InputError naming file, dataset and both shapes when they differ, or what is missing.
void read_field(const std::string& file, const std::string& dataset, const Grid& grid, double* field);

}  // namespace hindsight
