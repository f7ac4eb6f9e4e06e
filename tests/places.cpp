#include "tests/places.hpp"

namespace hindsight::test {

const char* source_folder() {
  return HINDSIGHT_SOURCE_DIR;
}

const char* program_file() {
  return HINDSIGHT_PROGRAM;
}

}  // namespace hindsight::test
