#include "solvers/steppers/implicit/petsc/refused_options.hpp"

#include <fmt/format.h>
#include <petscsnes.h>

#include <array>
#include <utility>

#include "runtime/petsc.hpp"
#include "runtime/petsc_options.hpp"

namespace hindsight {
namespace {

void refuse_by_name(const PetscOptions& options, const std::string& prefix) {
  const char* const derived = "the derivatives are those of the equations, and assembled";
  const char* const judged = "Newton's method is judged by its changes, until they are rounding";
  const char* const kept = "solvers are to leave the matrix as it is";
  const char* const replayed = "a step is to be repeated bit for bit from its state alone";
  const std::pair<const char*, const char*> refused[] = {
      {"snes_mf", derived},
      {"snes_mf_operator", derived},
      {"snes_fd", derived},
      {"snes_fd_color", derived},
      {"snes_convergence_test", judged},
      {"snes_rtol", judged},
      {"snes_atol", judged},
      {"snes_stol", judged},
      {"snes_lag_jacobian_persists", replayed},
      {"snes_lag_preconditioner_persists", replayed},
      {"ksp_guess_type", replayed},
      {"ksp_initial_guess_nonzero", replayed},
      {"ksp_diagonal_scale", kept},
      {"pc_factor_in_place", kept},
  };
  for (const auto& [name, why] : refused) {
    const std::string option = prefix + name;
    PetscBool is_given = PETSC_FALSE;
    PetscOptionsHasName(nullptr, nullptr, option.c_str(), &is_given);
    if (is_given == PETSC_TRUE)
      throw InputError(fmt::format("{} {} cannot be given: {}", options.origin(option), option, why));
  }
}

/// Of multigrid, wherever it is: what it finds for a matrix is for that one.
void refuse_reuse(const PetscOptions& options, const std::string& prefix) {
  for (const std::string& option : given_options()) {
    if (!option.starts_with(prefix) || !option.ends_with("_reuse_interpolation")) continue;
    PetscBool value = PETSC_TRUE;
    const PetscErrors errors;
    errors.check_options(PetscOptionsGetBool(nullptr, nullptr, option.c_str(), &value, nullptr), options.origin(option),
                         options.text());
    if (value == PETSC_TRUE)
      throw InputError(fmt::format("{} {} cannot be true: a step is to be repeated bit for bit from its state alone",
                                   options.origin(option), option));
  }
}

void refuse_counts(const PetscOptions& options, const std::string& prefix) {
  const PetscErrors errors;
  for (const char* const name :
       {"snes_max_it", "snes_max_funcs", "snes_lag_jacobian", "snes_lag_preconditioner", "ksp_max_it"}) {
    const std::string option = prefix + name;
    PetscInt count = 1;
    PetscBool is_given = PETSC_FALSE;
    errors.check_options(PetscOptionsGetInt(nullptr, nullptr, option.c_str(), &count, &is_given),
                         options.origin(option), options.text());
    if (count < 1)
      throw InputError(fmt::format("{} {} must be at least 1, and is {}", options.origin(option), option, count));
  }
}

std::string given_text(const std::string& option) {
  std::array<char, 64> text{};
  PetscBool is_given = PETSC_FALSE;
  PetscOptionsGetString(nullptr, nullptr, option.c_str(), text.data(), text.size(), &is_given);
  return text.data();
}

/// Others than Newton's method keep what they have learnt from step to step, or need bounds.
void refuse_methods(const PetscOptions& options, const std::string& prefix) {
  const std::string newton = prefix + "snes_type", by = prefix + "pc_type";
  const std::string method = given_text(newton);
  if (!method.empty() && method != SNESNEWTONLS && method != SNESNEWTONTR)
    throw InputError(fmt::format("{} {} must be {} or {}, and is {}", options.origin(newton), newton, SNESNEWTONLS,
                                 SNESNEWTONTR, method));
  if (given_text(by) == PCMG)
    throw InputError(
        fmt::format("{} {} cannot be {}: PETSc would need coarser grids for it; {} finds them in the matrix",
                    options.origin(by), by, PCMG, PCGAMG));
}

void refuse_tolerances(const PetscOptions& options, const std::string& prefix) {
  const PetscErrors errors;
  const std::string option = prefix + "ksp_rtol";
  PetscReal tolerance = 0.5;
  PetscBool is_given = PETSC_FALSE;
  errors.check_options(PetscOptionsGetReal(nullptr, nullptr, option.c_str(), &tolerance, &is_given),
                       options.origin(option), options.text());
  if (!(tolerance > 0.0 && tolerance < 1.0))
    throw InputError(
        fmt::format("{} {} must lie between 0 and 1, and is {}", options.origin(option), option, tolerance));
}

}  // namespace

void refuse_options(const PetscOptions& options, const std::string& prefix) {
  refuse_by_name(options, prefix);
  refuse_reuse(options, prefix);
  refuse_counts(options, prefix);
  refuse_methods(options, prefix);
  refuse_tolerances(options, prefix);
}

}  // namespace hindsight
