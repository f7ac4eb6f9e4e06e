// Where the outputs of a run lie in fields.h5.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/hdf5/hdf5_handle.hpp"
#include "solvers/grid/grid.hpp"

namespace hindsight {

/// The outputs that a file holds, in their order.
struct OutputsWritten {
  std::vector<std::int64_t> steps;
  std::vector<double> times;
  std::vector<std::vector<double>> values;  ///< per field, of an ODE only
};

/// All datasets are made before the first output, contiguous, with their place in the file and never filled. Outputs
/// then move bytes into them and change nothing else, so that a process may be killed at any moment and leave a file
/// that opens. The format is one that HDF5 does not mark as open for writing: a mark would outlive the process.
///
/// In the order of the file: what describes the datasets; coordinates; the fields, output by output; /times, /steps
/// and, of an ODE, the fields as lists over the outputs. What a run does not need thus lies at the end.
///
/// All calls are made by one rank, while no other has the file open. @throws ResourceError.
class OutputLayout {
 public:
  /// @param most outputs that there is room for.
  OutputLayout(const Grid& grid, std::vector<std::string> fields, std::int64_t most);
  /// The dataset of a field on a grid. @param i counts outputs from 0.
  std::string dataset(std::size_t field, std::int64_t i) const;

  void make(const std::string& file) const;
  /// That the file has these datasets, and lists that begin with what was written.
  void require(const std::string& file, const OutputsWritten& written) const;
  /// Gives the file its name, and back to the file system what has no output. Killed meanwhile, it may be lost.
  void finish(const std::string& file, const OutputsWritten& written, const std::string& case_name) const;

 private:
  /// A dataset of one number per output, and the numbers.
  struct List {
    std::string path;
    hid_t stored, native;
    const void* values;
  };
  bool is_ode() const { return grid_.dimensions() == 0; }
  std::int64_t bytes_of_description() const;
  std::vector<List> lists(const OutputsWritten& written) const;
  void require_fields(hid_t file, const std::string& path) const;
  void require_list(hid_t file, const List& list, std::size_t count, const std::string& path) const;
  bool is_mostly_description(std::int64_t count) const;
  void cut(hid_t file, const OutputsWritten& written, const std::string& path) const;
  void make_again(const std::string& path, const OutputsWritten& written) const;

  const Grid& grid_;
  std::vector<std::string> fields_;
  std::int64_t most_;
};

}  // namespace hindsight
