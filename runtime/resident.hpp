// The memory of this process as the operating system sees it.
#pragma once

#include <cstdint>

namespace hindsight {

/// Bytes.
struct Resident {
  std::int64_t now = 0;    ///< resident (VmRSS)
  std::int64_t most = 0;   ///< since this program began (VmHWM); getrusage() may speak of the process that started it
  std::int64_t files = 0;  ///< of what is resident now, pages of libraries and kernels (RssFile)
};

/// What was freed goes back to the system, where the heap would keep it: Open MPI lets it never shrink.
void give_back_freed();

/// Zeros where the system does not say.
Resident resident();
/// Bytes of the peak that are no pages of files. How many of those the peak had, the system does not say: they are
/// taken to be as many as at the start or later, whichever is more. Where it took some away before the peak, this is
/// too little by those.
std::int64_t most_without_files(const Resident& start, const Resident& later);

}  // namespace hindsight
