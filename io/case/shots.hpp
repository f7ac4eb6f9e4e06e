// The section `shots` of a case: a table of experiments, each a few keys of the case with values of its own.
#pragma once

#include <string>
#include <vector>

#include "io/case/document.hpp"

namespace hindsight {

/// A row of the table.
struct ShotRow {
  std::string name;
  double weight = 1.0;
  std::vector<Override> set;  ///< of keys of the page; entries that are empty leave the page's values
  SourcePlace place;
};

struct ShotTable {
  std::string file;  ///< that the rows are from; empty: the page
  bool excludes_failing = false;
  std::vector<ShotRow> rows;

  std::vector<std::string> names() const;
  /// @throws InputError naming the nearest one when no shot has the name.
  const ShotRow& named(const std::string& name) const;
};

/// @param section the path of a table as io/case/csv.hpp reads it, or a list of rows; or a map with that under `table`,
/// and `failing`: stop or exclude. A row names its shot under `shot`, may give it a `weight`, and sets other keys as
/// --set does. @param page the whole case. @throws InputError with the row's place: no rows, a name twice or none, and
/// a key that shots have in common (grid, unknowns, equations, ...) or that the page does not have.
ShotTable read_shots(const Value& section, const Value& page, const std::string& case_path);

/// The table as a section whose rows are in the page, its paths absolute.
YAML::Node to_node(const ShotTable& table, const std::string& case_path);

}  // namespace hindsight
