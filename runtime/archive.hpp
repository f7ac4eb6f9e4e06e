// Payloads of journals: values in named sections. Whoever reads what was not written is told so, and in which section.
//
//   "hsarchiv", version (8 bytes), then values: a type (1 byte) and
//     'i' integer, 'u' unsigned integer, 'd' double: 8 bytes
//     's' string, 'I' 'U' 'D' vectors of numbers, 'S' vector of strings: their count (8 bytes) and elements
//     '{' section: the bytes in it (8), its name as a string, its values
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/bytes.hpp"

namespace hindsight {

/// Numbers that are written as such; integers in 8 bytes whatever their width.
template <class T>
concept ArchiveInteger = std::integral<T> && sizeof(T) <= 8;

class ArchiveWriter {
 public:
  /// @param version of what is written; the reader has to ask for the same.
  explicit ArchiveWriter(std::uint64_t version) : version_(version) { restart(); }
  /// Sections may lie in sections.
  void begin(std::string_view name);
  void end();

  template <ArchiveInteger T>
  void write(T value) {
    if constexpr (std::signed_integral<T>) {
      signed_integer('i', value);
    } else {
      unsigned_integer('u', value);
    }
  }
  void write(double value);
  void write(std::string_view text);
  void write(const char* text) { write(std::string_view(text)); }
  /// As one block.
  void write(std::span<const double> values);
  void write(const std::vector<double>& values) { write(std::span<const double>(values)); }
  void write(const std::vector<std::string>& texts);
  template <ArchiveInteger T>
  void write(const std::vector<T>& values) {
    unsigned_integer(std::signed_integral<T> ? 'I' : 'U', values.size());
    for (const T value : values) {
      if constexpr (std::signed_integral<T>) {
        append(static_cast<std::int64_t>(value));
      } else {
        append(static_cast<std::uint64_t>(value));
      }
    }
  }

  /// All that was written; every section must have ended.
  ByteView bytes() const;
  /// Forgets what was written and keeps its memory.
  void restart();
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }

 private:
  template <class T>
  void append(T value) {
    append_block(&value, sizeof value);
  }
  void append_block(const void* from, std::size_t bytes);
  void append_text(std::string_view text);
  void signed_integer(char type, std::int64_t value);
  void unsigned_integer(char type, std::uint64_t value);

  std::uint64_t version_;
  Bytes bytes_;
  std::vector<std::size_t> sections_;  // where the lengths of the open ones lie
};

/// Reads in the order of writing. All calls throw ResourceError when something else was written; vectors and strings
/// never take more memory than bytes are there.
class ArchiveReader {
 public:
  /// @param bytes must outlive this. @param source is named in errors.
  ArchiveReader(ByteView bytes, std::uint64_t version, std::string source);
  void begin(std::string_view name);
  /// All of the section must have been read.
  void end();
  /// Whether everything in the section, or at the outside, has been read.
  bool is_at_end() const { return at_ == limit(); }

  template <ArchiveInteger T>
  void read(T& value) {
    if constexpr (std::signed_integral<T>) {
      expect('i');
      value = narrow<T>(take<std::int64_t>());
    } else {
      expect('u');
      value = narrow<T>(take<std::uint64_t>());
    }
  }
  void read(double& value);
  void read(std::string& text);
  void read(std::vector<double>& values);
  /// As many as were written.
  void read(std::span<double> values);
  void read(std::vector<std::string>& texts);
  template <ArchiveInteger T>
  void read(std::vector<T>& values) {
    using Stored = std::conditional_t<std::signed_integral<T>, std::int64_t, std::uint64_t>;
    expect(std::signed_integral<T> ? 'I' : 'U');
    values.resize(count(sizeof(Stored)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = narrow<T>(take<Stored>());
  }
  template <class T>
  T get() {
    T value{};
    read(value);
    return value;
  }

 private:
  struct Section {
    std::string name;
    std::size_t end;
  };
  template <class T, class Wide>
  T narrow(Wide value) const {
    if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max())
      fail("the number " + std::to_string(value) + " is too large");
    return static_cast<T>(value);
  }
  template <class T>
  T take() {
    T value;
    take_block(&value, sizeof value);
    return value;
  }
  void take_block(void* to, std::size_t bytes);
  std::string take_text();
  void expect(char type);
  /// Of elements that take at least so many bytes each.
  std::size_t count(std::size_t bytes_each);
  std::size_t limit() const { return sections_.empty() ? bytes_.size() : sections_.back().end; }
  [[noreturn]] void fail(const std::string& what) const;

  ByteView bytes_;
  std::string source_;
  std::size_t at_ = 0;
  std::vector<Section> sections_;  // the open ones
};

}  // namespace hindsight
