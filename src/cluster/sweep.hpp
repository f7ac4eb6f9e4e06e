// A table of independent runs of one case: what `hindsight sweep` begins, and what its folder knows of it.
//
//   OUT/sweep.json      the case, the rows, and the jobs that were sent
//   OUT/waiting.txt     the rows that the jobs compute, one a line
//   OUT/sweep.sbatch    what they do
//   OUT/NAME            the run of a row
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/case/case.hpp"
#include "runtime/error.hpp"
#include "src/options.hpp"
#include "src/report.hpp"

namespace hindsight {

struct SweepRow {
  std::string name;              ///< of its folder
  std::vector<std::string> set;  ///< "KEY=VALUE", as after --set, one for each column
  SourcePlace place;             ///< in the table
};

/// @param path of a table as io/case/csv.hpp reads it. A column is a key of the case, as --set takes it; a column
/// `name` names the rows, which have numbers otherwise. @throws InputError with the row's place: no rows, a name twice,
/// a name that is none for a folder.
std::vector<SweepRow> read_sweep(const std::string& path);

struct Sweep {
  std::string folder;            ///< from the root
  std::string file, verb;        ///< the case's file, from the root; of all runs
  std::vector<std::string> set;  ///< that all rows have in common
  std::vector<SweepRow> rows;
  std::vector<std::string> jobs;  ///< the newest arrays of jobs
  int ranks = 1;

  static std::string record(const std::string& folder) { return folder + "/sweep.json"; }
  static bool is_in(const std::string& folder);
  /// @throws ResourceError when the record is damaged.
  static Sweep read(const std::string& folder);
  void write() const;
  /// What its arrays are made of.
  std::string script() const { return folder + "/sweep.sbatch"; }
  std::string run(const SweepRow& row) const { return folder + "/" + row.name; }
};

/// Rows, states and results in words. @param csv a file where the table goes, too; -: the text is that table; empty:
/// nowhere. @throws ResourceError when the file cannot be written.
std::string sweep_text(const Sweep& sweep, const std::string& csv, Json& json);

}  // namespace hindsight
