// Errors and the exit codes they lead to. An error says what, where, and what to do.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace hindsight {

/// What the program returns to the shell.
enum class ExitCode : int {
  done = 0,
  bug = 1,           ///< an internal error: never the user's fault
  bad_input = 2,     ///< bad case file, data or command line
  numerics = 3,      ///< diverged, or a solver gave up
  check_failed = 4,  ///< a gradient check failed
  stopped = 5,       ///< stopped on request, resumable
  resource = 6,      ///< something is missing or full: disk, compiler, device
};

/// Every error that Hindsight throws on purpose; `code` becomes the exit code.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// A place in a text file; line and column count from 1, 0 means unknown.
struct SourcePlace {
  std::string file;
  int line = 0;
  int column = 0;

  /// "file:line:column" with the unknown parts left out.
  std::string text() const;
  /// The same, followed by ": " where anything is known.
  std::string prefix() const;
};

/// Exit code 2, with the place in front of the message.
class InputError : public Error {
 public:
  explicit InputError(const std::string& message) : Error(ExitCode::bad_input, message) {}
  InputError(const SourcePlace& place, const std::string& message)
      : Error(ExitCode::bad_input, place.prefix() + message) {}
};

/// Exit code 3.
class NumericsError : public Error {
 public:
  explicit NumericsError(const std::string& message) : Error(ExitCode::numerics, message) {}
};

/// Exit code 5: not a failure, but the way out.
class Stopped : public Error {
 public:
  explicit Stopped(const std::string& message) : Error(ExitCode::stopped, message) {}
};

/// Exit code 6.
class ResourceError : public Error {
 public:
  explicit ResourceError(const std::string& message) : Error(ExitCode::resource, message) {}
};

/// Throws the class that belongs to the code: what one rank throws can be caught on all of them.
[[noreturn]] void throw_error(ExitCode code, const std::string& message);

}  // namespace hindsight
