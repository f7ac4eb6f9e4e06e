// Parameters and initial states: their values, the unknowns among them, and the derivatives by these.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "adjoint/problem/given_values.hpp"
#include "adjoint/problem/unknown_places.hpp"
#include "adjoint/problem/unknown_values.hpp"
#include "solvers/grid/block_archive.hpp"
#include "solvers/grid/halo_exchange.hpp"

namespace hindsight {

class Parameters {
 public:
  /// Derives the kernels of initial states. Comes before the grid. @param problem must outlive it.
  explicit Parameters(Discretisation& problem);
  ~Parameters();
  /// Arrays in the grid's layout that prepare() makes.
  std::int64_t arrays() const;

  /// Allocates, compiles, and gives all parameters the values that the spec says. Collective.
  void prepare();
  /// Takes the unknowns' first values, once steps are prepared. @param state room for an initial state. Collective.
  void begin(StateBlocks state);
  /// Takes other values that are known, and keeps those of unknowns. @param state room to work in. Collective.
  void give(const GivenValues& given, double* state);
  const UnknownValues& values() const { return values_; }
  /// Collective. @throws InputError on all ranks when any has blocks of other sizes than values().
  void set(const UnknownValues& values);
  /// Which of an unknown's values are unknown.
  const MovingCells& moving(std::size_t unknown) const { return places_[unknown]->moving(); }
  /// Bytes of all values, or derivatives.
  std::int64_t bytes() const;

  /// The initial state, ghosts excepted. It is bound as what a step begins with.
  void write_initial(StateBlocks state);
  /// Sets the directions of parameters. @param direction must outlive the tangent sweep. Collective. @throws InputError
  /// as set() does.
  void set_direction(const UnknownValues& direction);
  /// @param state the initial one. @param direction gets its direction.
  void write_initial_direction(StateBlocks state, StateBlocks direction);
  /// Those that terms read at a time.
  void bind_directions_at(double t);

  /// Where derivatives with respect to active series are summed up: knots x local rows each (TermSetting).
  std::vector<double*> knot_sums() const;
  void clear_sums();
  void save_sums(BlockWriter& to) const;
  void restore_sums(BlockReader& from);
  /// Bytes of the sums, and how many fields are summed up in.
  std::int64_t sum_bytes() const;
  std::int64_t summed_fields() const { return std::ssize(memory_.symbols.bars); }
  /// The adjoint of what completes the initial state (Stepper::begin()).
  void complete_initial_adjoint(double* state, double* lambda);
  /// Adds what comes through initial states; then the completed adjoint of that is bound.
  void add_initial_adjoint();
  /// Added up over all ranks. Collective.
  DerivativeSums sums() const;
  /// Of one unknown; the adjoint of the initial state is bound.
  std::vector<double> derivative(std::size_t unknown, const DerivativeSums& sums) const {
    return places_[unknown]->derivative(sums);
  }
  /// Arrays of derivatives by fields; rows of sums.
  std::vector<CellArray> bars() const;
  std::vector<const Memory*> row_sums() const;

  ConstCellArray field(std::size_t i) const { return problem_.tables().cells(memory_.symbols.fields[i]); }
  std::vector<const KernelLibrary*> libraries() const { return {&first_library_, &initial_library_}; }

 private:
  /// Where the host evaluates initial states and parameter fields for a device, whose exp and sin have other bits.
  struct HostSide;
  struct InitialKernels {
    KernelSpec value{"initial", {}, {}}, adjoint{"initial_adjoint", {}, {}}, tangent{"initial_tangent", {}, {}};
    Kernel run_adjoint = {}, run_tangent = {};
  };
  void make_symbols();
  void write_scalars(const std::vector<double>& values);
  void fill_unknown_fields(const GivenValues& given);
  void derive_initial();
  void compile();
  void make_sums();
  void fill(std::size_t field);
  void exchange(int symbol);
  StepTime start() const;
  void require_sizes(const UnknownValues& given, const char* what) const;
  void evaluate_on_host(StateBlocks state);
  bool is_unknown(Unknown::Kind kind, const std::string& field) const;

  Discretisation& problem_;
  ParameterMemory memory_;
  int ones_ = 0;  // symbol of a field of ones, zero beyond walls
  InitialKernels initial_;
  std::vector<KernelSpec> field_kernels_;  // one per parameter field that is an expression
  std::vector<int> field_kernel_;          // parallel to parameter fields: index in the library, or -1
  KernelLibrary first_library_, initial_library_;
  std::unique_ptr<HostSide> host_side_;
  std::unique_ptr<HaloExchange> exchange_;
  std::vector<FieldWalls> mirror_walls_;
  std::vector<Memory> scalar_sums_;                    // rows, per active scalar
  std::vector<Memory> series_sums_;                    // knots x rows, per active series
  std::vector<std::unique_ptr<UnknownPlace>> places_;  // parallel to the unknowns
  std::vector<InitialField*> initial_fields_;          // those of initial states among them
  UnknownValues values_;
};

}  // namespace hindsight
