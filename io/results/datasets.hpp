// Fields and series as HDF5 datasets, written and read by all ranks together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/results/hdf5_handle.hpp"
#include "io/results/run_folder.hpp"
#include "solvers/grid/grid.hpp"

namespace hindsight {

/// A file opened by all ranks through MPI-IO. Datasets of a grid have its shape, slowest axis first ([z][y][x]); an
/// ODE's are single values. All calls are collective; errors on any rank end all (ResourceError).
class FieldFile {
 public:
  /// Creates NAME.partial in the folder, with the coordinates of the cell centres as /x, /y, /z.
  FieldFile(const RunFolder& folder, const std::string& name, const Grid& grid);
  FieldFile(FieldFile&&) noexcept = default;

  /// `cells` points to local cell (0,0,0) in the grid's layout. Missing groups in the path are made.
  void write_field(const std::string& path, const double* cells);
  /// The same values on every rank; rank 0's are written.
  void write_numbers(const std::string& path, const std::vector<double>& values);
  void write_integers(const std::string& path, const std::vector<std::int64_t>& values);
  void write_attribute(const std::string& name, const std::string& value);
  /// Closes, flushes, renames.
  void finish();

 private:
  void write(const std::string& path, const Hdf5Space& space, const Hdf5Space& memory, hid_t stored, hid_t native,
             const void* data);
  void write_list(const std::string& path, std::size_t count, hid_t stored, hid_t native, const void* data);
  const RunFolder* folder_;
  std::string name_, path_;
  const Grid* grid_;
  Hdf5File file_;
};

/// Reads one field of the grid's shape, each rank its part. Collective. @throws InputError naming file, dataset and
/// both shapes when they differ, or what is missing, or that the dataset does not hold numbers.
void read_field(const std::string& file, const std::string& dataset, const Grid& grid, double* cells);

}  // namespace hindsight
