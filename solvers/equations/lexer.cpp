#include "solvers/equations/lexer.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

#include "runtime/utf8.hpp"

namespace hindsight {
namespace {

bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool continues_name(char c) {
  return starts_name(c) || is_digit(c);
}

std::size_t symbol_length(const std::string& text, std::size_t at) {
  for (const char* two : {"<=", ">=", "==", "!="})
    if (text.compare(at, 2, two) == 0) return 2;
  return std::string("+-*/^(),<>").find(text[at]) == std::string::npos ? 0 : 1;
}

/// What is wrong with the character at `at`, written so that the message stays valid UTF-8.
std::string unexpected(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  std::string hint;
  if (text[at] == '=') hint = ": write == to compare";
  if (text[at] == '&') hint = ": write and";
  if (text[at] == '|') hint = ": write or";
  if (text[at] == '!') hint = ": write not";
  if (byte(at) > 0x20 && byte(at) < 0x7f) return std::string("unexpected character '") + text[at] + "'" + hint;
  return fmt::format("unexpected byte 0x{:02x}: expressions are written in ASCII", byte(at));
}

}  // namespace

SourcePlace place_in(const std::string& text, const SourcePlace& start, int column) {
  SourcePlace place = start;
  for (int i = 0; i < column && i < static_cast<int>(text.size()); ++i) {
    if (text[static_cast<std::size_t>(i)] == '\n') {
      ++place.line;
      place.column = 1;
    } else if (place.column > 0 && !continues_character(text[static_cast<std::size_t>(i)])) {
      ++place.column;
    }
  }
  return place;
}

std::vector<Token> tokenise(const std::string& text, const SourcePlace& place) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      ++at;
      continue;
    }
    Token token;
    token.column = static_cast<int>(at);
    std::size_t end = at;
    if (is_digit(text[at]) || (text[at] == '.' && at + 1 < text.size() && is_digit(text[at + 1]))) {
      token.kind = Token::Kind::number;
      const auto [stop, error] = std::from_chars(text.data() + at, text.data() + text.size(), token.value);
      end = static_cast<std::size_t>(stop - text.data());
      if (error == std::errc::result_out_of_range)
        throw InputError(place_in(text, place, token.column), "the number is too large or too small");
      if (error != std::errc() || (end < text.size() && (continues_name(text[end]) || text[end] == '.')))
        throw InputError(place_in(text, place, token.column),
                         "malformed number (write products with *, exponents as in 1e-3)");
    } else if (starts_name(text[at])) {
      token.kind = Token::Kind::name;
      while (end < text.size() && continues_name(text[end])) ++end;
    } else {
      token.kind = Token::Kind::symbol;
      end += symbol_length(text, at);
      if (end == at) throw InputError(place_in(text, place, token.column), unexpected(text, at));
      if (text.compare(at, 2, "**") == 0)
        throw InputError(place_in(text, place, token.column), "powers are written with ^");
    }
    token.text = text.substr(at, end - at);
    tokens.push_back(token);
    at = end;
  }
  Token last;
  last.column = static_cast<int>(text.size());
  tokens.push_back(last);
  return tokens;
}

}  // namespace hindsight
