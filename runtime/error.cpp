#include "runtime/error.hpp"

#include "runtime/stop_request.hpp"

namespace hindsight {

std::string SourcePlace::text() const {
  std::string text = file;
  if (line > 0) text += (text.empty() ? "line " : ":") + std::to_string(line);
  if (line > 0 && column > 0) text += ":" + std::to_string(column);
  return text;
}

std::string SourcePlace::prefix() const {
  const std::string place = text();
  return place.empty() ? place : place + ": ";
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
