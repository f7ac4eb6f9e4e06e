// The misfit between a simulation and observations at points and times.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "adjoint/objective/term.hpp"
#include "runtime/memory.hpp"
#include "solvers/equations/model.hpp"
#include "solvers/grid/block_archive.hpp"
#include "solvers/steppers/tables.hpp"

namespace hindsight {

/// One misfit term: 1/2 sum ((simulated - observed)/noise)^2, of logarithms if `logarithmic`.
class MisfitSpec final : public TermSpec {
 public:
  std::vector<Expr> reads() const override { return weight != 0 ? std::vector<Expr>{of} : std::vector<Expr>(); }
  std::vector<double> landings() const override;
  std::unique_ptr<Term> make(const TermPlace& place) const override;

  Expr of;  ///< an expression of fields at the point (no neighbours)
  std::shared_ptr<const std::vector<PointObservation>> observations;  ///< sorted by time; shared with its term
  double noise = 1.0;
  bool logarithmic = false;
  double weight = 1.0;
  std::string name = {};  ///< for messages: "misfit of u"
};

/// Values between cell centres are interpolated linearly per axis (beyond the outermost centres: extrapolated), and so
/// are the fields in time between states on which no steps land (TimeLine::share_at). One
/// message per observation time in the forward sweep, none backward. Memory made by the constructor and prepare()
/// counts (runtime/memory.hpp), so both are called with the same account.
class Misfit final : public Term {
 public:
  Misfit(const MisfitSpec& spec, const TermPlace& place);

  const std::string& name() const override { return spec_.name; }
  const char* kind() const override { return "misfits"; }
  void prepare(const TermSetting& setting) override;
  void set_observations(std::shared_ptr<const std::vector<PointObservation>> observations) override;

  Counts counts() const override { return Counts::landings; }
  bool counts_at(const Moment& moment) const override;
  /// Evaluates what is observed then.
  void observe(const Moment& moment) override;
  void add_adjoint(const Moment& moment) override;
  double tangent(const Moment& moment) override;

  double value() const override;
  /// Derivatives with respect to active scalars that the expression uses itself.
  void add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const override;
  void reset() override;
  void save(BlockWriter& to) const override;
  void restore(BlockReader& from) override;
  std::optional<Residuals> residuals() const override;
  void save_observed(BlockWriter& to) const override;
  void restore_observed(BlockReader& from) override;
  std::int64_t passing_bytes() const override;
  std::int64_t kept_bytes() const override;

 private:
  struct Corner {
    bool here = false;  ///< this rank owns the cell
    std::int64_t cell = 0;
    double weight = 0.0;
  };
  std::pair<std::size_t, std::size_t> range(std::int64_t landing) const;
  /// Values of fields at corners: what expressions of them are evaluated with.
  class Samples;
  std::vector<double> evaluate(const Samples& samples, const std::vector<Expr>& roots, std::size_t corner) const;
  bool is_needed(const Corner& corner) const;
  double share_at_corner(std::size_t corner) const { return share_[corner / corners_each_]; }
  std::int64_t most_at_once() const;
  const std::vector<PointObservation>& observations() const { return *spec_.observations; }
  void locate_all();
  void locate(const PointObservation& observation);
  double residual(std::size_t i) const;
  double slope(std::size_t i) const;
  double sum_of_squares() const;

  const Model& model_;
  Active active_;
  MisfitSpec spec_;
  const Grid* grid_ = nullptr;
  const TimeLine* time_ = nullptr;
  Tables* tables_ = nullptr;
  Expr value_, dot_;
  std::vector<Expr> partials_;               // with respect to fields, then active scalars
  std::vector<int> lambda_, lambda_before_;  // symbols; the latter where states have two levels
  std::map<int, int> before_;                // of the arrays of a state and of directions: those of the level before
  std::optional<CountedBytes> counted_;      // of the observations
  CountedVector<std::int64_t> landing_;      // of each observation
  CountedVector<double> share_;              // of the state there in it (TimeLine::share_at)
  std::size_t corners_each_ = 1;
  CountedVector<Corner> corners_;  // corners_each_ per observation
  CountedVector<double> simulated_;
  std::vector<CountedVector<double>> scalar_parts_;  // [active scalar][corner]
};

}  // namespace hindsight
