#include "src/refused_words.hpp"

#include <algorithm>

#include "runtime/nearest_name.hpp"

namespace hindsight {
namespace {

bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-';
}

/// All long names, with their dashes.
std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string unknown_option(const std::string& word, const CLI::App& app) {
  const std::string name = word.substr(0, word.find('='));
  constexpr std::size_t short_name = 2;  // which is near to every other
  return "unknown option '" + name + "'" + (name.size() > short_name ? did_you_mean(name, options_of(app)) : "");
}

std::string without_verb(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    verbs.push_back(verb->get_name());
  const std::string needed =
      "a verb or a case is needed: hindsight VERB ... or hindsight CASE ... (verbs: " + join(verbs) +
      "; a case's file name has a dot)";
  if (words.empty() || did_you_mean(words[0], options_of(app)).empty()) return needed;
  return unknown_option(words[0], app) + "; " + needed;
}

/// The first word that nothing takes.
std::string superfluous(const CLI::App& verb, const std::vector<std::string>& words) {
  const std::vector<std::string> left = verb.remaining();
  for (const std::string& word : words)
    if (std::find(left.begin(), left.end(), word) != left.end())
      return is_option(word) ? unknown_option(word, verb) : "'" + word + "' is one word too many";
  return join(left, " ") + " is too much";
}

}  // namespace

std::string refusal(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words,
                    const std::string& hidden) {
  const std::vector<const CLI::App*> chosen = app.get_subcommands([](const CLI::App* verb) { return verb->parsed(); });
  if (chosen.empty()) return without_verb(app, words);
  const CLI::App& verb = *chosen.front();
  const bool is_named = verb.get_name() != hidden;
  const bool is_too_much = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  return (is_named ? verb.get_name() + ": " : "") + (is_too_much ? superfluous(verb, words) : error.what()) +
         " (hindsight " + (is_named ? verb.get_name() + " " : "") + "--help tells what there is)";
}

}  // namespace hindsight
