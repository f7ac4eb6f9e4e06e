#include "runtime/archive.hpp"

#include <cstring>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

constexpr std::uint64_t magic = 0x7669686372617368;  // "hsarchiv"

std::string kind(char type) {
  switch (type) {
    case 'i':
      return "an integer";
    case 'u':
      return "an unsigned integer";
    case 'd':
      return "a double";
    case 's':
      return "a string";
    case 'I':
      return "integers";
    case 'U':
      return "unsigned integers";
    case 'D':
      return "doubles";
    case 'S':
      return "strings";
    case '{':
      return "a section";
    default:
      return "nothing known";
  }
}

}  // namespace

void ArchiveWriter::restart() {
  bytes_.clear();
  sections_.clear();
  append(magic);
  append(version_);
}

void ArchiveWriter::begin(std::string_view name) {
  append('{');
  sections_.push_back(bytes_.size());
  append(std::uint64_t{0});
  append_text(name);
}

void ArchiveWriter::end() {
  if (sections_.empty()) throw Error(ExitCode::bug, "an archive's section ends that has not begun");
  const std::size_t at = sections_.back();
  const std::uint64_t length = bytes_.size() - at - sizeof length;
  std::memcpy(bytes_.data() + at, &length, sizeof length);
  sections_.pop_back();
}

void ArchiveWriter::write(double value) {
  append('d');
  append(value);
}

void ArchiveWriter::write(std::string_view text) {
  append('s');
  append_text(text);
}

void ArchiveWriter::write(std::span<const double> values) {
  unsigned_integer('D', values.size());
  append_block(values.data(), values.size_bytes());
}

void ArchiveWriter::write(const std::vector<std::string>& texts) {
  unsigned_integer('S', texts.size());
  for (const std::string& text : texts) append_text(text);
}

ByteView ArchiveWriter::bytes() const {
  if (!sections_.empty()) throw Error(ExitCode::bug, "an archive's section has not ended");
  return bytes_;
}

void ArchiveWriter::append_block(const void* from, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(from);
  bytes_.insert(bytes_.end(), begin, begin + bytes);
}

void ArchiveWriter::append_text(std::string_view text) {
  append(static_cast<std::uint64_t>(text.size()));
  append_block(text.data(), text.size());
}

void ArchiveWriter::signed_integer(char type, std::int64_t value) {
  append(type);
  append(value);
}

void ArchiveWriter::unsigned_integer(char type, std::uint64_t value) {
  append(type);
  append(value);
}

ArchiveReader::ArchiveReader(ByteView bytes, std::uint64_t version, std::string source)
    : bytes_(bytes), source_(std::move(source)) {
  if (bytes_.size() < 2 * sizeof magic || take<std::uint64_t>() != magic) fail("it is no archive");
  const auto found = take<std::uint64_t>();
  if (found != version)
    fail("it has version " + std::to_string(found) + "; this program reads version " + std::to_string(version));
}

void ArchiveReader::begin(std::string_view name) {
  expect('{');
  const auto length = take<std::uint64_t>();
  if (length > limit() - at_) fail("a section does not end");
  const std::size_t end = at_ + static_cast<std::size_t>(length);
  const std::string found = take_text();
  if (found != name) fail("section '" + std::string(name) + "' is missing; '" + found + "' takes its place");
  if (at_ > end) fail("a section's name does not end");
  sections_.push_back({found, end});
}

void ArchiveReader::end() {
  if (sections_.empty()) throw Error(ExitCode::bug, "an archive's section ends that has not begun");
  if (!is_at_end()) fail("it holds more than was expected");
  sections_.pop_back();
}

void ArchiveReader::read(double& value) {
  expect('d');
  value = take<double>();
}

void ArchiveReader::read(std::string& text) {
  expect('s');
  text = take_text();
}

void ArchiveReader::read(std::vector<double>& values) {
  expect('D');
  values.resize(count(sizeof(double)));
  take_block(values.data(), values.size() * sizeof(double));
}

void ArchiveReader::read(std::span<double> values) {
  expect('D');
  const std::size_t found = count(sizeof(double));
  if (found != values.size())
    fail("expected " + std::to_string(values.size()) + " doubles, found " + std::to_string(found));
  take_block(values.data(), values.size_bytes());
}

void ArchiveReader::read(std::vector<std::string>& texts) {
  expect('S');
  texts.resize(count(sizeof(std::uint64_t)));
  for (std::string& text : texts) text = take_text();
}

void ArchiveReader::take_block(void* to, std::size_t bytes) {
  if (bytes > limit() - at_) fail("it ends too early");
  if (bytes > 0) std::memcpy(to, bytes_.data() + at_, bytes);
  at_ += bytes;
}

std::string ArchiveReader::take_text() {
  std::string text(count(1), '\0');
  take_block(text.data(), text.size());
  return text;
}

void ArchiveReader::expect(char type) {
  if (is_at_end()) fail("expected " + kind(type) + ", found its end");
  const char found = take<char>();
  if (found != type) fail("expected " + kind(type) + ", found " + kind(found));
}

std::size_t ArchiveReader::count(std::size_t bytes_each) {
  const auto found = take<std::uint64_t>();
  if (found > (limit() - at_) / bytes_each) fail("it ends too early");
  return static_cast<std::size_t>(found);
}

void ArchiveReader::fail(const std::string& what) const {
  std::string path;
  for (const Section& section : sections_) path += (path.empty() ? "" : "/") + section.name;
  throw ResourceError("'" + source_ + "': " + (path.empty() ? "" : "section '" + path + "': ") + what);
}

}  // namespace hindsight
