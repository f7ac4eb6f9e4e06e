#include "src/words.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "runtime/error.hpp"
#include "runtime/utf8.hpp"

namespace hindsight {

std::vector<std::string> with_each_setting_named(const std::vector<std::string>& words) {
  std::vector<std::string> named;
  for (auto word = words.begin(); word != words.end(); ++word) {
    named.push_back(*word);
    if (*word != "--set" || word + 1 == words.end()) continue;
    named.push_back(*++word);
    for (; word + 1 != words.end() && !word[1].starts_with('-') && word[1].find('=') != std::string::npos; ++word)
      named.insert(named.end(), {"--set", word[1]});
  }
  return named;
}

void require_utf8(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (first_not_utf8(words[i]) != std::string_view::npos)
      throw InputError(fmt::format("word {} of the command line is not UTF-8", i + 1));
  std::error_code error;
  if (first_not_utf8(std::filesystem::current_path(error).string()) != std::string_view::npos)
    throw InputError("the name of this folder is not UTF-8: go to another one");
}

}  // namespace hindsight
