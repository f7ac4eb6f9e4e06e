// A program with a method, a source of steps and a term of its own: all that they need is in this file.
#include <algorithm>
#include <cmath>

#include "adjoint/objective/term_kinds.hpp"
#include "runtime/ordered_sum.hpp"
#include "solvers/steppers/methods.hpp"
#include "solvers/steppers/stage_names.hpp"
#include "solvers/time/step_sources.hpp"
#include "src/program.hpp"

namespace hindsight {
namespace {

/// Calls visit(place in the fields' layout, local row) for every owned cell.
template <class Visit>
void each_cell(const Grid& grid, Visit visit) {
  const Index3 n = grid.cells();
  for (std::int64_t k = 0; k < n[2]; ++k)
    for (std::int64_t j = 0; j < n[1]; ++j)
      for (std::int64_t i = 0; i < n[0]; ++i)
        visit(grid.layout().at(i, j, k), grid.dimensions() <= 1 ? i : j + n[1] * k);
}

/// Stoermer-Verlet (Hairer, Lubich and Wanner, Acta Numerica 2003, eq. 1.5) of oscillators q'' = -k q, one per cell:
/// fields q and p, in this order, and the scalar k. In a corner of the grid there is a push as well, which grows by
/// 1/1024 with every step: the state's third array, in single precision, on these cells alone.
class Verlet final : public Stepper {
 public:
  Verlet(const Model& model, const Active& active)
      : fields_(model.fields.size()),
        k_(model.graph->scalar("k").node().symbol),
        dot_k_(model.graph->scalar(StageNames::dot("k")).node().symbol),
        scalars_(active.scalars) {}

  int sums() const override { return static_cast<int>(scalars_.size()); }

  StateShape state(const Grid& grid) const override {
    StateShape shape = shape_of_fields(grid, fields_);
    const Index3& all = grid.global_cells();
    add_array(shape, Element::float32, {{0, 0, 0}, {(all[0] + 2) / 3, (all[1] + 2) / 3, 1}}, grid);
    return shape;
  }
  void begin(Tables&, StepTime, double* state) override {
    float* const first = singles(state);
    std::fill(first, first + push().count(), 0.0F);
  }

  void prepare(const Grid& grid, Tables&, const std::vector<Series>&) override {
    grid_ = &grid;
    shape_ = state(grid);
    k_bar_ = Memory(grid.local_rows());
  }

  void step(Tables& tables, StepTime time, StateBlocks u, double* next) override {
    const double h = time.h, k = tables.scalar(k_);
    each_cell(*grid_, [&](std::int64_t q, std::int64_t) {
      const Moved moved = move(u, q, h, k);
      next[q] = moved.q;
      next[q + p()] = moved.half - 0.5 * h * k * moved.q;
    });
    for (std::int64_t i = 0; i < push().count(); ++i) singles(next)[i] = singles(u)[i] + 1.0F / 1024;
  }
  void record(Tables& tables, StepTime time, StateBlocks u, double* next, double* const*) override {
    if (next != nullptr) step(tables, time, u, next);
  }
  void reverse(Tables& tables, StepTime time, StateBlocks u, double* const*, StateBlocks lambda,
               StateBlocks before) override {
    const double h = time.h, k = tables.scalar(k_);
    each_cell(*grid_, [&](std::int64_t q, std::int64_t row) {
      const double q_bar = lambda[q] - 0.5 * h * k * lambda[q + p()], half_bar = lambda[q + p()] + h * q_bar;
      before[q] = q_bar - 0.5 * h * k * half_bar;
      before[q + p()] = half_bar;
      k_bar_.data()[row] -= 0.5 * h * (move(u, q, h, k).q * lambda[q + p()] + u[q] * half_bar);
    });
  }
  void tangent(Tables& tables, StepTime time, StateBlocks u, double* const*, StateBlocks du, double* dnext) override {
    const double h = time.h, k = tables.scalar(k_), dk = tables.scalar(dot_k_);
    each_cell(*grid_, [&](std::int64_t q, std::int64_t) {
      const double dhalf = du[q + p()] - 0.5 * h * (dk * u[q] + k * du[q]);
      dnext[q] = du[q] + h * dhalf;
      dnext[q + p()] = dhalf - 0.5 * h * (dk * move(u, q, h, k).q + k * dnext[q]);
    });
  }

  void clear_sums() override { k_bar_.clear(); }
  void save_sums(BlockWriter& to) const override { to.rows(k_bar_.data()); }
  void restore_sums(BlockReader& from) override { from.rows(k_bar_.data()); }
  void add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>&) const override {
    for (std::size_t i = 0; i < scalars_.size(); ++i)
      if (scalars_[i] == "k") scalars[i] += grid_sum(*grid_, k_bar_.data());
  }

  std::string describe_memory() const override { return "a record is the state that a step begins with"; }

 private:
  /// The momentum in the middle of a step and the position at its end, of the cell with its position at u[q].
  struct Moved {
    double half = 0.0, q = 0.0;
  };
  Moved move(const double* u, std::int64_t q, double h, double k) const {
    const double half = u[q + p()] - 0.5 * h * k * u[q] + h * push_at(u, q);
    return {half, u[q] + h * half};
  }
  double push_at(const double* u, std::int64_t q) const {
    const Layout& layout = grid_->layout();
    const std::int64_t j = (q - layout.origin) / layout.stride_y, i = (q - layout.origin) % layout.stride_y;
    const bool is_inside = i < push().cells[0] && j < push().cells[1];
    return is_inside ? static_cast<double>(reinterpret_cast<const float*>(u)[push().origin + i + push().stride_y * j])
                     : 0.0;
  }
  const StateArray& push() const { return shape_.arrays.back(); }
  float* singles(double* state) const { return reinterpret_cast<float*>(state) + push().origin; }
  std::int64_t p() const { return grid_->layout().field_stride; }

