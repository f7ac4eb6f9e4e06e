#include "runtime/host/target.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "runtime/environment.hpp"
#include "runtime/kernel_cache.hpp"

namespace hindsight::host {
namespace {

/// What compilers define for instructions that they may use on their own, and how Linux names these.
constexpr const char* instructions[][2] = {
    {"__SSE3__", "pni"},
    {"__SSSE3__", "ssse3"},
    {"__SSE4_1__", "sse4_1"},
    {"__SSE4_2__", "sse4_2"},
    {"__SSE4A__", "sse4a"},
    {"__POPCNT__", "popcnt"},
    {"__LZCNT__", "abm"},
    {"__MOVBE__", "movbe"},
    {"__BMI__", "bmi1"},
    {"__BMI2__", "bmi2"},
    {"__TBM__", "tbm"},
    {"__XOP__", "xop"},
    {"__FMA4__", "fma4"},
    {"__F16C__", "f16c"},
    {"__AVX__", "avx"},
    {"__AVX2__", "avx2"},
    {"__FMA__", "fma"},
    {"__AVX512F__", "avx512f"},
    {"__AVX512CD__", "avx512cd"},
    {"__AVX512ER__", "avx512er"},
    {"__AVX512PF__", "avx512pf"},
    {"__AVX512VL__", "avx512vl"},
    {"__AVX512BW__", "avx512bw"},
    {"__AVX512DQ__", "avx512dq"},
    {"__AVX512IFMA__", "avx512ifma"},
    {"__AVX512VBMI__", "avx512vbmi"},
    {"__AVX512VBMI2__", "avx512_vbmi2"},
    {"__AVX512VNNI__", "avx512_vnni"},
    {"__AVX512BITALG__", "avx512_bitalg"},
    {"__AVX512VPOPCNTDQ__", "avx512_vpopcntdq"},
    {"__AVX512FP16__", "avx512_fp16"},
};

/// The rest of the first line that begins with `name`, after its colon.
std::string value_of(const std::string& cpuinfo, const std::string& name) {
  const std::size_t at = cpuinfo.starts_with(name) ? 0 : cpuinfo.find("\n" + name);
  const std::size_t colon = at == std::string::npos ? at : cpuinfo.find(": ", at);
  return colon == std::string::npos ? "" : cpuinfo.substr(colon + 2, cpuinfo.find('\n', colon) - colon - 2);
}

std::set<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

/// As the C library chooses among its functions; processors other than x86 all have it.
bool has_fma(const std::string& cpuinfo) {
#ifdef __x86_64__
  const std::set<std::string> flags = words_of(value_of(cpuinfo, "flags"));
  return flags.contains("fma") && flags.contains("avx2");
#else
  (void)cpuinfo;
  return true;
#endif
}

/// What -march=native depends on.
std::string features(const std::string& cpuinfo) {
  std::istringstream lines(cpuinfo);
  std::string found;
  for (std::string line; std::getline(lines, line) && !line.empty();)
    if (line.starts_with("flags") || line.starts_with("model") || line.starts_with("Features") ||
        line.starts_with("CPU part"))
      found += line + "\n";
  return found;
}

}  // namespace

std::string Target::text() const {
  return processor.empty() ? march : fmt::format("{} ({})", march, processor);
}

std::string cpuinfo() {
  std::ifstream file("/proc/cpuinfo");
  std::string all;
  for (std::string line; std::getline(file, line) && !line.empty();) all += line + "\n";
  return all;
}

Target target_of(const std::string& march, const std::string& cpuinfo) {
  Target target{march.empty() ? "native" : march, "", has_fma(cpuinfo)};
  if (target.march != "native") return target;
  const std::string name = value_of(cpuinfo, "model name");
  target.processor = (name.empty() ? "" : name + " ") + hash_text(features(cpuinfo)).substr(0, 8);
  return target;
}

Target target() {
  return target_of(environment("HINDSIGHT_MARCH"), cpuinfo());
}

std::string needs_text() {
  std::string text = fmt::format("const char {}[] = \"\"\n", needs_symbol);
  for (const auto& [macro, flag] : instructions) text += fmt::format("#ifdef {}\n\" {}\"\n#endif\n", macro, flag);
  return text + ";\n";
}

std::vector<std::string> missing_instructions(const std::string& needs, const std::string& cpuinfo) {
  const std::set<std::string> flags = words_of(value_of(cpuinfo, "flags"));
  const auto is_here = [&](const std::string& word) {  // virtual machines may leave abm out, which came before bmi1
    return flags.empty() || flags.contains(word) || (word == "abm" && flags.contains("bmi1"));
  };
  std::vector<std::string> missing;
  for (const std::string& word : words_of(needs))
    if (!is_here(word)) missing.push_back(word);
  return missing;
}

}  // namespace hindsight::host
