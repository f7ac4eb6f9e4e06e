// The program with three parts of one's own: a method by its tableau, a term of objectives, a checkpoint schedule.
// Cases name them like any other:
//   time: {method: ralston3, ...}
//   objective: [{cubed mean: u}]
//   checkpoints: {schedule: powers, host: 20 slots}
#include <bit>
#include <cmath>

#include "adjoint/objective/term_kinds.hpp"
#include "adjoint/schedule/schedule.hpp"
#include "runtime/ordered_sum.hpp"
#include "solvers/steppers/explicit/runge_kutta.hpp"
#include "solvers/steppers/methods.hpp"
#include "solvers/steppers/stage_names.hpp"
#include "src/program.hpp"

using namespace hindsight;

// Ralston's method of third order (Ralston 1962).
static std::unique_ptr<Stepper> ralston3(const Model& model, const Active& active, Stepper::Wants wants) {
  const Tableau tableau{"ralston3", 3, {{}, {0.5}, {0.0, 0.75}}, {2.0 / 9, 1.0 / 3, 4.0 / 9}, {0.0, 0.5, 0.75}};
  return std::make_unique<RungeKutta>(model, tableau, active, wants);
}

/// weight * (mean over the cells of a field, at the end)^3.
class CubedMean final : public Term {
 public:
  CubedMean(const std::string& field, double weight, std::string name, Graph& graph)
      : weight_(weight),
        name_(std::move(name)),
        u_(graph.field(StageNames::stage(field, 0)).node().symbol),
        du_(graph.field(StageNames::dot(StageNames::stage(field, 0))).node().symbol),
        lambda_(graph.field(StageNames::lambda(field)).node().symbol) {}

  const std::string& name() const override { return name_; }
  const char* kind() const override { return "cubed means"; }
  void prepare(const TermSetting& setting) override {
    grid_ = &setting.grid;
    tables_ = &setting.tables;
    rows_ = Memory(grid_->local_rows());
  }
  Counts counts() const override { return Counts::last; }
  void observe(const Moment&) override { mean_ = mean_of(u_); }
  void add_adjoint(const Moment&) override {
    const double share = slope() / static_cast<double>(grid_->total_cells());
    each_cell([&](std::int64_t cell, std::int64_t) { tables_->field(lambda_)[cell] += share; });
  }
  double tangent(const Moment&) override { return slope() * mean_of(du_); }
  double value() const override { return weight_ * std::pow(mean_, 3); }
  void reset() override { mean_ = 0.0; }
  void save(BlockWriter& to) const override { to.archive().write(mean_); }
  void restore(BlockReader& from) override { from.read(mean_); }
  std::int64_t kept_bytes() const override { return sizeof mean_; }
  std::int64_t passing_bytes() const override { return grid_sum_bytes(*grid_); }

 private:
  double slope() const { return weight_ * 3 * mean_ * mean_; }
  /// Calls visit(place of the cell after the first owned one, its row).
  template <class Visit>
  void each_cell(Visit visit) const {
    const Layout& layout = grid_->layout();
    const Index3 n = grid_->cells();
    for (std::int64_t k = 0; k < n[2]; ++k)
      for (std::int64_t j = 0; j < n[1]; ++j)
        for (std::int64_t i = 0; i < n[0]; ++i)
          visit(layout.at(i, j, k) - layout.origin, grid_->dimensions() <= 1 ? i : j + n[1] * k);
  }
  /// The same on any number of ranks.
  double mean_of(int symbol) {
    rows_.clear();
    each_cell([&](std::int64_t cell, std::int64_t row) { rows_.data()[row] += tables_->field(symbol)[cell]; });
    return grid_sum(*grid_, rows_.data()) / static_cast<double>(grid_->total_cells());
  }

  double weight_, mean_ = 0.0;
  std::string name_;
  int u_, du_, lambda_;
  const Grid* grid_ = nullptr;
  Tables* tables_ = nullptr;
  Memory rows_;
};

struct CubedMeanSpec final : TermSpec {
  CubedMeanSpec(Expr expression, double w, std::string text) : field(expression), weight(w), name(std::move(text)) {
    if (field.node().op != Op::field) throw InputError("a cubed mean is of a field");
  }
  std::vector<Expr> reads() const override { return {field}; }
  std::unique_ptr<Term> make(const TermPlace& place) const override {
    const std::string of = place.model.graph->fields()[field.node().symbol];
    return std::make_unique<CubedMean>(of, weight, name, *place.model.graph);
  }
  Expr field;
  double weight;
  std::string name;
};

// States 0, 1, 2, 4, 8, ... are kept; every other one is computed again from the one before it that is.
static std::int64_t kept_before(std::int64_t step) {
  return step == 0 ? 0 : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(step)));
}
static Slot slot_of(std::int64_t kept) {
  return {Tier::host, std::bit_width(static_cast<std::uint64_t>(kept))};
}

static ActionStream powers(std::int64_t n) {
  std::int64_t live = 0;
  for (std::int64_t at = 0; at < n; at = at == 0 ? 1 : 2 * at) {
    if (live < at) co_yield Advance{live, at};
    live = at;
    co_yield Save{slot_of(at), at, Content::state};
  }
  for (std::int64_t step = n - 1; step >= 0; --step) {
    const std::int64_t from = step == n - 1 ? live : kept_before(step);
    if (step < n - 1) co_yield Load{slot_of(from), from, Content::state};
    if (from < step) co_yield Advance{from, step};
    co_yield Record{step};
    if (step == n - 1) co_yield Turn{n};
    co_yield Reverse{step};
    if (from == step) co_yield Release{slot_of(step)};
  }
  co_yield Done{};
}

static Schedule make_powers(const ScheduleRequest& request) {
  const std::int64_t n = request.steps, given = request.capacities[Tier::host];
  if (n < 1) throw InputError("schedule powers: the number of steps must be known");
  const std::int64_t slots = slot_of(kept_before(n - 1)).index + 1;
  if (given >= 0 && given < slots)
    throw InputError("schedule powers: needs " + std::to_string(slots) + " slots in host memory");
  Schedule schedule;
  schedule.predicted.recorded = schedule.predicted.reversed = n;
  schedule.predicted.plain = n - 1;
  for (std::int64_t step = 0; step < n - 1; ++step) schedule.predicted.plain += step - kept_before(step);
  schedule.predicted.peak = schedule.predicted.writes = {0, slots, 0};
  schedule.predicted.reads = {0, n - 1, 0};
  schedule.actions = [n] { return powers(n); };
  return schedule;
}

int main(int argc, char** argv) {
  methods().add({.name = "ralston3", .family = "explicit Runge-Kutta", .order = 3, .make = ralston3});
  term_kinds().add({.name = "cubed mean",
                    .make = [](Expr e, double weight,
                               const std::string& text) { return std::make_shared<CubedMeanSpec>(e, weight, text); },
                    .host_only = true});
  schedules().add({.name = "powers", .summary = "keeps states 0, 1, 2, 4, 8, ...", .make = make_powers});
  return run_program(argc, argv);
}
