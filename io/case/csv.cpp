#include "io/case/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

#include "io/case/text_file.hpp"
#include "io/hdf5/hdf5_handle.hpp"
#include "runtime/nearest_name.hpp"
#include "runtime/stop_request.hpp"

namespace hindsight {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

/// An entry of a line without the quotes around it; two within stand for one.
std::string unquoted(const std::string& entry) {
  if (entry.size() < 2 || entry.front() != '"' || entry.back() != '"') return entry;
  std::string text;
  for (std::size_t i = 1; i + 1 < entry.size(); ++i) {
    text += entry[i];
    if (entry[i] == '"' && entry[i + 1] == '"' && i + 2 < entry.size()) ++i;
  }
  return text;
}

/// Commas between quotes belong to their entry.
std::vector<std::string> entries(const std::string& line) {
  std::vector<std::string> all(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') is_quoted = !is_quoted;
    if (c == ',' && !is_quoted) {
      all.emplace_back();
    } else {
      all.back() += c;
    }
  }
  for (std::string& entry : all) entry = unquoted(trimmed(entry));
  return all;
}

constexpr std::int64_t most_bytes = std::int64_t{4} << 30U;
constexpr std::size_t longest_line = std::size_t{1} << 20U;

/// A name that stands twice would leave open which column is meant. Columns without a name are asked for by nobody.
void refuse_twins(const std::vector<std::string>& names, const SourcePlace& place) {
  for (auto name = names.begin(); name != names.end(); ++name)
    if (!name->empty() && std::find(names.begin(), name, *name) != name)
      throw InputError(place, "the column '" + *name + "' stands twice");
}

}  // namespace

Table::Table(const std::string& path) : path_(path) {
  require_regular_file(path, "a table");
  is_hdf5_ = is_hdf5(path);
  is_hdf5_ ? read_hdf5() : read_text();
}

SourcePlace Table::place(std::size_t row) const {
  if (is_hdf5_) return {path_ + ", row " + std::to_string(row), 0, 0};
  return {path_, lines_[row], 0};
}

bool Table::is_hdf5(const std::string& path) {
  const std::string signature = "\x89HDF\r\n\x1a\n";
  std::string begin(signature.size(), ' ');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return file.gcount() == static_cast<std::streamsize>(signature.size()) && begin == signature;
}

void Table::read_text() {
  const std::string& path = path_;
  std::istringstream text(utf8_text(path, read_regular_file(path, "a table", most_bytes)));
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    stop_if_asked();
    ++number;
    if (line.size() > longest_line) throw InputError({path, number, 0}, "this line is longer than 1 MiB");
    if (trimmed(line).empty() || trimmed(line)[0] == '#') continue;
    if (names_.empty()) {
      names_ = entries(line);
      refuse_twins(names_, {path, number, 0});
      continue;
    }
    cells_.push_back(entries(line));
    lines_.push_back(number);
    if (cells_.back().size() != names_.size())
      throw InputError({path, number, 0}, "this row has " + std::to_string(cells_.back().size()) +
                                              " entries, the header has " + std::to_string(names_.size()));
  }
  if (names_.empty()) throw InputError({path, 0, 0}, "an empty table: a line of column names is needed");
  rows_ = lines_.size();
}

namespace {

herr_t add_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

/// A failure of HDF5 is one of the file that was named.
template <class Work>
void reading(const std::string& path, const Work& work) {
  print_no_hdf5_errors();
  try {
    const Hdf5File file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "open", path);
    work(file);
  } catch (const ResourceError& error) {
    throw InputError({path, 0, 0}, error.what());
  }
}

}  // namespace

void Table::read_hdf5() {
  reading(path_, [&](const Hdf5File& file) {
    std::vector<std::string> all;
    check_hdf5(H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, nullptr, add_name, &all), "list", path_);
    for (const std::string& name : all) {
      H5O_info_t info;
      if (H5Oget_info_by_name(file, name.c_str(), &info, H5P_DEFAULT) < 0 || info.type != H5O_TYPE_DATASET) continue;
      const std::vector<hsize_t> sizes = sizes_of(open_dataset(file, name, path_), path_);
      if (sizes.size() != 1) continue;
      if (!names_.empty() && sizes[0] != rows_)
        throw InputError({path_, 0, 0}, "the column '" + name + "' has " + std::to_string(sizes[0]) + " entries, '" +
                                            names_.front() + "' has " + std::to_string(rows_));
      rows_ = sizes[0];
      names_.push_back(name);
    }
  });
  if (names_.empty())
    throw InputError({path_, 0, 0}, "an empty table: datasets of one dimension, one for each column, are needed");
}

std::vector<double> Table::read_hdf5(const std::string& column) const {
  std::vector<double> values(rows_);
  reading(path_, [&](const Hdf5File& file) {
    const Hdf5Dataset data = open_dataset(file, column, path_);
    check_hdf5(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
               "read numbers of dataset " + column + " of", path_);
  });
  for (std::size_t row = 0; row < rows_; ++row)
    if (!std::isfinite(values[row]))
      throw InputError(place(row),
                       "column '" + column + "': '" + std::to_string(values[row]) + "' is not a finite number");
  return values;
}

bool Table::has(const std::string& column) const {
  return std::find(names_.begin(), names_.end(), column) != names_.end();
}

std::vector<double> Table::numbers(const std::string& column) const {
  const auto found = std::find(names_.begin(), names_.end(), column);
  if (found == names_.end())
    throw InputError({path_, 0, 0},
                     "no column '" + column + "'" + did_you_mean(column, names_) + "; columns: " + join(names_));
  if (is_hdf5_) return read_hdf5(column);
  const auto index = static_cast<std::size_t>(found - names_.begin());
  std::vector<double> values;
  for (std::size_t row = 0; row < cells_.size(); ++row) {
    const std::string& cell = cells_[row][index];
    const char* first = cell.data() + (cell.starts_with('+') ? 1 : 0);
    double value = 0.0;
    const auto [end, error] = std::from_chars(first, cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value))
      throw InputError(place(row), "column '" + column + "': '" + cell + "' is not a finite number");
    values.push_back(value);
  }
  return values;
}

}  // namespace hindsight
