// The misfit between a simulation and observations at points and times.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "adjoint/objective/term.hpp"
#include "adjoint/objective/trace_filter.hpp"
#include "runtime/memory.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/grid/block_archive.hpp"
#include "solvers/grid/point_stencils.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

/// One misfit term: 1/2 sum w ((simulated - observed)/noise)^2, of logarithms if `logarithmic`; or, where there is a
/// filter F, 1/2 sum w (F(simulated - observed)/noise)^2, with F along the time of each trace.
class MisfitSpec final : public TermSpec {
 public:
  std::vector<Expr> reads() const override { return weight != 0 ? std::vector<Expr>{of} : std::vector<Expr>(); }
  std::vector<double> landings() const override;
  std::unique_ptr<Term> make(const TermPlace& place) const override;

  Expr of;  ///< an expression of states, parameters and coordinates at the point (no neighbours)
  std::shared_ptr<const std::vector<PointObservation>> observations;  ///< sorted by time; shared with its term
  double noise = 1.0;                                                 ///< of those that have none of their own
  PointWeights weights = PointWeights::linear;
  bool logarithmic = false;
  double weight = 1.0;
  std::optional<FilterSpec> filter = {};  ///< of traces at regular times (traces_in())
  bool may_be_filtered = false;           ///< whether set_filter() will be called: memory is kept for it
  std::string name = {};                  ///< for messages: "misfit of u"
};

/// Values between cell centres are interpolated (PointStencils), and so are the states in time between those on which
/// no steps land (TimeLine::share_at). What ranks see of values is added up once, when all states were seen: no
/// messages while stepping. Memory made by the constructor and prepare() counts (runtime/memory.hpp), so both are
/// called with the same account.
class Misfit final : public Term {
 public:
  Misfit(const MisfitSpec& spec, const TermPlace& place);

  const std::string& name() const override { return spec_.name; }
  const char* kind() const override { return "misfits"; }
  void prepare(const TermSetting& setting) override;
  void set_observations(std::shared_ptr<const std::vector<PointObservation>> observations) override;
  void set_filter(const std::optional<FilterSpec>& filter) override;
  bool filter(std::span<double> values) const override;

  Counts counts() const override { return Counts::landings; }
  bool counts_at(const Moment& moment) const override;
  bool reads_level_before() const override;
  bool differentiates_level_before() const override;
  /// Evaluates what is observed then.
  void observe(const Moment& moment) override;
  void add_adjoint(const Moment& moment) override;
  double tangent(const Moment& moment) override;

  double value() const override;
  double tangent_value() const override;
  /// Derivatives with respect to active scalars that the expression uses itself.
  void add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const override;
  void reset() override;
  void save(BlockWriter& to) const override;
  void restore(BlockReader& from) override;
  /// Once value() was asked for.
  std::optional<Residuals> residuals() const override;
  std::span<const double> observed() const override { return {simulated_.values.data(), simulated_.values.size()}; }
  std::shared_ptr<const std::vector<PointObservation>> observations() const override { return spec_.observations; }
  void save_observed(BlockWriter& to) const override;
  void restore_observed(BlockReader& from) override;
  std::int64_t kept_bytes() const override;

 private:
  /// One number per observation, added up over the cells of this rank, and for points that lie on several ranks one per
  /// row of theirs; once complete, the whole, the same on every rank.
  struct Seen {
    CountedVector<double> values, rows;
    bool is_complete = false;
  };
  struct Range {
    std::size_t first = 0, last = 0;
  };
  class Samples;
  Range range(const Moment& moment) const;
  const std::vector<PointObservation>& all() const { return *spec_.observations; }
  void locate_all();
  void see(Seen& seen, const Moment& moment, Expr what);
  /// Collective.
  void complete(Seen& seen) const;
  void add_up(std::span<double> values, std::span<double> rows) const;
  void require_positive() const;
  void make_filter();
  void compare() const;
  void save(BlockWriter& to, const Seen& seen) const;
  void restore(BlockReader& from, Seen& seen) const;
  double noise(std::size_t i) const {
    const double own = all()[i].noise;
    return own > 0.0 ? own : spec_.noise;
  }
  MirrorSigns mirrors() const;
  double residual(std::size_t i) const;
  double weighted(std::size_t i, double residual) const;
  double slope(std::size_t i) const;
  double sum_of_squares() const;

  const Model& model_;
  Active active_;
  MisfitSpec spec_;
  const Grid* grid_ = nullptr;
  const TimeLine* time_ = nullptr;
  Tables* tables_ = nullptr;
  Expr value_, dot_;
  std::vector<Expr> partials_;               // with respect to fields, active parameter fields, active scalars
  std::vector<double> constant_partials_;    // their values, where all are constant; else none
  std::vector<int> lambda_, lambda_before_;  // symbols; the latter where states have two levels
  std::vector<int> bars_;                    // the same, of derivatives by active parameter fields
  std::map<int, int> before_;                // of the arrays of a state and of directions: those of the level before
  std::optional<CountedBytes> counted_;      // of the observations
  PointStencils stencils_;
  CountedVector<std::uint32_t> point_;   // of each observation
  CountedVector<std::int64_t> landing_;  // of each observation
  CountedVector<double> share_;          // of the state there in it (TimeLine::share_at)
  bool is_between_ = false;              // whether one lies between steps
  CountedVector<std::int32_t> split_;    // number among those on several ranks; -1: on one
  mutable Seen simulated_, changed_;     // the observed expression; its tangent
  std::optional<FilterSpec> other_;      // set_filter()
  std::optional<TraceFilter> filter_;
  mutable CountedVector<double> residuals_, slopes_;  // where a filter is, or may be; of all observations
  mutable bool is_compared_ = false;                  // whether they are those of the simulated values
  std::vector<Memory> scalar_rows_;   // of derivatives, per active scalar that the expression uses, on the host
  std::vector<std::int64_t> places_;  // at work: cells and amounts of one moment
  std::vector<std::vector<double>> amounts_, amounts_before_, amounts_of_bars_;
  std::size_t first_scalar() const { return lambda_.size() + bars_.size(); }  // of the partials
};

}  // namespace hindsight
