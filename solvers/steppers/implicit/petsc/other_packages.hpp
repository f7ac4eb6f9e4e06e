// Packages that take memory past PETSc while they precondition.
#pragma once

#include <petscpc.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hindsight {

struct OtherPackages {
  std::int64_t bytes = 0;                   ///< of this process, as they say themselves
  std::vector<std::string> uncounted{};     ///< those that do not say
  std::vector<std::string> unrepeatable{};  ///< those whose results depend on when messages arrive
};

/// Of a preconditioner that has been used, with those inside it: of blocks, domains, fields, levels, and parts.
OtherPackages other_packages(PC preconditioner);

}  // namespace hindsight
