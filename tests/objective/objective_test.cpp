// An objective as the sum of terms that it knows nothing of.
#include "adjoint/objective/objective.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/error.hpp"
#include "solvers/time/fixed_steps.hpp"

namespace hindsight {
namespace {

/// Counts the states that it is shown.
class Counter final : public Term {
 public:
  Counter(std::string name, Counts counts, double value) : name_(std::move(name)), counts_(counts), value_(value) {}
  const std::string& name() const override { return name_; }
  const char* kind() const override { return "counters"; }
  int sums() const override { return 3; }
  std::array<int, 3> halo() const override { return {1, 0, 0}; }
  void prepare(const TermSetting&) override {}
  Counts counts() const override { return counts_; }
  void observe(const Moment&) override { ++observed; }
  void add_adjoint(const Moment&) override { ++reversed; }
  double tangent(const Moment& moment) override { return moment.t; }
  double value() const override { return value_ * observed; }
  double tangent_value() const override { return 0.5; }
  void reset() override { observed = reversed = 0; }
  void save(BlockWriter&) const override {}
  void restore(BlockReader&) override {}
  std::int64_t passing_bytes() const override { return counts_ == Counts::all ? 10 : 20; }
  std::int64_t kept_bytes() const override { return 7; }
  int observed = 0, reversed = 0;

 private:
  std::string name_;
  Counts counts_;
  double value_;
};

class CounterSpec final : public TermSpec {
 public:
  CounterSpec(Term::Counts counts, double value) : counts_(counts), value_(value) {}
  std::vector<Expr> reads() const override { return {}; }
  std::unique_ptr<Term> make(const TermPlace& place) const override {
    return std::make_unique<Counter>("counter " + std::to_string(place.first_sum), counts_, value_);
  }

 private:
  Term::Counts counts_;
  double value_;
};

TermSpecs specs(const std::vector<std::pair<Term::Counts, double>>& all) {
  TermSpecs terms;
  for (const auto& [counts, value] : all) terms.push_back(std::make_shared<CounterSpec>(counts, value));
  return terms;
}

class ObjectiveOfTerms : public ::testing::Test {
 protected:
  void walk(Objective& objective) {
    for (std::int64_t k = 0; k <= line.steps(); ++k)
      if (objective.may_count_at(k, line)) objective.observe(line.moment(k), [&] { ++bound; });
  }
  Model model;
  Active active;
  TimeLine line{{0.0, 1.0, 0.1, {0.5}}, fixed_steps()};
  int bound = 0;
};

TEST_F(ObjectiveOfTerms, ShowsEachTermItsStatesAndAddsUp) {
  Objective objective(specs({{Term::Counts::all, 1.0}, {Term::Counts::landings, 100.0}, {Term::Counts::last, 1e4}}),
                      {model, active, 0, 4});
  EXPECT_EQ(objective.sums(), 9);
  EXPECT_EQ(objective.halo(), (std::array<int, 3>{1, 0, 0}));
  EXPECT_EQ(objective.terms()[1]->name(), "counter 7");
  EXPECT_EQ(objective.passing_bytes(), 20);
  EXPECT_EQ(objective.kept_bytes(), 21);
  walk(objective);
  EXPECT_EQ(bound, 11);  // once per state, however many terms look at it
  EXPECT_EQ(objective.value(), 11 + 300 + 1e4);
  objective.tangent(line.moment(5));
  EXPECT_EQ(objective.tangent_value(), 2 * 0.5 + 3 * 0.5);
  objective.reset();
  EXPECT_EQ(objective.value(), 0.0);
  EXPECT_EQ(objective.tangent_value(), 1.5);
}

TEST_F(ObjectiveOfTerms, LooksAtNoStateThatCountsForNobody) {
  Objective few(specs({{Term::Counts::landings, 1.0}}), {model, active, 0, 0});
  walk(few);
  EXPECT_EQ(bound, 3);
  Objective one(specs({{Term::Counts::last, 1.0}}), {model, active, 0, 0});
  walk(one);
  EXPECT_EQ(bound, 4);
}

TEST_F(ObjectiveOfTerms, TellsWhatKindOfTermAddsToTheAdjoint) {
  Objective objective(specs({{Term::Counts::last, 1.0}, {Term::Counts::last, 1.0}}), {model, active, 0, 0});
  std::string kinds;
  objective.add_adjoint(
      line.moment(line.steps()), [&] { ++bound; },
      [&](const char* kind, const auto& work) {
        kinds += kind;
        work();
      });
  EXPECT_EQ(kinds, "counterscounters");
  EXPECT_EQ(bound, 1);
}

TEST_F(ObjectiveOfTerms, NamesTheTermByWhichItIsNotFinite) {
  const double infinite = std::numeric_limits<double>::infinity();
  Objective objective(specs({{Term::Counts::last, 1.0}, {Term::Counts::last, infinite}}), {model, active, 0, 0});
  walk(objective);
  try {
    static_cast<void>(objective.value());
    ADD_FAILURE() << "accepted";
  } catch (const NumericsError& error) {
    EXPECT_NE(std::string(error.what()).find("'counter 3'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hindsight
