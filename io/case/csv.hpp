// Tables as UTF-8 text: # starts a comment line, then one line of column names, then rows of entries, mostly numbers,
// commas between; an entry in double quotes may hold commas.
#pragma once

#include <string>
#include <vector>

#include "runtime/error.hpp"

namespace hindsight {

class Table {
 public:
  /// @throws InputError naming file and line: no regular file, not UTF-8, no header, a column that stands twice, wrong
  /// number of entries in a row.
  explicit Table(const std::string& path);

  const std::vector<std::string>& names() const { return names_; }
  bool has(const std::string& column) const;
  std::size_t rows() const { return lines_.size(); }
  SourcePlace place(std::size_t row) const { return {path_, lines_[row], 0}; }
  /// An entry as it stands, blanks around it left out.
  const std::string& text(std::size_t row, std::size_t column) const { return cells_[row][column]; }
  /// A column as finite numbers. @throws InputError naming file, line, column when one is missing, NaN or no number.
  std::vector<double> numbers(const std::string& column) const;

 private:
  std::string path_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> cells_;
  std::vector<int> lines_;
};

}  // namespace hindsight
