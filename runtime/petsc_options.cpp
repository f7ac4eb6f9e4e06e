#include "runtime/petsc_options.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace hindsight {

std::vector<std::string> option_names(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word.starts_with("--")) word.erase(0, 1);  // the same to PETSc
    if (word.size() > 1 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) != 0)
      names.push_back(word);
  }
  return names;
}

std::string PetscOptions::text() const {
  std::string all;
  std::istringstream words(in_case + " " + added);
  for (std::string word; words >> word;) all += (all.empty() ? "" : " ") + word;
  return all;
}

std::string PetscOptions::first_with(const std::string& prefix) const {
  for (const std::string& name : option_names(text()))
    if (name.starts_with(prefix)) return name;
  return "";
}

std::string PetscOptions::origin(const std::string& option) const {
  const auto has = [&](const std::string& options) {
    return option.empty() ? !options.empty() : std::ranges::count(option_names(options), option) > 0;
  };
  const bool is_in_case = has(in_case), is_added = has(added);
  if (is_in_case && is_added && option.empty()) return place.prefix() + "petsc:, --petsc:";
  if (is_added) return "--petsc:";
  return is_in_case || option.empty() ? place.prefix() + "petsc:" : "PETSC_OPTIONS:";
}

}  // namespace hindsight
