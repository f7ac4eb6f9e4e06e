#include "solvers/steppers/methods.hpp"

#include "solvers/steppers/explicit/methods.hpp"
#include "solvers/steppers/implicit/methods.hpp"

namespace hindsight {

Registry<Method>& methods() {
  static Registry<Method> all("time method", [] {
    std::vector<Method> first;
    for (const auto& family : {explicit_methods(), implicit_methods()})
      first.insert(first.end(), family.begin(), family.end());
    return first;
  }());
  return all;
}

}  // namespace hindsight
