// Where the bytes of a slow tier lie: memory, a file, or one of them made slow or faulty for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "runtime/memory.hpp"

namespace hindsight {

/// A transfer that failed.
class MediumError : public std::runtime_error {
 public:
  explicit MediumError(const std::string& message, bool is_full = false)
      : std::runtime_error(message), is_full_(is_full) {}
  bool is_full() const { return is_full_; }  ///< no space is left

 private:
  bool is_full_;
};

struct StoredBytes {
  std::int64_t first_page = -1;  ///< -1: there are none
  std::int64_t bytes = 0;
  std::uint32_t checksum = 0;  ///< CRC32C of these bytes
};

/// What a slot holds, for whoever opens the file.
struct SlotLabel : StoredBytes {
  std::int64_t step = -1;  ///< the state's; -1: the slot is free
  StoredBytes reference;   ///< the whole state to which the slot's is a difference, if it is one
};

/// Numbered pages of equal size. Several threads may call at once, for different pages and slots.
class Medium {
 public:
  virtual ~Medium() = default;
  virtual std::int64_t pages() const = 0;
  virtual std::int64_t page_bytes() const = 0;
  /// `offset` counts bytes from the first page on; it, the memory's address and `bytes` are multiples of 4 KiB.
  /// @throws MediumError
  virtual void write(std::int64_t offset, const void* from, std::int64_t bytes) = 0;
  virtual void read(std::int64_t offset, void* to, std::int64_t bytes) = 0;
  /// What a slot holds from now on, for a medium that outlives the process; others may forget it.
  virtual void label(std::int64_t slot, const SlotLabel& label) = 0;
  /// The page that continues a slot's bytes after `page`; -1: none. As label().
  virtual void link(std::int64_t page, std::int64_t next) = 0;
  /// What was written has reached the device, if there is one. @throws MediumError
  virtual void flush() = 0;
  /// The first page, where the pages lie in memory that a device can copy to and from; null else.
  virtual double* memory() const = 0;
  /// Whether another process can go on with what was written.
  virtual bool outlives_process() const = 0;
  virtual std::string description() const = 0;
};

class MemoryMedium final : public Medium {
 public:
  MemoryMedium(std::int64_t pages, std::int64_t page_bytes, Machine& host = Machine::host());
  std::int64_t pages() const override { return pages_; }
  std::int64_t page_bytes() const override { return page_bytes_; }
  void write(std::int64_t offset, const void* from, std::int64_t bytes) override;
  void read(std::int64_t offset, void* to, std::int64_t bytes) override;
  void label(std::int64_t, const SlotLabel&) override {}
  void link(std::int64_t, std::int64_t) override {}
  void flush() override {}
  double* memory() const override { return memory_.data(); }
  bool outlives_process() const override { return false; }
  std::string description() const override { return "memory"; }

 private:
  std::int64_t pages_, page_bytes_;
  Memory memory_;
};

/// Another medium made as slow as asked: one transfer at a time, each taking so many seconds per byte at least.
class ThrottledMedium final : public Medium {
 public:
  ThrottledMedium(std::unique_ptr<Medium> medium, double write_seconds_per_byte, double read_seconds_per_byte);
  std::int64_t pages() const override { return medium_->pages(); }
  std::int64_t page_bytes() const override { return medium_->page_bytes(); }
  void write(std::int64_t offset, const void* from, std::int64_t bytes) override;
  void read(std::int64_t offset, void* to, std::int64_t bytes) override;
  void label(std::int64_t slot, const SlotLabel& label) override { medium_->label(slot, label); }
  void link(std::int64_t page, std::int64_t next) override { medium_->link(page, next); }
  void flush() override { medium_->flush(); }
  double* memory() const override { return nullptr; }  // a copy past write() and read() would take no time
  bool outlives_process() const override { return medium_->outlives_process(); }
  std::string description() const override { return medium_->description() + ", slowed down"; }

 private:
  std::unique_ptr<Medium> medium_;
  double write_seconds_, read_seconds_;
  std::mutex one_at_a_time_;
};

}  // namespace hindsight
