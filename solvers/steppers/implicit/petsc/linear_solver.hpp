// The linear systems of implicit steps, as PETSc solves them.
#pragma once

#include <petscksp.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "runtime/memory.hpp"
#include "runtime/petsc.hpp"
#include "runtime/petsc_options.hpp"
#include "solvers/steppers/implicit/petsc/grid_matrix.hpp"
#include "solvers/steppers/implicit/petsc/linear_iteration.hpp"
#include "solvers/steppers/implicit/petsc/worst_row.hpp"

namespace hindsight {

/// Chooses how a KSP solves with a matrix, solves with it and its transpose, and looks at what that leaves: some
/// preconditioners have no transpose.
///
/// Systems with some thousand rows per rank are solved by factors; where those are made once, larger ones as well, of
/// up to some hundred thousand rows on few ranks: on several, each factors all of it for itself, so that their number
/// does not show where one axis alone is divided. Others are solved by iterations that suit the matrix
/// (linear_iteration.hpp), to 1e-12, and within Newton's method as far as an iteration can use (aim()). Where the
/// matrix is symmetric, its transpose is solved as it is itself.
class LinearSolver {
 public:
  /// @param options, matrix, entries outlive it. @param prefix of its options ("-step_").
  LinearSolver(const PetscOptions& options, std::string prefix, const GridMatrix& matrix,
               const JacobianEntries& entries)
      : options_(options), prefix_(std::move(prefix)), matrix_(matrix), entries_(entries) {}
  ~LinearSolver();
  LinearSolver(const LinearSolver&) = delete;
  LinearSolver& operator=(const LinearSolver&) = delete;

  /// Once the matrix has its pattern. @param ksp outlives it. Collective, as all that follows.
  void prepare(KSP ksp, const Communicator& comm, int dimensions);
  /// For the matrix as it is, from its values and the equations alone: a process that goes on chooses the same.
  /// @returns whether that is another than before.
  bool choose();
  /// To see what that takes, choose() chooses until it may choose freely again what takes most, as for a matrix that is
  /// not symmetric, and multigrid wherever it iterates, unless several constraints rule that out; solves end soon.
  /// @returns whether that is another choice than the one that there is.
  bool choose_largest(bool wanted);
  /// While PETSc may set the chosen solver up, it finds what that needs among its options.
  void begin() { defaults_.emplace(defaults()); }
  void end() {
    defaults_.reset();
    is_new_ = false;
  }
  /// What is solved next is another system.
  void matrix_changed();
  /// Whether it solves up to a tolerance: iterations that were chosen, unless options have made factors of them.
  bool is_iteration() const { return iteration_ && tolerance() > 0.0; }
  /// 0 where it does not iterate.
  double tolerance() const;
  /// Within Newton's method, what the next solve may leave, where iterations were chosen and no option says that;
  /// loosest_aim at the begin of each.
  void aim(double relative);
  static constexpr double loosest_aim = 1e-3;
  /// Solves for x with the right-hand side b, precisely. @returns why that failed; empty: it did not.
  /// @throws InputError where options ask for what PETSc cannot do, else NumericsError.
  std::string solve(Vec b, Vec x, bool is_transposed, const SystemRows& rows);
  /// The tolerance of what was solved last.
  double solved_to() const { return solved_to_; }
  /// Solves to so many times the tolerance from now on.
  void loosen(double factor) { looser_ = factor; }
  /// PETSc has failed in it, and left it in a state in which it must not be destroyed, nor used.
  bool is_broken() const { return is_broken_; }
  /// Options that PETSc cannot follow have shown themselves by now.
  void end_warm_up() { is_warm_ = true; }
  bool is_warm() const { return is_warm_; }
  KSP get() const { return ksp_; }

 private:
  /// end(), also where a solve throws.
  class Ended {
   public:
    explicit Ended(LinearSolver* solver) : solver_(solver) {}
    ~Ended() {
      if (solver_ != nullptr) solver_->end();
    }
    Ended(const Ended&) = delete;
    Ended& operator=(const Ended&) = delete;

   private:
    LinearSolver* solver_;
  };
  DefaultOptions::Options defaults() const;
  bool choose_factors();
  bool choose_iteration();
  void set_tolerance(double relative);
  void set_limits(double relative);
  LinearIteration largest(LinearIteration iteration) const;
  void run(Vec b, Vec x, bool is_transposed);
  void forget_reuse() const;
  std::string judge(bool is_transposed, Vec b, Vec x, const SystemRows& rows) const;
  std::string prove(bool is_transposed, Vec b, Vec x, const SystemRows& rows);
  void look_at(Vec b, Vec x, bool is_transposed) const;
  bool is_rounding(Vec b, Vec x, bool is_transposed);
  void make_room_to_look();
  std::string worst_of(Vec b, Vec x, const SystemRows& rows) const;
  bool is_symmetric() const;
  void require_transpose();

  const PetscOptions& options_;
  std::string prefix_;
  const GridMatrix& matrix_;
  const JacobianEntries& entries_;
  const Communicator* comm_ = nullptr;
  int dimensions_ = 1;
  KSP ksp_ = nullptr;
  Vec left_ = nullptr;
  Vec sizes_ = nullptr, terms_ = nullptr;  // for is_rounding(), with the signs of the matrix's entries
  CountedVector<std::uint64_t> negative_;
  bool only_largest_ = false;
  bool seems_symmetric_ = false;               // what is solved so, while the largest are chosen
  bool is_new_ = true;                         // nothing was solved since it was chosen
  bool is_chosen_ = false;                     // for all matrices to come
  std::optional<bool> has_symmetric_factors_;  // which they are, where it has any
  std::optional<LinearIteration> iteration_;   // which it is, where it is one
  std::array<bool, 2> is_proved_{};            // the matrix, and its transpose, were seen to be solved
  std::optional<DefaultOptions> defaults_;
  bool has_given_tolerance_ = false;  // by options
  double solved_to_ = 0.0, looser_ = 1.0;
  bool is_broken_ = false, is_warm_ = false;
};

/// @param is_warm whether solvers have worked with their options before. @throws InputError where these may be wrong,
/// else NumericsError; ResourceError where memory lacks.
void require_success(const PetscErrors& errors, PetscErrorCode code, const char* what, const PetscOptions& options,
                     bool is_warm);

}  // namespace hindsight
