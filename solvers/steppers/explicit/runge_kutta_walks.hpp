// All stages of a Runge-Kutta step in one walk over the grid (wavefront.hpp), forward and back, where there is one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "solvers/equations/model.hpp"
#include "solvers/steppers/device_walk.hpp"
#include "solvers/steppers/kernels/kernel_set.hpp"
#include "solvers/steppers/wavefront.hpp"

namespace hindsight {

class RungeKuttaWalks {
 public:
  /// Symbols [stage][field] of what stages read, and of its tangents; the last entry is the new state.
  struct Stages {
    const std::vector<std::vector<int>>&states, &tangents;
    bool are_read_after = false;  ///< by an estimate of the error, once the step is done
  };
  /// What acts beside the equations.
  struct Sources {
    PointSources& points;
    const SeriesData& series;
  };
  /// @param kernels of the stages, prepared; they outlive it, as `tables` and what sources are made of do. Collective.
  RungeKuttaWalks(const Model& model, const Active& active, const Tables& tables, KernelSet& kernels,
                  const Stages& stages, const Sources& sources);
  /// Symbols of what stage i (from 0) leaves to later ones alone.
  static std::vector<int> handed_on(const Model& model, const std::vector<std::vector<int>>& stages, std::size_t i,
                                    bool is_tangent);

  /// All stages, as a device takes them in one launch.
  static std::vector<DeviceWalk::Stage> stages_of_launch(const Model& model, KernelSet& kernels,
                                                         const std::vector<std::vector<int>>& stages);

  /// How many of the passes that reverse a step from its state come before its gathers.
  static std::size_t passes_there(const std::vector<DifferentiatedKernel>& kernels);

  ~RungeKuttaWalks();
  RungeKuttaWalks(const RungeKuttaWalks&) = delete;
  RungeKuttaWalks& operator=(const RungeKuttaWalks&) = delete;

  std::optional<Wavefront> values, recorded, tangents, gathers;
  std::optional<Wavefront> reversed;    ///< from the state alone
  std::optional<DeviceWalk> on_device;  ///< the values
  std::vector<double> times;            ///< of the stages of the step at work, for sources

 private:
  class AtSources;
  struct Passes;
  struct Given {
    const Model& model;
    const Active& active;
    const Stages& stages;
    const Sources& sources;
    const Grid& grid;
    const std::vector<DifferentiatedKernel>& kernels;
  };
  /// The passes of stage i (from 0), from the first to the last; their gathers, from the last to the first.
  void add_stage(Passes& passes, std::size_t i, DifferentiatedKernel& kernel, const Given& given);
  /// Stage i, computed again as the step is reversed: nobody reads what it hands on after the gather of the stage whose
  /// input it is. Of the last stage there is nothing but the ghosts that its gather reads, if it reads any.
  static void add_again(Passes& passes, std::size_t i, const Wavefront::Step& kept, const Given& given);
  /// What the gather of stage i hands on in the place of that stage's input.
  static std::vector<std::pair<int, int>> in_place(std::size_t i, const DifferentiatedKernel& kernel,
                                                   const Given& given);
  void add_gather(Passes& passes, std::size_t i, DifferentiatedKernel& kernel, const Given& given);
  void add_walls(Wavefront::Step& step, const DifferentiatedKernel& kernel);
  void add_sources(Wavefront::Step& step, const DifferentiatedKernel& kernel, Direction direction, std::size_t stage,
                   const Sources& sources, const Grid& grid);

  std::vector<std::unique_ptr<Wavefront::Beside>> beside_walls_;
  std::vector<std::unique_ptr<AtSources>> at_sources_;
};

}  // namespace hindsight
