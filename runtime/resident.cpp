#include "runtime/resident.hpp"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

namespace hindsight {

void give_back_freed() {
  malloc_trim(0);
}

Resident resident() {
  Resident found;
  const std::pair<std::string, std::int64_t*> names[] = {
      {"VmRSS:", &found.now}, {"VmHWM:", &found.most}, {"RssFile:", &found.files}};
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    for (const auto& [name, bytes] : names)
      if (line.rfind(name, 0) == 0) *bytes = 1024 * std::stoll(line.substr(name.size()));
  return found;
}

std::int64_t most_without_files(const Resident& start, const Resident& later) {
  return later.most - std::max(start.files, later.files);
}

}  // namespace hindsight
