#include "src/run_manifest.hpp"

#include <fmt/format.h>

#include <gnu/libc-version.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "adjoint/store/packed_state.hpp"
#include "io/checkpoints/scratch_folder.hpp"
#include "runtime/error.hpp"
#include "runtime/host/compiler.hpp"
#include "runtime/stop_request.hpp"
#include "src/report.hpp"

namespace hindsight {
namespace {

std::string checksum(const std::string& bytes) {
  return fmt::format("{:08x}", crc32c(bytes.data(), static_cast<std::int64_t>(bytes.size())));
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// In pieces of 1 MiB: data files may be larger than the memory.
std::string checksum_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(std::size_t{1} << 20);
  std::uint32_t sum = 0;
  while (file) {
    stop_if_asked();
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    sum = crc32c(piece.data(), file.gcount(), sum);
  }
  return fmt::format("{:08x}", sum);
}

Json to_json(const KernelSetting& kernels) {
  return {{"march", kernels.target.march}, {"processor", kernels.target.processor},
          {"fma", kernels.target.has_fma}, {"c_library", kernels.c_library},
          {"device", kernels.device},      {"compiler", kernels.compiler}};
}

KernelSetting kernels_from(const Json& json) {
  return {{json.at("march"), json.at("processor"), json.at("fma")},
          json.at("c_library"),
          json.at("device"),
          json.at("compiler")};
}

}  // namespace

std::string first_difference(const std::string& before, const std::string& now) {
  std::istringstream a(before), b(now);
  for (std::string left, right;;) {
    const bool has_left = static_cast<bool>(std::getline(a, left)),
               has_right = static_cast<bool>(std::getline(b, right));
    if (!has_left && !has_right) return "";
    if (!has_left) left = "(nothing)";
    if (!has_right) right = "(nothing)";
    if (left != right) return fmt::format("'{}' in place of '{}'", right, left);
  }
}

std::string program_identity() {
  static const std::string identity =
      fmt::format("hindsight {}, checksum {}", build_commit(), checksum_of_file("/proc/self/exe"));
  return identity;
}

KernelSetting KernelSetting::here(const Options& options) {
  return {host::target(), gnu_get_libc_version(), chosen_backend(options).kernel_setting(), host::compiler_report()};
}

std::string KernelSetting::difference(const KernelSetting& now) const {
  if (target.march != now.target.march)
    return fmt::format("HINDSIGHT_MARCH is '{}', it was '{}' when the run began", now.target.march, target.march);
  if (target.processor != now.target.processor)
    return fmt::format(
        "its kernels are for the processor that it began on (HINDSIGHT_MARCH is 'native'): {}, this is {}; a run that "
        "begins with HINDSIGHT_MARCH=x86-64-v3, say, goes on wherever there is what that stands for",
        target.processor, now.target.processor);
  if (target.has_fma != now.target.has_fma)
    return fmt::format(
        "this processor has {}fused multiply-add, the one where the run began has {} (HINDSIGHT_MARCH is '{}' on "
        "both): the C library's functions have other digits",
        now.target.has_fma ? "" : "no ", target.has_fma ? "it" : "none", target.march);
  if (c_library != now.c_library)
    return fmt::format("the C library is {}, it was {} when the run began: its functions may have other digits",
                       now.c_library, c_library);
  if (device != now.device)
    return fmt::format("the device is '{}', it was '{}' when the run began", now.device, device);
  return "";
}

namespace {

std::map<std::string, std::string> data_of(const Case& c) {
  std::map<std::string, std::string> data;
  for (const std::string& path : c.inputs())
    if (path != c.file) data[std::filesystem::weakly_canonical(path)] = checksum_of_file(path);
  return data;
}

}  // namespace

bool RunManifest::is_of(const std::string& verb, const Case& c) const {
  return options.verb == verb && resolved == c.resolved && data == data_of(c);
}

RunManifest RunManifest::of(const Options& options, const std::string& run, const Case& c, int ranks) {
  std::random_device random;
  RunManifest m;
  m.id = fmt::format("{:08x}{:08x}", random(), random());
  m.name = c.name;
  m.ranks = ranks;
  m.folder = std::filesystem::current_path();
  m.options = options;
  m.options.target = std::filesystem::absolute(options.target);
  m.options.out = std::filesystem::absolute(run);
  m.resolved = c.resolved;
  m.data = data_of(c);
  m.program = program_identity();
  m.kernels = KernelSetting::here(options);
  if (const char* const from_outside = std::getenv("PETSC_OPTIONS")) m.petsc_options = from_outside;
  if (!c.checkpoint_folder.empty()) m.scratch = scratch_text(c.checkpoint_folder);
  return m;
}

RunManifest RunManifest::from_root(const Communicator& comm, const std::function<RunManifest()>& make) {
  std::string text;
  comm.on_root([&] { text = make().to_text(); });
  return parse(comm.broadcast(text), "run.json");
}

std::string RunManifest::to_text() const {
  Json json;
  json["run"] = id;
  json["name"] = name;
  json["generation"] = generation;
  json["copied_from"] = copied_from;
  json["writer"] = writer;
  json["ranks"] = ranks;
  json["groups"] = groups;
  json["folder"] = folder;
  json["verb"] = options.verb;
  json["target"] = options.target;
  json["set"] = options.set;
  json["shot"] = options.shot;
  json["groups_asked_for"] = options.groups;
  json["out"] = options.out;
  json["petsc"] = options.petsc;
  json["petsc_changes"] = options.petsc_changes;
  json["petsc_options"] = petsc_options;
  json["backend"] = options.backend;
  json["cost"] = options.cost;
  json["emulate_disk"] = options.developer.emulate_disk;
  json["epoch"] = options.epoch;
  json["data"] = data;
  json["program"] = program;
  json["kernels"] = to_json(kernels);
  json["scratch"] = scratch;
  json["case"] = resolved;
  json["checksum"] = checksum(json.dump());
  return json.dump(2) + "\n";
}

RunManifest RunManifest::read(const std::string& run) {
  std::error_code unknown;
  if (!std::filesystem::exists(file(run), unknown))
    throw InputError("'" + run +
                     "' holds no run to go on with: begin one with hindsight run, gradient, invert or check");
  return parse(contents(file(run)), file(run));
}

RunManifest RunManifest::parse(const std::string& text, const std::string& source) {
  try {
    Json json = Json::parse(text);
    const std::string said = json.at("checksum");
    json.erase("checksum");
    if (said != checksum(json.dump())) throw ResourceError("'" + source + "' is damaged: its checksum is wrong");
    RunManifest m;
    m.id = json.at("run");
    m.name = json.at("name");
    m.generation = json.at("generation");
    m.copied_from = json.at("copied_from");
    m.writer = json.at("writer");
    m.ranks = json.at("ranks");
    m.groups = json.value("groups", 1);
    m.folder = json.at("folder");
    m.options.verb = json.at("verb");
    m.options.target = json.at("target");
    m.options.set = json.at("set").get<std::vector<std::string>>();
    m.options.shot = json.value("shot", "");
    m.options.groups = json.value("groups_asked_for", 0);
    m.options.out = json.at("out");
    m.options.petsc = json.at("petsc");
    m.options.petsc_changes = json.value("petsc_changes", std::vector<std::string>{});
    m.petsc_options = json.at("petsc_options");
    m.options.backend = json.at("backend");
    m.options.cost = json.at("cost");
    m.options.developer.emulate_disk = json.at("emulate_disk").get<std::vector<double>>();
    m.options.epoch = json.at("epoch");
    m.data = json.at("data").get<std::map<std::string, std::string>>();
    m.program = json.at("program");
    m.kernels = kernels_from(json.at("kernels"));
    m.scratch = json.at("scratch");
    m.resolved = json.at("case");
    return m;
  } catch (const Json::out_of_range& error) {
    throw ResourceError("'" + source + "' is of another version of the program: " + error.what());
  } catch (const Json::exception& error) {
    throw ResourceError("'" + source + "' is damaged: " + error.what());
  }
}

void RunManifest::take_setting(const RunManifest& other) {
  program = other.program;
  kernels = other.kernels;
  petsc_options = other.petsc_options;
}

std::string RunManifest::difference(const RunManifest& now) const {
  if (resolved != now.resolved) return "the case has changed: " + first_difference(resolved, now.resolved);
  for (const auto& [path, sum] : now.data)
    if (const auto before = data.find(path); before == data.end() || before->second != sum)
      return "the data file '" + path + "' has changed";
  if (program != now.program)
    return "the program has changed: this is " + now.program + ", the run began with " + program;
  if (petsc_options != now.petsc_options)
    return "PETSC_OPTIONS is '" + now.petsc_options + "', it was '" + petsc_options + "' when the run began";
  return kernels.difference(now.kernels);
}

}  // namespace hindsight
