// All stages of an explicit step in one launch on a device (equations/emit_device_tiles.hpp), after one exchange of
// ghosts: what wavefront.hpp is to a host. The arithmetic of a cell is the same, and so are the bits.
//
// Whether it pays depends on the device and on the equations: the first steps are taken so and pass by pass in turn,
// the others the faster way. On periodic planes; elsewhere steps are taken pass by pass.
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
  /// The halo of a device's grid that has room for this. @param least, of_steps as Wavefront::halo() has them.
  static std::array<int, 3> halo(const std::vector<Axis>& axes, int ranks, const std::array<int, 3>& least,
                                 const std::vector<WalkHalo>& of_steps);
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
  bool is_chosen() const { return is_asked_ || (ways_.is_chosen() && ways_.now() == 1); }
  /// For people.
  std::string describe() const;

 private:
  DeviceWalk(const Tables& tables, const std::vector<Stage>& stages, const DeviceSource& source,
             const std::array<int, 3>& layers);
  bool is_in_one_launch() const { return is_asked_ || ways_.now() == 1; }
  void begin();
  void end();

  const Grid* grid_;
  bool is_asked_;  // for, by tests
  Stopwatch watch_;
  KernelLibrary library_;
  Pass pass_;
  std::array<int, 2> tile_;
  FasterWay ways_;  // by passes; in one launch
};

}  // namespace hindsight
