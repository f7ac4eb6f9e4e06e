// Leapfrog steps that take the place of the levels they begin with, one by one, or several in one walk over the grid
// (wavefront.hpp).
//
// u[k+1] is written where u[k-1] was, of which a step reads nothing but the cell itself. In a walk each step lags
// behind the one before by as many rows as it reads to a side, and overwrites what nobody reads any more: of memory, m
// steps read and write what one step does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "solvers/steppers/kernels/differentiated_kernel.hpp"
#include "solvers/steppers/kernels/point_sources.hpp"
#include "solvers/steppers/leapfrog/matched_layers.hpp"
#include "solvers/steppers/stepper.hpp"
#include "solvers/steppers/wavefront.hpp"

namespace hindsight {

class LeapfrogWalk {
 public:
  /// Of steps but a run's first one. All outlive it.
  struct Parts {
    DifferentiatedKernel& kernel;
    PointSources& sources;
    const MatchedLayers& layers;
    const SeriesData& series;
    LevelSymbols state;     ///< that a step begins with
    std::vector<int> next;  ///< symbols of the fields after it
  };
  /// Halos with room for walks on several ranks and around periodic axes, without sources and layers, the deepest
  /// first.
  static std::vector<WalkHalo> halos(const DifferentiatedKernel& kernel);
  /// Once the parts are prepared, on a host. @param one_by_one what kernels read, beside states and sources, changes
  /// from step to step. Collective.
  LeapfrogWalk(const Parts& parts, const Tables& tables, bool one_by_one);
  LeapfrogWalk(const LeapfrogWalk&) = delete;
  LeapfrogWalk& operator=(const LeapfrogWalk&) = delete;

  /// To be called when sources are elsewhere than before.
  void sources_changed();
  /// That a walk takes at most; 1: there is none.
  std::int64_t steps() const { return walk_ ? static_cast<std::int64_t>(works_.size()) : 1; }
  /// Takes these steps, steps() at most. @param u level by level, by turns: the first step's in place of u.before.
  void run(Tables& tables, std::span<const StepTime> times, StateBlocks u);
  /// For people; empty: steps are taken one by one.
  std::string describe() const;

 private:
  /// One of the steps, beside its kernel.
  class Work final : public Wavefront::Beside {
   public:
    /// @param kept room for the level before around all sources; that of all steps, for none needs it long.
    Work(const Parts& parts, std::vector<double>& kept) : parts_(parts), kept_(kept) {}
    void begin(double t, StateBlocks u) {
      t_ = t;
      u_ = u;
    }
    void bind(Tables& tables) override;
    void before(Tables& tables, const Box& cells) override;
    void after(Tables& tables, const Box& cells) override;

   private:
    /// Calls visit(box, kept) for what rows of sources have in common with the cells, where what is kept of it is.
    template <class Visit>
    void each_box(const Box& cells, Visit visit) const;

    const Parts& parts_;
    double t_ = 0.0;
    StateBlocks u_{nullptr};
    std::vector<double>& kept_;
  };
  bool make_walk(const Tables& tables, std::size_t steps);

  Parts parts_;
  std::vector<double> kept_;  // of the level before, around sources: row by row, field by field
  std::vector<std::unique_ptr<Pass>> passes_;
  std::vector<std::unique_ptr<Work>> works_;
  std::optional<Wavefront> walk_;
};

}  // namespace hindsight
