#include "solvers/equations/lexer.hpp"

#include <cctype>
#include <charconv>
#include <cmath>

namespace hindsight {
namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool continues_name(char c) { return starts_name(c) || is_digit(c); }

std::size_t symbol_length(const std::string& text, std::size_t at) {
  for (const char* two : {"<=", ">=", "==", "!="})
    if (text.compare(at, 2, two) == 0) return 2;
  return std::string("+-*/^(),<>").find(text[at]) == std::string::npos ? 0 : 1;
}

}  // namespace

SourcePlace place_in(const std::string& text, const SourcePlace& start, int column) {
  SourcePlace place = start;
  for (int i = 0; i < column && i < static_cast<int>(text.size()); ++i) {
    if (text[static_cast<std::size_t>(i)] == '\n') {
      ++place.line;
      place.column = 1;
    } else if (place.column > 0) {
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
      if (error != std::errc() || (end < text.size() && (continues_name(text[end]) || text[end] == '.')))
        throw InputError(place_in(text, place, token.column),
                         "malformed number (write products with *, exponents as in 1e-3)");
    } else if (starts_name(text[at])) {
      token.kind = Token::Kind::name;
      while (end < text.size() && continues_name(text[end])) ++end;
    } else {
      token.kind = Token::Kind::symbol;
      end += symbol_length(text, at);
      if (end == at)
        throw InputError(place_in(text, place, token.column),
                         std::string("unexpected character '") + text[at] + "' in an expression");
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
