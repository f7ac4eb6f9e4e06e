// The kernels of a perfectly matched layer, as expressions.
//
// With b = a + d and 1/s = 1 - d/(i omega + b), the term f * d/dx(k du/dx) becomes f * (it + y1), where, with F the
// flux k du/dx, S = dF/dx, and d' the slope of d along the axis,
//   y3' = -b y3 - d^2 d' F,   y2' = -b y2 + y3 + d^2 S + 2 d d' F,   y1' = -b y1 + y2 - (2 d S + d' F).
// These memories are kept at half steps, by the trapezoidal rule; F and S are those of the step between, and y1 enters
// it as the mean of its two values. Nothing else is read of neighbours: a term takes three numbers per cell.
//
// Memory per cell and term: forward 6 doubles of memories, the fields that F and S read, 2 of the field after the step.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "solvers/equations/model.hpp"
#include "solvers/steppers/kernels/derivation.hpp"
#include "solvers/steppers/leapfrog/leapfrog_kernels.hpp"

namespace hindsight {

/// Those of one layer. All that is given outlives it.
class LayerKernels {
 public:
  LayerKernels(const Model& model, const Active& active, const LeapfrogKernels& scheme, std::size_t layer);

  /// Scalars that hold the largest d, and a.
  std::string damping() const { return "@damping(" + name_ + ")"; }
  std::string shift() const { return "@shift(" + name_ + ")"; }
  /// Names of the memories, in the order in which they lie in a state: three per term.
  std::vector<std::string> memories() const;

  /// Names of the arrays that walking back needs: per term, of a step, the first memory before and after it, added.
  std::vector<std::string> left_behind() const;

  /// The memories after a step, and the fields after it with what these add.
  KernelSpec value() const;
  /// The same, and what is left behind.
  KernelSpec leaving() const;
  /// The fields before a step with what the layer adds, from what it left behind.
  KernelSpec retreat() const;
  /// The tangent of value(), in the fields' and memories' directions (StageNames::dot).
  KernelSpec tangent() const;
  /// The adjoint of value() but for what F and S are made of: writes the adjoints of the memories before the step, and
  /// what F, S and factors are multiplied by (multiplier()), from those after it.
  KernelSpec adjoint() const;
  /// The same from what was left behind, without the memories before the step.
  KernelSpec adjoint_of_left() const;
  /// The square of the speed of waves, written where the fields after a step are: the first of them.
  KernelSpec speed() const;

  /// The array that holds what a root of a term is multiplied by; zero but in a layer. Layers share them.
  enum class Root { flux, second, factor };
  static std::string multiplier(std::size_t term, Root root);
  /// Whether the factor of a term, the step's part included, depends on anything active.
  bool has_active_factor(std::size_t term) const;
  /// The roots themselves, with their multipliers: of all layers along the axis the same.
  KernelRequest roots() const;

 private:
  /// What a term's memories become, from F and S.
  struct Memories {
    std::array<Expr, 3> before, after;
  };
  struct Profile {
    Expr d, slope, keep, add;  ///< d, d', and y(t+h) = keep * y(t) + add * (what is added per time)
  };
  const StretchedTerm& term(std::size_t t) const { return layer_.terms[t]; }
  std::string memory(std::size_t term, int i) const;
  std::string left(std::size_t term) const { return "pml_left(" + name_ + "," + std::to_string(term) + ")"; }
  Profile profile() const;
  std::vector<Expr> staged(const std::vector<Expr>& expressions) const;
  /// Of a term: h^2 f over what damps.
  Expr factor(std::size_t term) const;
  Memories memories_of(std::size_t term, const Profile& profile) const;
  std::vector<Seed> seeds() const;
  std::vector<KernelSpec::Output> after_step() const;
  /// Of the fields, with what the terms add. @param both of each term: the first memory before and after a step, added.
  std::vector<KernelSpec::Output> added(const std::vector<Expr>& both) const;
  /// @param both null: from the memories.
  KernelSpec adjoint(const std::string& name, const std::vector<Expr>* both) const;
  std::vector<Expr> both_left() const;
  /// As they are stored (tiny_values.hpp).
  std::vector<KernelSpec::Output> kept(std::vector<KernelSpec::Output> outputs) const;

  const Model& model_;
  const Active& active_;
  const LeapfrogKernels& scheme_;
  const MatchedLayer& layer_;
  Graph& graph_;
  std::string name_;
};

}  // namespace hindsight
