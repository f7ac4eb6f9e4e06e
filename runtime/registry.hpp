// Things of one kind by name: those that come with the program, and what others add before it begins.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/error.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {

/// @tparam Thing has a `name`.
template <class Thing>
class Registry {
 public:
  /// @param what messages call one of them: "time method".
  Registry(std::string what, std::vector<Thing> first) : what_(std::move(what)), things_(std::move(first)) {}

  /// In the order in which they came.
  const std::vector<Thing>& all() const { return things_; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Thing& thing : things_) names.push_back(thing.name);
    return names;
  }
  /// @throws InputError with the nearest name.
  const Thing& find(const std::string& name) const {
    for (const Thing& thing : things_)
      if (thing.name == name) return thing;
    throw InputError("unknown " + what_ + " '" + name + "'" + did_you_mean(name, names()) +
                     "; known: " + join(names()));
  }
  /// @throws Error(bug) when there is one of this name.
  void add(Thing thing) {
    for (const Thing& other : things_)
      if (other.name == thing.name) throw Error(ExitCode::bug, "there is a " + what_ + " '" + thing.name + "' already");
    things_.push_back(std::move(thing));
  }

 private:
  std::string what_;
  std::vector<Thing> things_;
};

}  // namespace hindsight
