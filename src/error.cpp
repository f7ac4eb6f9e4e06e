#include "src/error.hpp"

namespace hindsight {

std::string SourcePlace::prefix() const {
  std::string text = file;
  if (line > 0) text += (text.empty() ? "line " : ":") + std::to_string(line);
  if (line > 0 && column > 0) text += ":" + std::to_string(column);
  return text.empty() ? text : text + ": ";
}

}  // namespace hindsight
