#include "runtime/host/compiler.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <vector>

#include "runtime/environment.hpp"
#include "runtime/error.hpp"
#include "runtime/host/target.hpp"
#include "runtime/kernel_cache.hpp"
#include "runtime/nearest_name.hpp"
#include "runtime/process.hpp"
#include "runtime/stop_request.hpp"

namespace hindsight::host {
namespace {

namespace fs = std::filesystem;

// -fno-math-errno and -fno-trapping-math change no result: they let sqrt and selects vectorise. Kernels call nothing
// but mathematics: with -nostdlib a compiler without start files will do.
std::vector<std::string> flags_for(const Target& target) {
  return {"-std=gnu11",
          "-O3",
          "-march=" + target.march,
          "-ffp-contract=off",
          "-fno-math-errno",
          "-fno-trapping-math",
          "-fPIC",
          "-shared",
          "-nostdlib",
          "-w"};
}

/// Full path of the compiler, or "".
std::string find_compiler() {
  const std::string chosen = environment("HINDSIGHT_CC");
  const std::vector<std::string> names =
      chosen.empty() ? std::vector<std::string>{"cc", "gcc", "clang"} : std::vector<std::string>{chosen};
  for (const std::string& name : names)
    if (const std::string program = find_program(name); !program.empty()) return program;
  return "";
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::shared_ptr<void> open(const fs::path& object) {
  void* handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle ? std::shared_ptr<void>(handle, dlclose) : nullptr;
}

/// @throws InputError when the compiler does not know what HINDSIGHT_MARCH names; ResourceError with its message;
/// Stopped.
void run_compiler(const std::string& compiler, const Target& target, const fs::path& from, const fs::path& to) {
  std::vector<std::string> command = {compiler};
  const std::vector<std::string> flags = flags_for(target);
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), {"-o", to.string(), from.string(), "-lm"});
  const ProcessOutcome outcome = run_process(command, {from.parent_path(), [] { stop_if_asked(); }});
  if (outcome.status == 0) return;
  const ProcessOutcome alone =
      run_process({compiler, "-march=" + target.march, "-fsyntax-only", "-x", "c", "/dev/null"});
  if (target.march != "native" && alone.status != 0)
    throw InputError(fmt::format("HINDSIGHT_MARCH is '{}', for which the C compiler {} cannot compile: {}",
                                 target.march, compiler, alone.output.substr(0, 2000)));
  throw ResourceError(fmt::format("the C compiler {} failed on the generated kernels ({}): {}", compiler,
                                  outcome.status < 0 ? "ended by a signal" : fmt::format("exit {}", outcome.status),
                                  outcome.output.substr(0, 2000)));
}

/// Before any of it runs. @throws ResourceError when this processor lacks instructions that it may use.
std::shared_ptr<void> usable(std::shared_ptr<void> object, const Target& target) {
  if (target.march == "native") return object;
  const auto* const needs = static_cast<const char*>(dlsym(object.get(), needs_symbol));
  const std::vector<std::string> missing = missing_instructions(needs != nullptr ? needs : "", cpuinfo());
  if (missing.empty()) return object;
  throw ResourceError(
      fmt::format("HINDSIGHT_MARCH is '{}', whose kernels may use instructions that this processor lacks: {}; name one "
                  "that it has, or leave the variable unset for all that it has",
                  target.march, join(missing)));
}

std::string find_compiler_for(const Target& target) {
  std::string compiler = find_compiler();
  if (!compiler.empty()) return compiler;
  const std::string chosen = environment("HINDSIGHT_CC");
  throw ResourceError(fmt::format(
      "{}: equations are compiled the first time that a case is run, and the cache {} has none of this case for {}",
      chosen.empty() ? "no C compiler found (install gcc or set HINDSIGHT_CC)"
                     : "HINDSIGHT_CC names '" + chosen + "', which is not an executable",
      KernelCache::folder(), target.text()));
}

/// Null: it is not there, or cannot be loaded.
std::shared_ptr<void> in_cache(const KernelCache& cache, const Target& target) {
  const auto found = cache.find();
  const std::shared_ptr<void> handle = found ? open(*found) : nullptr;
  return handle ? usable(handle, target) : nullptr;
}

std::shared_ptr<void> compile_here(const std::string& kernels) {
  stop_if_asked();
  const Target target = host::target();
  std::string key = environment("HINDSIGHT_CC") + "\n" + target.processor + "\n";
  for (const std::string& flag : flags_for(target)) key += flag + " ";
  const KernelCache cache(key, needs_text() + kernels, ".c", ".so");
  if (auto found = in_cache(cache, target)) return found;
  const StopSignalsDelayed nothing_is_left;
  const KernelCache::Turn turn = cache.turn();
  if (auto found = in_cache(cache, target)) return found;
  const std::string compiler = find_compiler_for(target);
  const fs::path object =
      cache.make([&](const fs::path& from, const fs::path& to) { run_compiler(compiler, target, from, to); });
  if (auto handle = open(object)) return usable(handle, target);
  const char* why = dlerror();
  throw ResourceError("cannot load the compiled kernels " + object.string() + ": " + (why ? why : "damaged file"));
}

/// Asked once, for it takes a process.
const std::string& version_of(const std::string& compiler) {
  static std::map<std::string, std::string> known;
  const auto [at, is_new] = known.try_emplace(compiler);
  if (is_new) at->second = first_line(run_process({compiler, "--version"}).output);
  return at->second;
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

std::string compiler_report() {
  const std::string compiler = find_compiler();
  if (compiler.empty()) return "no C compiler found (install gcc or set HINDSIGHT_CC)";
  std::string report = compiler + ": " + version_of(compiler) + ",";
  for (const std::string& flag : flags_for(target())) report += " " + flag;
  return report;
}

}  // namespace hindsight::host
