// Differentiated kernels of one model that are compiled together and share what walls sum up.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "solvers/steppers/kernels/differentiated_kernel.hpp"
#include "solvers/steppers/stepper.hpp"

namespace hindsight {

/// A stepper's or a term's kernels: one per evaluation of the equations, in the order of evaluations. First all of them
/// are added, then derived, then prepared; it does not move afterwards.
class KernelSet {
 public:
  /// @param model, active outlive it. @param prefix distinguishes its arrays of wall values from those of others.
  KernelSet(const Model& model, const Active& active, std::string prefix);
  ~KernelSet();
  KernelSet(const KernelSet&) = delete;
  KernelSet& operator=(const KernelSet&) = delete;

  /// Derives the value alone, so that the kernels of a run are the same whether it is differentiated or not. All
  /// requests of a set have the same share.
  void add(KernelRequest request);
  /// Derives what is wanted of all of them, from the last to the first, and their walls.
  void derive(const Derivatives& wanted);
  std::array<int, 3> halo() const;
  /// Ghost layers of the first kernel's state from which the values of all follow, each the next one's state, as deep
  /// as their derivatives read them; at least as deep as they read anything else there. @param times that all of them
  /// follow each other, each time from the last one's state.
  std::array<int, 3> halo_one_after_another(std::size_t times = 1) const;
  /// The same from which their gathers follow too, from the last to the first, each the multiplier of the one before.
  std::array<int, 3> halo_there_and_back() const;
  /// For people: values, gathers from the last to the first, tangents.
  std::vector<Stepper::Described> describe() const;

  /// How many libraries are compiled beside the one of the walls: those of each direction can be had from a cache by a
  /// run that wants fewer.
  enum class Libraries { one, one_per_direction };
  /// Compiles and allocates. @param knots number of knots of each active series. @param longest of the kernels that
  /// are compiled (KernelLibrary). @param around_sources PointSources::rows(); outlives it. @param gathered_in
  /// local cells, the ghosts among them, that multipliers leave anything to gather in; null: all. Collective.
  void prepare(const Grid& grid, Tables& tables, const std::vector<std::size_t>& knots, Libraries libraries,
               std::size_t longest = longest_compiled, const std::vector<Box>* around_sources = nullptr,
               const std::vector<Box>* gathered_in = nullptr);
  std::vector<const KernelLibrary*> libraries() const;

  std::vector<DifferentiatedKernel>& kernels() { return kernels_; }
  /// Indices in Graph::noises() of what the kernels of a direction read and what changes with the step.
  const std::vector<std::size_t>& noise(Direction direction) const {
    return noise_[static_cast<std::size_t>(direction)];
  }
  /// With the present scalars.
  void evaluate_walls(Tables& tables) {
    for (DifferentiatedKernel& kernel : kernels_) kernel.evaluate_walls(tables);
  }
  void evaluate_wall_tangents(Tables& tables) {
    for (DifferentiatedKernel& kernel : kernels_) kernel.evaluate_wall_tangents(tables);
  }
  /// The gather of kernel i, derivatives with respect to wall values included. @param places of its time in the active
  /// series.
  void run_gather(std::size_t i, Tables& tables, const std::vector<Series::Place>& places) {
    kernels_[i].run_gather(tables);
    if (kernels_[i].is_fed_by_walls()) wall_adjoint_->accumulate(tables, kernels_[i].stage(), places);
  }

  /// What gathers have found through wall values: see Stepper.
  void clear_sums();
  void save_sums(BlockWriter& to) const;
  void restore_sums(BlockReader& from);
  void add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const;

 private:
  /// Layers around the cells from which what so many of them write follows, one after another and again from the first
  /// one, in so many layers of the last one's, and whatever else they read.
  std::array<int, 3> halo_from(std::size_t kernels, std::array<int, 3> written) const;
  void compile(const Grid& grid, Libraries libraries, std::size_t longest);
  std::vector<const KernelSpec*> specs(Direction direction) const;
  Kernel loaded(const KernelSpec& spec) const;

  const Model& model_;
  const Active& active_;
  std::string prefix_;
  std::vector<DifferentiatedKernel> kernels_;
  std::vector<KernelSpec> wall_kernels_;
  std::unique_ptr<WallAdjoint> wall_adjoint_;  // where walls are read across and the adjoint is wanted
  std::vector<FieldWalls> zero_walls_, mirror_walls_;
  const Grid* grid_ = nullptr;
  std::vector<KernelLibrary> libraries_;
  KernelLibrary wall_library_;
  std::array<std::vector<std::size_t>, 3> noise_;  // per direction
};

}  // namespace hindsight
