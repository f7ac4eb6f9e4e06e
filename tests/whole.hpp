// What the suite does in part and --long in full.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace hindsight::test {

/// Whether all is asked for: of tests that tests/CMakeLists.txt has among the whole ones.
inline bool is_whole() {
  return std::getenv("HINDSIGHT_WHOLE") != nullptr;
}

/// @param all where all is asked for. @param some of these elsewhere.
template <class T>
std::vector<T> some_of(std::initializer_list<T> all, std::initializer_list<T> some) {
  return is_whole() ? all : some;
}

}  // namespace hindsight::test
