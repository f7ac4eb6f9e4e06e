// Gradients from text within budgets, without a case file: against formulas, with equal bits on every budget.
// ranks: 1 2
#include "adjoint/gradients/gradients.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "adjoint/inversion/inversion.hpp"
#include "adjoint/problem/problem_text.hpp"
#include "runtime/error.hpp"
#include "runtime/petsc.hpp"

namespace hindsight {
namespace {

constexpr double rate = 0.7, begin = 1.5, step = 0.05;
constexpr int steps = 200;

/// dt(u) = -k u by RK4, J = u^2 at the end.
ProblemText decay() {
  ProblemText problem;
  problem.parameters = {{.name = "k", .kind = ParameterText::Kind::scalar, .value = rate}};
  problem.state = {{"u", {"1.5"}}};
  problem.equations = {{"u", {"-k*u"}}};
  problem.time = {.method = "rk4", .step = step, .to = step * steps};
  problem.objective = {{"final", {"u^2"}}};
  problem.unknowns = {{"k"}, {.name = "u", .initial = true}};
  return problem;
}

/// The same on a line of cells that do not know each other; J is the integral of u^2 over a length of 1.
ProblemText decay_of_cells() {
  ProblemText problem = decay();
  problem.grid = GridText{.axes = {{.name = "x", .cells = 512}}};
  return problem;
}

struct Expected {
  double objective, by_rate, by_begin;
};

/// With u_n = R(-k h)^n u_0, where R is the polynomial of RK4.
Expected expected(double k) {
  const double z = -k * step;
  const double factor = 1 + z + z * z / 2 + z * z * z / 6 + z * z * z * z / 24;
  const double slope = 1 + z + z * z / 2 + z * z * z / 6;
  const double end = begin * std::pow(factor, steps);
  return {end * end, 2 * end * begin * steps * std::pow(factor, steps - 1) * slope * -step,
          2 * end * std::pow(factor, steps)};
}

Communicator self() {
  return Communicator(MPI_COMM_SELF);
}
Communicator world() {
  return Communicator(MPI_COMM_WORLD);
}

GradientOptions with_slots(std::int64_t slots) {
  GradientOptions options;
  options.checkpoints.host = TierBudget{TierBudget::Unit::slots, slots};
  return options;
}

/// Memory in place of a disk.
class MemoryDisk final : public DiskSpace {
 public:
  void prepare() override { ++prepared; }
  std::unique_ptr<Medium> make(const DiskRequest& request) override {
    return std::make_unique<MemoryMedium>(request.pages, request.page_bytes);
  }
  void remove() override { ++removed; }
  int prepared = 0, removed = 0;
};

TEST(Gradients, AreThoseOfTheFormula) {
  Gradients gradients(read_problem(decay()), self());
  const Evaluation now = gradients.evaluate();
  const Expected formula = expected(rate);
  EXPECT_NEAR(now.objective, formula.objective, 1e-12 * formula.objective);
  EXPECT_NEAR(now.gradient[0][0], formula.by_rate, 1e-12 * std::fabs(formula.by_rate));
  EXPECT_NEAR(now.gradient[1][0], formula.by_begin, 1e-12 * formula.by_begin);
}

TEST(Gradients, AreTakenAtTheValuesThatAreSet) {
  Gradients gradients(read_problem(decay()), self());
  gradients.set_values({{0.3}, {begin}});
  const Expected formula = expected(0.3);
  EXPECT_NEAR(gradients.evaluate().gradient[0][0], formula.by_rate, 1e-12 * std::fabs(formula.by_rate));
  EXPECT_EQ(gradients.values()[0][0], 0.3);
}

/// @returns what all ranks are told; values that fit only some of them are refused on all.
std::string refusal_of(Gradients& gradients, const UnknownValues& values) {
  try {
    gradients.set_values(values);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Gradients, ValuesOfOtherSizesAreRefused) {
  Gradients gradients(read_problem(decay_of_cells()), world());
  const UnknownValues good = gradients.values();
  EXPECT_EQ(refusal_of(gradients, {{0.3}}), "values of 1 unknowns are given, there are 2");
  EXPECT_EQ(refusal_of(gradients, {{}, good[1]}), "0 values of 'k' are given, there are 1");
  UnknownValues wrong = good;
  if (world().rank() + 1 == world().size()) wrong[1].resize(512 / world().size() + 1);
  EXPECT_NE(refusal_of(gradients, wrong).find("values of 'initial(u)' are given, there are "), std::string::npos);
  EXPECT_EQ(gradients.values(), good);
  EXPECT_EQ(refusal_of(gradients, good), "");
}

/// PETSc is started by the ranks that invert, and by nobody else.
TEST(Inversion, TakesSomeRanksAlone) {
  if (world().rank() == 0) {
    InversionProblem problem{{3.0}, {-1e30}, {1e30}, [](const std::vector<double>& x, std::vector<double>& g) {
                               g = {2 * (x[0] - 1)};
                               return (x[0] - 1) * (x[0] - 1);
                             }};
    EXPECT_NEAR(invert(problem, {}, self(), {}).variables[0], 1.0, 1e-6);
    finish_petsc();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Keeps nothing but what is attached.
class Keeper final : public GradientKeeper {
 public:
  std::map<std::string, std::function<void(ArchiveWriter&)>> attached;
  bool is_resumed() const override { return false; }
  bool moves() const override { return false; }
  void attach(const std::string& name, std::function<void(ArchiveWriter&)> write) override { attached[name] = write; }
  void detach(const std::string& name) override { attached.erase(name); }
  bool read_attached(const std::string&, const std::function<void(ArchiveReader&)>&) const override { return false; }
  void pause() override {}
  void pause_now() override {}
  BlockReader* kept_sweep() override { return nullptr; }
  bool has_sweep() const override { return false; }
  void drop_sweep() override {}
  void keep_sweeps(bool) override {}
  void expect_parts(std::int64_t) override {}
  double seconds_before() const override { return 0.0; }
  void keep(const std::function<void(BlockWriter&)>&) override {}
  void resumed() override {}
  std::int64_t units_kept_at_once() const override { return 0; }
  std::int64_t keep_part(const std::function<void(BlockWriter&)>&) override { return 0; }
  void read_part(std::int64_t&, const std::function<void(BlockReader&)>&) override {}
  std::int64_t log_piece(bool, const std::function<void(BlockWriter&)>&) override { return 0; }
  int log_file() const override { return 0; }
  void read_logged(int, const std::vector<std::int64_t>&, const std::function<void(BlockReader&)>&) override {}

 private:
  bool look() override {
    look_at_ = asked_ + 1000;
    return false;
  }
};

TEST(Gradients, AreKeptAsLongAsTheyLive) {
  Keeper keeper;
  GradientOptions options;
  options.keeper = &keeper;
  {
    Gradients gradients(read_problem(decay()), self(), options);
    gradients.evaluate();
    EXPECT_EQ(keeper.attached.count("plan"), 1u);
  }
  EXPECT_TRUE(keeper.attached.empty());
}

TEST(Gradients, WithABudgetOfADeviceThatIsNotThereAreRefused) {
  GradientOptions options;
  options.checkpoints.device = TierBudget{TierBudget::Unit::slots, 4};
  try {
    Gradients(read_problem(decay()), self(), options);
    ADD_FAILURE() << "nothing is refused";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("has no device memory"), std::string::npos) << error.what();
  }
}

TEST(Gradients, HaveEqualBitsOnEveryBudget) {
  Gradients roomy(read_problem(decay()), self());
  const Evaluation all = roomy.evaluate();
  for (const std::int64_t slots : {1, 2, 7, 50}) {
    Gradients gradients(read_problem(decay()), self(), with_slots(slots));
    const Evaluation now = gradients.evaluate();
    EXPECT_LE(now.counts.peak[index_of(Tier::host)], slots);
    EXPECT_GT(now.counts.plain, 0) << "steps are repeated";
    EXPECT_EQ(now.objective, all.objective);
    EXPECT_EQ(now.gradient, all.gradient);
  }
}

TEST(Gradients, OfFieldsGoThroughADiskOfTheCallers) {
  const Expected formula = expected(rate);
  const auto disk = std::make_shared<MemoryDisk>();
  {
    GradientOptions options = with_slots(1);
    options.checkpoints.disk = TierBudget{TierBudget::Unit::slots, 20};
    options.costs = "forward=1,reverse=3,disk.write=0.1,disk.read=0.1";
    options.disk = disk;
    Gradients gradients(read_problem(decay_of_cells()), world(), options);
    const Evaluation now = gradients.evaluate();
    EXPECT_GT(now.counts.writes[index_of(Tier::disk)], 0);
    EXPECT_NEAR(now.gradient[0][0], formula.by_rate, 1e-11 * std::fabs(formula.by_rate));
    for (const double by_cell : now.gradient[1]) EXPECT_NEAR(by_cell, formula.by_begin / 512, 1e-14);
    gradients.discard();
    EXPECT_GT(disk->removed, 0);
  }
  EXPECT_GT(disk->prepared, 0);
}

TEST(Gradients, HaveAPenaltyOfTheUnknowns) {
  GradientOptions options;
  options.penalty = [](UnknownValues& gradient) {
    gradient[0][0] += 2.0;
    return 10.0;
  };
  Gradients plain(read_problem(decay()), self()), more(read_problem(decay()), self(), options);
  const Evaluation without = plain.evaluate(), with = more.evaluate();
  EXPECT_EQ(with.objective, without.objective + 10.0);
  EXPECT_EQ(with.gradient[0][0], without.gradient[0][0] + 2.0);
  EXPECT_EQ(with.gradient[1], without.gradient[1]);
}

TEST(Gradients, TellHowFarTheyAre) {
  std::int64_t announced = 0, forward = 0, reversed = 0;
  bool has_ended = false;
  GradientOptions options = with_slots(3);
  options.watch.begins = [&](std::int64_t all) { announced = all; };
  options.watch.progress = [&](std::int64_t f, std::int64_t r) { forward = f, reversed = r; };
  options.watch.ends = [&] { has_ended = true; };
  Gradients gradients(read_problem(decay()), self(), options);
  EXPECT_EQ(announced, 0) << "planning is no evaluation";
  const Evaluation now = gradients.evaluate();
  EXPECT_EQ(announced, now.counts.plain + 2 * steps);
  EXPECT_GT(forward, 0);
  EXPECT_LE(reversed, steps);
  EXPECT_TRUE(has_ended);
}

std::string refusal(const GradientOptions& options) {
  try {
    Gradients(read_problem(decay()), self(), options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Gradients, WithinBudgetsThatAreTooSmallAreRefused) {
  GradientOptions little;
  little.checkpoints.host = TierBudget{TierBudget::Unit::bytes, 1000};
  EXPECT_NE(refusal(little).find("checkpoints.host: 1000 B is too little"), std::string::npos) << refusal(little);
  GradientOptions nowhere;
  nowhere.checkpoints.disk = TierBudget{TierBudget::Unit::slots, 20};
  EXPECT_NE(refusal(nowhere).find("nobody says where files go"), std::string::npos) << refusal(nowhere);
}

TEST(ProblemText, NamesThatStandForNothingAreRefused) {
  ProblemText no_equation = decay();
  no_equation.equations.clear();
  EXPECT_THROW(read_problem(no_equation), InputError);
  for (const UnknownText& unknown : {UnknownText{"q"}, UnknownText{.name = "k", .initial = true}}) {
    ProblemText no_unknown = decay();
    no_unknown.unknowns = {unknown};
    EXPECT_THROW(read_problem(no_unknown), InputError) << unknown.label();
  }
}

TEST(ProblemText, SeriesHaveAValueAtEveryTime) {
  for (const auto& [times, values] : {std::pair<std::vector<double>, std::vector<double>>{{0, 1}, {1}},
                                      {{}, {}},
                                      {{1, 0}, {1, 2}},
                                      {{0, 0}, {1, 2}}}) {
    ProblemText problem = decay();
    problem.parameters.push_back({.name = "q", .kind = ParameterText::Kind::series, .times = times, .values = values});
    EXPECT_THROW(read_problem(problem), InputError) << times.size();
  }
}

TEST(ProblemText, OutputsAreLandedOnBetweenBeginAndEnd) {
  ProblemText problem = decay();
  problem.time.land_every = 2.5;
  EXPECT_EQ(read_problem(problem).outputs, (std::vector<double>{2.5, 5.0, 7.5}));
}

}  // namespace
}  // namespace hindsight
