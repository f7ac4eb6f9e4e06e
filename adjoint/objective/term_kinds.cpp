#include "adjoint/objective/term_kinds.hpp"

#include "adjoint/objective/integral.hpp"

namespace hindsight {
namespace {

TermKind integral(const std::string& name, TermKind::Reads reads, IntegralSpec::When when) {
  return {name, reads, [when](Expr expression, double weight, const std::string& text) {
            return std::make_shared<IntegralSpec>(expression, when, weight, text);
          }};
}

}  // namespace

Registry<TermKind>& term_kinds() {
  using When = IntegralSpec::When;
  static Registry<TermKind> all("term", {integral("final", TermKind::Reads::states, When::end),
                                         integral("integral", TermKind::Reads::states, When::all_steps),
                                         integral("penalty", TermKind::Reads::parameters, When::of_parameters)});
  return all;
}

}  // namespace hindsight