  std::size_t fields_;
  int k_, dot_k_;
  std::vector<std::string> scalars_;
  const Grid* grid_ = nullptr;
  StateShape shape_;
  Memory k_bar_;
};

/// Steps that are the shorter the farther the first field is from zero.
class ByDistance final : public StepSource {
 public:
  std::int64_t most_steps(const TimeLine& line) const override {
    return static_cast<std::int64_t>(16 * (line.landings().back() - line.landings().front()) / line.asked_step());
  }
  bool knows_all() const override { return false; }
  void begin(TimeLine&) override {}
  void decide(TimeLine& line, std::int64_t k, const ReachedState& state) override {
    const double now = line.time(k);
    if (now == line.landings().back()) return line.end_at(k);
    double farthest = 0.0;
    each_cell(state.grid,
              [&](std::int64_t q, std::int64_t) { farthest = std::max(farthest, std::fabs(state.state[q])); });
    farthest = state.grid.communicator().max(farthest);
    const double step = line.asked_step() / (1 + std::min(8.0, farthest));
    const double next = *std::upper_bound(line.landings().begin(), line.landings().end(), now);
    line.record(1, now + 1.001 * step < next ? now + step : next);
  }
};

/// sum over cells of q^3 times the cells' volume, at the end; `q` is a field.
class Cube final : public Term {
 public:
  Cube(std::string field, double weight, const std::string& name, const TermPlace& place)
      : weight_(weight),
        name_(name),
        q_(place.model.graph->field(StageNames::stage(field, 0)).node().symbol),
        dot_q_(place.model.graph->field(StageNames::dot(StageNames::stage(field, 0))).node().symbol),
        lambda_(place.model.graph->field(StageNames::lambda(field)).node().symbol) {}

  const std::string& name() const override { return name_; }
  const char* kind() const override { return "cubes"; }
  void prepare(const TermSetting& setting) override {
    grid_ = &setting.grid;
    tables_ = &setting.tables;
    rows_ = Memory(grid_->local_rows());
    dot_rows_ = Memory(grid_->local_rows());
  }
  Counts counts() const override { return Counts::last; }
  void observe(const Moment&) override {
    each([&](std::int64_t at, std::int64_t row) { rows_.data()[row] += factor() * std::pow(q()[at], 3); });
  }
  void add_adjoint(const Moment&) override {
    double* const lambda = tables_->field(lambda_);
    each([&](std::int64_t at, std::int64_t) { lambda[at] += factor() * 3 * q()[at] * q()[at]; });
  }
  double tangent(const Moment&) override {
    const double* const dot = tables_->field(dot_q_);
    each([&](std::int64_t at, std::int64_t row) {
      dot_rows_.data()[row] += factor() * 3 * q()[at] * q()[at] * dot[at];
    });
    return 0.0;
  }
  double value() const override { return grid_sum(*grid_, rows_.data()); }
  double tangent_value() const override { return grid_sum(*grid_, dot_rows_.data()); }
  void reset() override {
    rows_.clear();
    dot_rows_.clear();
  }
  void save(BlockWriter& to) const override {
    to.rows(rows_.data());
    to.rows(dot_rows_.data());
  }
  void restore(BlockReader& from) override {
    from.rows(rows_.data());
    from.rows(dot_rows_.data());
  }
  std::int64_t kept_bytes() const override { return 16 * grid_->local_rows(); }

 private:
  template <class Visit>
  void each(Visit visit) const {
    each_cell(*grid_, [&](std::int64_t at, std::int64_t row) { visit(at - grid_->layout().origin, row); });
  }
  const double* q() const { return tables_->field(q_); }
  double factor() const { return weight_ * grid_->cell_volume(); }

  double weight_;
  std::string name_;
  int q_, dot_q_, lambda_;
  const Grid* grid_ = nullptr;
  Tables* tables_ = nullptr;
  Memory rows_, dot_rows_;
};

class CubeSpec final : public TermSpec {
 public:
  CubeSpec(Expr field, double weight, std::string name) : field_(field), weight_(weight), name_(std::move(name)) {}
  std::vector<Expr> reads() const override { return {field_}; }
  std::unique_ptr<Term> make(const TermPlace& place) const override {
    const std::string& field = place.model.graph->fields()[field_.node().symbol];
    return std::make_unique<Cube>(field, weight_, name_, place);
  }

 private:
  Expr field_;
  double weight_;
  std::string name_;
};

}  // namespace
}  // namespace hindsight

int main(int argc, char** argv) {
  using namespace hindsight;
  methods().add(
      {.name = "verlet",
       .family = "symplectic",
       .order = 2,
       .host_only = true,
       .make = [](const Model& m, const Active& a, Stepper::Wants) { return std::make_unique<Verlet>(m, a); }});
  step_sources().add({.name = "by-distance",
                      .make = [](const StepRules&) { return std::make_unique<ByDistance>(); },
                      .host_only = true});
  term_kinds().add({.name = "cube",
                    .make =
                        [](Expr e, double weight, const std::string& name) {
                          if (e.node().op != Op::field) throw InputError("a cube is of a field");
                          return std::make_shared<CubeSpec>(e, weight, name);
                        },
                    .host_only = true});
  return run_program(argc, argv);
}
