// All stages of an explicit step in one launch on a device (equations/emit_device_tiles.hpp), after one exchange of
// ghosts: what wavefront.hpp is to a host. The arithmetic of a cell is the same, and so are the bits.
//
// Whether it pays depends on the device and on the equations: the first steps are taken so and pass by pass in turn,
// the others the faster way. Small states of one rank are taken so from the start: launches are what their steps take.
// On planes; elsewhere steps are taken pass by pass.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "runtime/stopwatch.hpp"
#include "solvers/grid/grid.hpp"
#include "solvers/steppers/faster_way.hpp"
#include "solvers/steppers/kernels/differentiated_kernel.hpp"
#include "solvers/steppers/stepper.hpp"

namespace hindsight {

class DeviceWalk {
 public:
  struct Stage {
    DifferentiatedKernel* kernel;
    std::vector<int> handed_on;  ///< symbols of all that it writes; of the last one none
  };
  /// Ghost layers from which all stages follow; none where no tile pays. On planes.
  static std::array<int, 3> layers(const std::vector<Stage>& stages, const std::vector<int>& begins_with);
  /// The halo of a device's grid that has room for these layers, where they are little beside what a rank owns.
  /// @param least of other needs.
  static std::array<int, 3> halo(const std::vector<Axis>& axes, int ranks, const std::array<int, 3>& least,
                                 const std::array<int, 3>& layers);
  /// Nothing where there is none. @param stages in their order; each reads, of what those before it write, beyond the
  /// cell itself only the states of its kernel. They outlive it. @param begins_with symbols of the first one's states.
  /// Collective.
  static std::optional<DeviceWalk> make(const Tables& tables, const std::vector<Stage>& stages,
                                        const std::vector<int>& begins_with);
  /// A step. @param by_passes takes the same one pass by pass. Collective.
  template <class ByPasses>
  void run(const Tables& tables, const ByPasses& by_passes) {
    begin();
    if (is_in_one_launch())
      pass_.run(tables);
    else
      by_passes();
    end();
  }
  /// Whether all steps are taken so from now on.
  bool is_chosen() const { return !tries_ways() && is_in_one_launch(); }
  bool tries_ways() const { return !is_fixed_ && !ways_.is_chosen(); }
  /// For people; empty where steps are taken pass by pass.
  std::string describe() const;

 private:
  DeviceWalk(const Tables& tables, const std::vector<Stage>& stages, std::int64_t fields, const DeviceSource& source,
             const std::array<int, 3>& layers);
  bool is_in_one_launch() const { return is_fixed_ || ways_.now() == 1; }
  void begin();
  void end();

  const Grid* grid_;
  bool is_fixed_;  // that steps are taken in one launch
  Stopwatch watch_;
  KernelLibrary library_;
  Pass pass_;
  std::array<int, 2> tile_;
  FasterWay ways_;  // by passes; in one launch
};

}  // namespace hindsight
