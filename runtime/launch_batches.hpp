// Launches that are asked for together, and come again: as one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/device_program.hpp"

namespace hindsight::device {

/// Kernels one after another, with all that they are given.
class Launches {
 public:
  struct Launch {
    Program* program;
    std::size_t kernel;
    Arguments arguments;
    std::int64_t blocks;
  };
  void add(const Launch& launch);
  void clear() {
    words_.clear();
    count_ = 0;
  }
  std::int64_t count() const { return count_; }
  void for_each(const std::function<void(const Launch&)>& work) const;
  bool operator==(const Launches&) const = default;
  std::size_t hash() const;

 private:
  std::vector<std::uint64_t> words_;
  std::int64_t count_ = 0;
};

/// Between begin() and end() launches are gathered. Some that were gathered the same twice before go as one graph,
/// which costs the host as much as a launch or two; the others go launch by launch. What graphs take of a device's
/// memory is in no account. One thread.
class LaunchBatches {
 public:
  class Graph {
   public:
    virtual ~Graph() = default;
    virtual void run() = 0;
  };
  using Run = std::function<void(const Launches::Launch&)>;
  using Make = std::function<std::unique_ptr<Graph>(const Launches&)>;
  LaunchBatches(Run run, Make make) : run_(std::move(run)), make_(std::move(make)) {}

  void begin();
  bool is_open() const { return is_open_; }
  void add(const Launches::Launch& launch) { gathered_.add(launch); }
  void end();
  /// The work failed: what was gathered is dropped.
  void abandon() noexcept;
  /// What was gathered goes now: before all that is no launch.
  void flush();
  /// Before a program goes away.
  void forget() noexcept;
  /// Batches that went as graphs.
  std::int64_t replayed() const { return replayed_; }

 private:
  struct Known {
    std::int64_t times = 0;
    std::unique_ptr<Graph> graph;
    bool has_failed = false;
  };
  struct Hash {
    std::size_t operator()(const Launches& launches) const { return launches.hash(); }
  };
  static constexpr std::size_t most = 1024;          // lists remembered
  static constexpr std::int64_t trial = 4096;        // batches after which it is asked whether this pays,
  static constexpr std::int64_t one_in = 4;          // which it does when one in so many was there before,
  static constexpr std::int64_t first_pause = 4096;  // and else batches that are left alone, more every time
  Graph* graph_of(const Launches& launches);

  Run run_;
  Make make_;
  bool is_open_ = false;
  Launches gathered_;
  std::unordered_map<Launches, Known, Hash> known_;
  std::int64_t batches_ = 0, repeats_ = 0, pause_ = first_pause, paused_ = 0, replayed_ = 0;
};

}  // namespace hindsight::device
