// Options of PETSc that implicit steps cannot be taken with.
#pragma once

#include <string>

#include "runtime/petsc_options.hpp"

namespace hindsight {

/// Those that would change what the steps are, unseen by checks of gradients or by replays, and numbers that leave
/// solvers nothing to do. PETSc has taken them. @param prefix "-step_". @throws InputError naming where they come from.
void refuse_options(const PetscOptions& options, const std::string& prefix);

}  // namespace hindsight
