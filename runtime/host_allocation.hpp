// The host's memory for arrays.
#pragma once

#include <cstdint>

namespace hindsight {

/// Small arrays lie in the heap, others in pages of their own: what is freed goes back to the system at once, where the
/// heap would keep holes, or all (Open MPI lets it never shrink). Thread-safe. @throws std::bad_alloc
void* allocate_host(std::int64_t bytes, std::int64_t alignment);
/// @param bytes as they were asked for.
void free_host(void* memory, std::int64_t bytes) noexcept;

}  // namespace hindsight
