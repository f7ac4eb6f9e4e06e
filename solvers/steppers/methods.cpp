#include "solvers/steppers/methods.hpp"

#include <utility>

#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"
#include "solvers/steppers/explicit/methods.hpp"

namespace hindsight {
namespace {

std::vector<Method>& registered() {
  static std::vector<Method> all = [] {
    std::vector<Method> first;
    for (const auto& family : {explicit_methods()}) first.insert(first.end(), family.begin(), family.end());
    return first;
  }();
  return all;
}

}  // namespace

const std::vector<Method>& methods() {
  return registered();
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const Method& method : methods()) names.push_back(method.name);
  return names;
}

const Method& find_method(const std::string& name) {
  for (const Method& method : methods())
    if (method.name == name) return method;
  const std::vector<std::string> names = method_names();
  throw InputError("unknown time method '" + name + "'" + did_you_mean(name, names) + "; known: " + join(names));
}

void register_method(Method method) {
  for (const Method& other : methods())
    if (other.name == method.name) throw Error(ExitCode::bug, "two methods are called '" + method.name + "'");
  registered().push_back(std::move(method));
}

}  // namespace hindsight
