#include "src/backend/host/compiler.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "src/backend/kernel_cache.hpp"
#include "src/error.hpp"

namespace hindsight::host {
namespace {

namespace fs = std::filesystem;

// -fno-math-errno and -fno-trapping-math change no result: they let sqrt and selects vectorise. Kernels call nothing
// but mathematics: with -nostdlib a compiler without start files will do.
const std::vector<std::string> flags = {
    "-std=gnu11",         "-O3",   "-march=native", "-ffp-contract=off", "-fno-math-errno",
    "-fno-trapping-math", "-fPIC", "-shared",       "-nostdlib",         "-w"};

bool is_executable(const fs::path& path) {
  return fs::is_regular_file(path) && access(path.c_str(), X_OK) == 0;
}

/// Full path of the compiler, or "".
std::string find_compiler() {
  const std::string chosen = environment("HINDSIGHT_CC");
  const std::vector<std::string> names =
      chosen.empty() ? std::vector<std::string>{"cc", "gcc", "clang"} : std::vector<std::string>{chosen};
  for (const std::string& name : names) {
    if (name.find('/') != std::string::npos) {
      if (is_executable(name)) return name;
      continue;
    }
    std::istringstream path(environment("PATH"));
    for (std::string folder; std::getline(path, folder, ':');)
      if (is_executable(fs::path(folder) / name)) return (fs::path(folder) / name).string();
  }
  return "";
}

struct Outcome {
  int status = -1;
  std::string output;
};

/// Runs a program without a shell; its standard output and error come back together.
Outcome run(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {-1, "no pipe"};
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    execv(words[0], words.data());
    _exit(127);
  }
  close(ends[1]);
  Outcome outcome;
  char buffer[4096];
  for (ssize_t n = 0; child > 0 && (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    outcome.output.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  return outcome;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// What -march=native depends on.
std::string processor_features() {
  std::ifstream file("/proc/cpuinfo");
  std::string features;
  for (std::string line; std::getline(file, line) && !line.empty();)
    if (line.starts_with("flags") || line.starts_with("model") || line.starts_with("Features") ||
        line.starts_with("CPU part"))
      features += line + "\n";
  return features;
}

std::shared_ptr<void> open(const fs::path& object) {
  void* handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle ? std::shared_ptr<void>(handle, dlclose) : nullptr;
}

std::shared_ptr<void> compile_here(const std::string& source) {
  const std::string compiler = find_compiler();
  if (compiler.empty())
    throw ResourceError(
        environment("HINDSIGHT_CC").empty()
            ? "no C compiler found: equations are compiled when a case is run; install gcc or set HINDSIGHT_CC"
            : "HINDSIGHT_CC names '" + environment("HINDSIGHT_CC") + "', which is not an executable");
  std::string key = first_line(run({compiler, "--version"}).output) + "\n" + processor_features();
  for (const std::string& flag : flags) key += flag + " ";
  const KernelCache cache(key, source, ".c", ".so");
  if (const auto found = cache.find())
    if (auto handle = open(*found)) return handle;
  const fs::path object = cache.make([&](const fs::path& from, const fs::path& to) {
    std::vector<std::string> command = {compiler};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-o", to.string(), from.string(), "-lm"});
    const Outcome outcome = run(command);
    if (outcome.status != 0)
      throw ResourceError(fmt::format("the C compiler {} failed on the generated kernels (exit {}): {}", compiler,
                                      outcome.status, outcome.output.substr(0, 2000)));
  });
  if (auto handle = open(object)) return handle;
  const char* why = dlerror();
  throw ResourceError("cannot load the compiled kernels " + object.string() + ": " + (why ? why : "damaged file"));
}

}  // namespace

void* Module::function(const std::string& name) const {
  void* address = handle_ ? dlsym(handle_.get(), name.c_str()) : nullptr;
  if (!address) throw Error(ExitCode::bug, "no compiled function '" + name + "'");
  return address;
}

Module compile(const std::string& source, const Communicator& comm) {
  std::shared_ptr<void> handle;
  comm.root_first([&] { handle = compile_here(source); });
  return Module(handle);
}

std::string processor_report() {
  const std::string features = processor_features();
  const std::size_t at = features.find("model name"), colon = features.find(": ", at);
  const std::string name =
      at == std::string::npos ? "" : features.substr(colon + 2, features.find('\n', colon) - colon - 2) + " ";
  return name + hash_text(features).substr(0, 8);
}

std::string compiler_report() {
  const std::string compiler = find_compiler();
  if (compiler.empty()) return "no C compiler found (install gcc or set HINDSIGHT_CC)";
  std::string report = compiler + ": " + first_line(run({compiler, "--version"}).output) + ",";
  for (const std::string& flag : flags) report += " " + flag;
  return report;
}

}  // namespace hindsight::host
