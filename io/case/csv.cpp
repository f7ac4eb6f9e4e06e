#include "io/case/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "io/case/text_file.hpp"
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
}

bool Table::has(const std::string& column) const {
  return std::find(names_.begin(), names_.end(), column) != names_.end();
}

std::vector<double> Table::numbers(const std::string& column) const {
  const auto found = std::find(names_.begin(), names_.end(), column);
  if (found == names_.end())
    throw InputError({path_, 0, 0},
                     "no column '" + column + "'" + did_you_mean(column, names_) + "; columns: " + join(names_));
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
