// What host memory takes that is written for the first time.
#pragma once

#include <cstdint>
#include <vector>

namespace hindsight {

/// Writes memory and keeps it: some lies ready, and is had many times faster than what a virtual machine has to ask
/// for. What was written lies ready for others once this is gone. It is not counted.
class FreshMemory {
 public:
  /// @param piece bytes that are written at once.
  explicit FreshMemory(std::int64_t piece) : piece_(piece) {}
  ~FreshMemory();
  FreshMemory(const FreshMemory&) = delete;
  FreshMemory& operator=(const FreshMemory&) = delete;

  /// Writes on, until so many bytes are written in all or memory was met that did not lie ready.
  void write_up_to(std::int64_t bytes);
  std::int64_t bytes() const { return piece_ * static_cast<std::int64_t>(pieces_.size()); }
  bool has_met_unready() const { return unready_.pieces >= enough_; }
  /// Seconds of a byte: of what lies ready, and of what does not (0: none was met).
  double ready_seconds() const;
  double unready_seconds() const { return unready_.of_byte(piece_); }

 private:
  struct Writes {
    double seconds = 0.0;
    int pieces = 0;
    double of_byte(std::int64_t piece) const {
      return pieces == 0 ? 0.0 : seconds / (static_cast<double>(pieces) * static_cast<double>(piece));
    }
  };
  void write_piece();
  static constexpr int enough_ = 2;  // pieces that tell what more of them take
  std::int64_t piece_;
  std::vector<void*> pieces_;
  Writes ready_, unready_, again_;
};

}  // namespace hindsight
