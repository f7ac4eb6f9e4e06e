// Where the bytes of the disk tier lie. Whoever opens the tier knows no files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adjoint/store/medium.hpp"
#include "solvers/grid/state_shape.hpp"

namespace hindsight {

/// A medium for states of one rank, and what whoever looks at it later wants to know of these.
struct DiskRequest {
  std::int64_t slots = 0, pages = 0, page_bytes = 0;  ///< pages of whole 4 KiB
  std::vector<std::string> fields;
  StateShape shape;
  std::string codec;                              ///< empty: none
  std::function<double(std::int64_t step)> time;  ///< of a state; any thread calls it
};

/// Makes the medium of a disk tier, one at a time.
class DiskSpace {
 public:
  virtual ~DiskSpace() = default;
  /// Comes before each make(), on all ranks. Collective. @throws ResourceError when there is no place for any medium.
  virtual void prepare() = 0;
  /// @throws ResourceError when it cannot be made; MediumError(is_full) when the device has not enough room.
  virtual std::unique_ptr<Medium> make(const DiskRequest& request) = 0;
  /// What the last make() made is needed no more, by other processes neither. Its medium is gone already.
  virtual void remove() = 0;
};

}  // namespace hindsight
