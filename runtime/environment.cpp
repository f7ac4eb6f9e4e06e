#include "runtime/environment.hpp"

#include <cstdlib>
#include <regex>

#include "runtime/error.hpp"

namespace hindsight {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string with_variables(const std::string& text) {
  static const std::regex variable(R"(\$(\w+|\{(\w+)\}))");
  std::string result, rest = text;
  for (std::smatch found; std::regex_search(rest, found, variable); rest = found.suffix()) {
    const std::string name = found[2].matched ? found[2] : found[1];
    const std::string value = environment(name.c_str());
    if (value.empty()) throw InputError("'" + text + "': the variable " + name + " is not set here");
    result += found.prefix().str() + value;
  }
  return result + rest;
}

}  // namespace hindsight
