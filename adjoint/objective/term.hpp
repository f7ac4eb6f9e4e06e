// What a term of an objective is to all others.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "adjoint/objective/butterworth.hpp"
#include "solvers/equations/kernel.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/grid/block_archive.hpp"
#include "solvers/steppers/tables.hpp"
#include "solvers/time/time_line.hpp"

namespace hindsight {

/// A value that was measured at a point and a time.
struct PointObservation {
  double time = 0.0;
  std::array<double, 3> at{0, 0, 0};
  double value = 0.0;
  double noise = 0.0;   ///< standard deviation; 0: what is said of all
  double weight = 1.0;  ///< of the square of the difference
};

/// Where terms work. All of it outlives them.
struct TermSetting {
  const Grid& grid;
  const TimeLine& time;
  Tables& tables;
  const std::vector<Series>& series;      ///< parallel to model.series
  const std::vector<double*>& knot_sums;  ///< derivatives with respect to active series: knots x local rows each
};

/// A term: a function of the states that are reached, its value and its derivatives. States are bound in Tables under
/// stage 0 (StageNames), lambda, directions and parameters under their names; Tables::field() is then the first owned
/// cell of such an array. Terms look symbols up when they are made (TermPlace), before there is a grid. All ranks call
/// together what takes a moment or is said to be collective. What has a default is for terms that need nothing of it.
class Term {
 public:
  virtual ~Term() = default;
  /// For messages: "final: u^2".
  virtual const std::string& name() const = 0;
  /// What kind of term it is, in the plural: "integrals".
  virtual const char* kind() const = 0;
  /// Whether it depends on parameters alone, so that it counts once for all experiments that share them.
  virtual bool is_of_parameters() const { return false; }
  /// Sums (Tables) that it takes.
  virtual int sums() const { return 0; }
  /// Ghost layers that its kernels read.
  virtual std::array<int, 3> halo() const { return {0, 0, 0}; }
  /// Compiles and allocates; memory counts (runtime/memory.hpp). Collective.
  virtual void prepare(const TermSetting& setting) = 0;
  /// Takes new values of the knots of a series (index into model.series).
  virtual void set_series(std::size_t /*series*/, const std::vector<double>& /*values*/) {}

  /// Takes differences filtered so, until it is told otherwise; none: as it was made to. Of a term that compares with
  /// observations that may be filtered.
  virtual void set_filter(const std::optional<FilterSpec>& /*filter*/) {}
  /// Filters numbers that are parallel to the observations as the term does. @returns whether it filters.
  virtual bool filter(std::span<double> /*values*/) const { return false; }

  /// Takes other observations, at the same times; of a term that compares with some.
  virtual void set_observations(std::shared_ptr<const std::vector<PointObservation>> /*observations*/) {}

  /// Which states may count.
  enum class Counts { last, landings, all };
  virtual Counts counts() const = 0;
  /// Whether the state of this moment does; the same on all ranks.
  virtual bool counts_at(const Moment& moment) const {
    const Counts which = counts();
    return which == Counts::all || (which == Counts::last ? moment.is_last : moment.landing >= 0);
  }
  /// Whether it reads the level before of states that count; once prepared.
  virtual bool reads_level_before() const { return false; }
  /// Whether derivatives read the level before of states that count (StateBlocks); once prepared.
  virtual bool differentiates_level_before() const { return false; }
  // Of states that count, each of them once, on all ranks together; where a state jumps or rates change at once, the
  // state before, and the one after. An integral over time by the trapezoid rule has the
  // weight (moment.before + moment.after)/2, which is right at both ends and where steps change their length.
  /// Adds to the term.
  virtual void observe(const Moment& moment) = 0;
  /// Adds dJ/du_k to lambda and derivatives to the sums of parameters; after observe() has seen all states.
  virtual void add_adjoint(const Moment& moment) = 0;
  /// Takes in the derivative in the direction that is bound. @returns what of it is known at once, on all ranks.
  virtual double tangent(const Moment& moment) = 0;

  /// The term, weight included. Collective.
  virtual double value() const = 0;
  /// What tangent() has taken in and not returned. Collective.
  virtual double tangent_value() const { return 0.0; }
  /// Adds derivatives that it has summed up itself to those of the active scalars and of series' knots; the same on all
  /// ranks. Collective.
  virtual void add_sums(std::vector<double>& /*scalars*/, std::vector<std::vector<double>>& /*knots*/) const {}

  /// Forgets all that it has seen.
  virtual void reset() = 0;
  /// All that it has seen and differentiated, for a journal.
  virtual void save(BlockWriter& to) const = 0;
  virtual void restore(BlockReader& from) = 0;

  /// How far simulated values lie from observed ones.
  struct Residuals {
    std::string name;             ///< of the comparison, for reports
    std::int64_t count = 0;       ///< of observations whose weight is not 0
    double sum_of_squares = 0.0;  ///< of the differences, filtered, or of logarithms': neither noise nor weight
    double noise = 1.0;
  };
  /// Of terms that compare with observations.
  virtual std::optional<Residuals> residuals() const { return std::nullopt; }
  /// The simulated values, parallel to the observations; once value() was asked for.
  virtual std::span<const double> observed() const { return {}; }
  /// What they are compared with; null: nothing.
  virtual std::shared_ptr<const std::vector<PointObservation>> observations() const { return nullptr; }
  /// What residuals follow from, for a log of evaluations.
  virtual void save_observed(BlockWriter& /*to*/) const {}
  virtual void restore_observed(BlockReader& /*from*/) {}

  /// Memory that it takes for a moment and gives back, at most.
  virtual std::int64_t passing_bytes() const { return 0; }
  /// What save() writes, about.
  virtual std::int64_t kept_bytes() const = 0;
  virtual std::vector<const KernelLibrary*> libraries() const { return {}; }
};

/// What a term is made for. What it looks up in model.graph by name (Graph::field) adds names that are new, so that
/// references into Graph::fields() do not last: copy them. `number` distinguishes kernels of terms, `first_sum` is the
/// first of its sums (Tables).
struct TermPlace {
  const Model& model;
  const Active& active;
  int number = 0, first_sum = 0;
};

/// A term as it is asked for: plain data that makes a term.
class TermSpec {
 public:
  virtual ~TermSpec() = default;
  /// Expressions that it depends on; none when it counts for nothing.
  virtual std::vector<Expr> reads() const = 0;
  /// Times that steps must land on.
  virtual std::vector<double> landings() const { return {}; }
  /// Makes the term, which keeps what it needs of this spec alive.
  virtual std::unique_ptr<Term> make(const TermPlace& place) const = 0;
};

using TermSpecs = std::vector<std::shared_ptr<const TermSpec>>;

}  // namespace hindsight
