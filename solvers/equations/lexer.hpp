// Words of an expression.
#pragma once

#include <string>
#include <vector>

#include "runtime/error.hpp"

namespace hindsight {

struct Token {
  enum class Kind { number, name, symbol, end };
  Kind kind = Kind::end;
  std::string text;
  double value = 0.0;
  int column = 0;  ///< from 0, in the expression's text
};

/// @throws InputError for characters and numbers that no expression has.
std::vector<Token> tokenise(const std::string& text, const SourcePlace& place);

/// The place of a column (from 0) of an expression that begins at `start`.
SourcePlace place_in(const std::string& text, const SourcePlace& start, int column);

}  // namespace hindsight
