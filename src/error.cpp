#include "src/error.hpp"

#include "src/stop_request.hpp"

namespace hindsight {

std::string SourcePlace::prefix() const {
  std::string text = file;
  if (line > 0) text += (text.empty() ? "line " : ":") + std::to_string(line);
  if (line > 0 && column > 0) text += ":" + std::to_string(column);
  return text.empty() ? text : text + ": ";
}

void throw_error(ExitCode code, const std::string& message) {
  switch (code) {
    case ExitCode::bad_input:
      throw InputError(message);
    case ExitCode::numerics:
      throw NumericsError(message);
    case ExitCode::stopped:
      throw_stopped(message);
    case ExitCode::resource:
      throw ResourceError(message);
    default:
      throw Error(code, message);
  }
}

}  // namespace hindsight
