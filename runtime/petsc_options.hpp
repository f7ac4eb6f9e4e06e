// Options of PETSc as somebody gave them, and where.
#pragma once

#include <string>
#include <vector>

#include "runtime/error.hpp"

namespace hindsight {

/// The names of options ("-step_pc_type") in a text as on PETSc's command line, in order.
std::vector<std::string> option_names(const std::string& text);

/// As on PETSc's command line.
struct PetscOptions {
  std::string in_case = {};
  SourcePlace place = {};  ///< of in_case
  std::string added = {};  ///< by --petsc, read after those of the case

  bool empty() const { return in_case.empty() && added.empty(); }
  /// All of them, with one blank between two words: PETSc takes line breaks for parts of values.
  std::string text() const;
  /// The first whose name begins with this; empty: none.
  std::string first_with(const std::string& prefix) const;
  /// What messages on an option begin with, or on all: "case.yaml:7:8: petsc:", "--petsc:" or "PETSC_OPTIONS:".
  std::string origin(const std::string& option = "") const;
};

}  // namespace hindsight
