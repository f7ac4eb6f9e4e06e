// Fields and series as HDF5 datasets, written and read by all ranks together.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/hdf5/hdf5_handle.hpp"
#include "io/results/run_folder.hpp"
#include "solvers/grid/grid.hpp"

namespace hindsight {

/// The grid's cells, slowest axis first; empty for an ODE.
std::vector<hsize_t> grid_shape(const Grid& grid);
std::vector<double> cell_centres(const Axis& axis);

/// A file opened by all ranks through MPI-IO. Datasets of a grid have its shape, slowest axis first ([z][y][x]); an
/// ODE's are single values. All calls are collective; errors on any rank end all (ResourceError).
class FieldFile {
 public:
  /// Creates NAME.partial in the folder, with the coordinates of the cell centres as /x, /y, /z.
  FieldFile(const RunFolder& folder, const std::string& name, const Grid& grid);
  struct Existing {};
  /// Opens NAME.partial that is there.
  FieldFile(const RunFolder& folder, const std::string& name, const Grid& grid, Existing);
  FieldFile(FieldFile&&) noexcept = default;

  /// The owned cells, x fastest. Missing groups in the path are made.
  void write_field(const std::string& path, const std::vector<double>& owned);
  /// The same values on every rank; rank 0's are written.
  void write_numbers(const std::string& path, const std::vector<double>& values);
  /// Into a dataset that has its place in the file: bytes of this dataset change and nothing else in the file, so that
  /// a process may die at any moment and leave a file that opens. `cells` points to local cell (0,0,0) in the grid's
  /// layout.
  void overwrite_field(const std::string& path, ConstCellArray cells);
  /// The same with zeros, of one of so many parts of this rank's block along its slowest axis.
  void overwrite_part(const std::string& path, std::int64_t parts);
  /// Elements of a list, from the one of this number on; rank 0's values.
  void overwrite_numbers(const std::string& path, std::size_t first, const std::vector<double>& values);
  void overwrite_integers(const std::string& path, std::size_t first, const std::vector<std::int64_t>& values);
  /// A dataset of one more, slowest dimension: rows that are each a field, or so many numbers (0: a field).
  struct Rows {
    std::string path;
    std::int64_t count = 0;
    std::size_t numbers = 0;
  };
  /// Gives the dataset its place in the file, to be overwritten. @param dimensions an attribute that names its axes.
  void make_rows(const Rows& rows, const std::string& dimensions);
  /// @param values the owned cells; or the same numbers on every rank, of which rank 0's are written.
  void overwrite_row(const Rows& rows, std::int64_t row, const std::vector<double>& values);
  /// As overwrite_row() takes them; numbers are read by rank 0 alone.
  std::vector<double> read_row(const Rows& rows, std::int64_t row);
  /// A list with its place in the file; rank 0's values.
  void make_integers(const std::string& path, const std::vector<std::int64_t>& values);
  /// What was written has reached the device.
  void flush();
  /// Closes, and leaves the file its partial name.
  void close();
  /// Closes, flushes, renames.
  void finish();

 private:
  /// What this rank writes of a dataset, and where it has it.
  struct Part {
    Hdf5Space stored, memory;
  };
  Part part_of_field(std::int64_t layers) const;
  Part part_of_list(std::size_t count) const;
  Part part_of_row(const Rows& rows, std::int64_t row) const;
  void leave_to_root(const Part& part) const;
  Hdf5Dataset create(const std::string& path, const Part& part, hid_t stored, bool in_place = false);
  void put(Hdf5Dataset dataset, const std::string& path, const Part& part, hid_t native, const void* data);
  void overwrite_layers(const std::string& path, std::int64_t layers,
                        const std::function<std::vector<double>()>& values);
  void overwrite_elements(const std::string& path, std::size_t first, std::size_t count, hid_t native,
                          const void* values);
  const RunFolder* folder_;
  std::string name_, path_;
  const Grid* grid_;
  Hdf5File file_;
};

/// Reads one field of the grid's shape, each rank its part. Collective. @throws InputError naming file, dataset and
/// both shapes when they differ, or what is missing, that the dataset does not hold numbers, or the place of one that
/// is not finite.
void read_field(const std::string& file, const std::string& dataset, const Grid& grid, double* cells);

}  // namespace hindsight
