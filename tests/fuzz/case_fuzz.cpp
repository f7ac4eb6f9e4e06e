// The case reader survives any text: it accepts it or throws InputError.
#include <cstddef>
#include <cstdint>
#include <string>

#include "io/case/case.hpp"
#include "runtime/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    hindsight::parse_case("/nonexistent/fuzz.yaml", std::string(reinterpret_cast<const char*>(data), size), {});
  } catch (const hindsight::InputError&) {
  }
  return 0;
}
