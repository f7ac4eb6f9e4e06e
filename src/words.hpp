// The words of a command line before they are parsed.
#pragma once

#include <string>
#include <vector>

namespace hindsight {

/// `--set a=1 b=2 CASE` becomes `--set a=1 --set b=2 CASE`: what follows --set and holds an equals sign belongs to it.
std::vector<std::string> with_each_setting_named(const std::vector<std::string>& words);

/// @throws InputError for words that are not UTF-8, and where the folder that paths are relative to has no such name:
/// they stand in results, which are JSON.
void require_utf8(const std::vector<std::string>& words);

}  // namespace hindsight
