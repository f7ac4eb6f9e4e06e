// Launches that are asked for together, and come again: as one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "src/backend/cuda/program.hpp"

namespace hindsight::cuda {

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

/// Between begin() and end() launches are gathered. Some that were gathered the same before go as one graph, which costs
/// the host as much as a launch or two; what is new goes launch by launch. One thread.
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

  void begin() {
    flush();  // what work that failed has left
    is_open_ = is_worthwhile();
  }
  bool is_open() const { return is_open_; }
  void add(const Launches::Launch& launch) { gathered_.add(launch); }
  void end();
  /// What was gathered goes now: before all that is no launch.
  void flush();
  /// Before a program goes away.
  void forget() noexcept;

 private:
  static constexpr std::size_t most = 512;                         // lists remembered
  static constexpr std::int64_t trial = 4 * most, least_part = 4;  // batches, of which one in so many must come again
  struct Hash {
    std::size_t operator()(const Launches& launches) const { return launches.hash(); }
  };
  /// Where times or random numbers are among the arguments, nothing comes again.
  bool is_worthwhile() const { return batches_ < trial || repeats_ >= batches_ / least_part; }

  Run run_;
  Make make_;
  bool is_open_ = false;
  Launches gathered_;
  std::unordered_map<Launches, std::unique_ptr<Graph>, Hash> known_;
  std::int64_t batches_ = 0, repeats_ = 0;
};

}  // namespace hindsight::cuda
