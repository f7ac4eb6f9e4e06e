// Tables, as text or in HDF5. Text is UTF-8: # starts a comment line, then one line of column names, then rows of
// entries, mostly numbers, commas between; an entry in double quotes may hold commas. In HDF5 columns are datasets of
// one dimension at the root, all equally long; others are passed over.
#pragma once

#include <string>
#include <vector>

#include "runtime/error.hpp"

namespace hindsight {

class Table {
 public:
  /// @throws InputError naming file and line: no regular file, not UTF-8, no header, a column that stands twice, wrong
  /// number of entries in a row; columns of HDF5 that are not equally long.
  explicit Table(const std::string& path);

  /// Whether a file is one of HDF5, by its first bytes.
  static bool is_hdf5(const std::string& path);
  bool is_hdf5() const { return is_hdf5_; }

  const std::vector<std::string>& names() const { return names_; }
  bool has(const std::string& column) const;
  std::size_t rows() const { return rows_; }
  /// File and line; of HDF5 the row, from 0.
  SourcePlace place(std::size_t row) const;
  /// An entry as it stands, blanks around it left out; of text.
  const std::string& text(std::size_t row, std::size_t column) const { return cells_[row][column]; }
  /// A column as finite numbers. @throws InputError naming file, line, column when one is missing, NaN or no number.
  std::vector<double> numbers(const std::string& column) const;

 private:
  void read_text();
  void read_hdf5();
  std::vector<double> read_hdf5(const std::string& column) const;

  std::string path_;
  bool is_hdf5_ = false;
  std::size_t rows_ = 0;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> cells_;
  std::vector<int> lines_;
};

}  // namespace hindsight
