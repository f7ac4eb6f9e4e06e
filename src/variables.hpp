// Between the unknowns of a case and the variables of an optimiser.
#pragma once

#include <cstddef>
#include <vector>

#include "src/session.hpp"

namespace hindsight {

/// Unknowns are replicated scalars and fields by owner; each variable is on one rank, and a logarithm where the case
/// says so, times a factor. Unknowns that rest, and what rests of the others, are no variables.
class Variables {
 public:
  /// @param session must outlive this. @param unknowns that move, by their places in the case. @param scales factors of
  /// the variables, in the shape of the unknowns; none: 1.
  Variables(Session& session, const std::vector<std::size_t>& unknowns, UnknownValues scales = {});

  /// Collective. @throws InputError on all ranks where a logarithm has none.
  std::vector<double> to_variables(const UnknownValues& values) const;
  /// What is no variable has the session's value. Collective.
  UnknownValues to_unknowns(const std::vector<double>& variables) const;
  /// Derivatives with respect to the variables: of logarithms p dJ/dp.
  std::vector<double> gradient(const UnknownValues& values, const UnknownValues& gradient) const;
  /// Infinite where there are none.
  std::vector<double> bounds(bool upper) const;

 private:
  double scale(std::size_t i, std::size_t k) const { return scales_.empty() ? 1.0 : scales_[i][k]; }
  bool log(std::size_t i) const { return session_.source().assumptions[i].log_scale; }
  template <class Visit>
  void for_each(Visit visit) const;

  Session& session_;
  UnknownValues scales_;
  std::vector<bool> here_, replicated_;
};

}  // namespace hindsight
