// What is wrong with a command line that cannot be parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace hindsight {

/// In a sentence, with the verb, the nearest option and where help is.
/// @param app that has thrown the error. @param words of the command line, from left to right. @param hidden the verb
/// that nobody writes.
std::string refusal(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words,
                    const std::string& hidden);

}  // namespace hindsight
