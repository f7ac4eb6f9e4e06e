#include "io/journal/journal.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "adjoint/store/packed_state.hpp"
#include "runtime/error.hpp"
#include "runtime/rounding.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t boundary = 4096;  // bytes; no device writes larger sectors
constexpr std::int64_t payloads_at = 2 * boundary;
constexpr std::uint64_t magic = 0x6c616e72756f6a68;  // "hjournal"
constexpr std::uint64_t format = 2;

/// A header in its sector.
enum Word : std::size_t { magic_word, format_word, epoch_word, offset_word, bytes_word, payload_word, header_word };
using Header = std::array<std::uint64_t, 512 / sizeof(std::uint64_t)>;

std::uint32_t header_checksum(const Header& header) {
  return crc32c(header.data(), header_word * sizeof header[0]);
}

std::int64_t header_place(std::size_t block) {
  return static_cast<std::int64_t>(block) * boundary;
}

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw ResourceError("cannot " + what + " the journal '" + path + "': " + std::strerror(errno));
}

std::string read_problem(const std::string& part) {
  return errno == ENODATA ? "the file ends within " + part : part + " cannot be read: " + std::strerror(errno);
}

/// Empty when there is none.
std::string header_damage(const Header& header) {
  if (header[magic_word] != magic) return "it has no header";
  if (header[header_word] != header_checksum(header)) return "its header's checksum is wrong";
  if (header[format_word] != format)
    return "it has format " + std::to_string(header[format_word]) + ", this version reads " + std::to_string(format);
  return "";
}

}  // namespace

Journal Journal::create(FileSystem& files, const std::string& path, std::int64_t epoch, ByteView payload) {
  const std::string partial = path + ".partial";
  std::unique_ptr<RawFile> file = files.open(partial, OpenMode::fresh);
  if (!file) fail("create", partial);
  Journal journal(path, std::move(file));
  Block& first = journal.blocks_[0];
  first.epoch = epoch;
  first.offset = payloads_at;
  first.bytes = static_cast<std::int64_t>(payload.size());
  first.checksum = crc32c(payload.data(), first.bytes);
  const std::vector<std::byte> empty(payloads_at);
  journal.write(empty.data(), payloads_at, 0);
  journal.write(payload.data(), first.bytes, payloads_at);
  journal.write_header(0, first);
  journal.flush();
  if (files.rename(partial, path) != 0) fail("rename", partial);
  if (files.flush_folder_of(path) != 0) fail("flush the folder of", path);
  return journal;
}

std::optional<Journal> Journal::open(FileSystem& files, const std::string& path, OpenMode mode) {
  std::unique_ptr<RawFile> file = files.open(path, mode);
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) fail("open", path);
  Journal journal(path, std::move(file));
  for (std::size_t which : {0, 1}) {
    Block block = journal.read_header(which);
    if (block.epoch >= 0) block.damage = journal.payload_damage(block);
    if (!block.damage.empty()) block.epoch = -1;
    journal.blocks_[which] = block;
  }
  if (journal.newest() < 0)
    throw ResourceError("the journal '" + path + "' is damaged: first block: " + journal.blocks_[0].text() +
                        "; second block: " + journal.blocks_[1].text());
  return journal;
}

Journal::Block Journal::read_header(std::size_t which) const {
  Block block;
  Header header{};
  if (!read_whole(*file_, header.data(), sizeof header, header_place(which))) {
    block.damage = read_problem("its header");
    return block;
  }
  if (header == Header{}) return block;  // never used
  block.damage = header_damage(header);
  if (!block.damage.empty()) return block;
  block.epoch = static_cast<std::int64_t>(header[epoch_word]);
  block.offset = static_cast<std::int64_t>(header[offset_word]);
  block.bytes = static_cast<std::int64_t>(header[bytes_word]);
  block.checksum = static_cast<std::uint32_t>(header[payload_word]);
  return block;
}

/// What is wrong with a block's payload; empty: nothing.
std::string Journal::payload_damage(const Block& block) const {
  const std::string payload = "epoch " + std::to_string(block.epoch);
  const std::int64_t there = std::max<std::int64_t>(0, file_->size() - block.offset);
  if (block.offset < payloads_at || block.bytes < 0 || block.bytes > there) return "the file ends within it";
  Bytes piece(static_cast<std::size_t>(std::min<std::int64_t>(block.bytes, 1 << 20)));
  std::uint32_t checksum = 0;
  for (std::int64_t done = 0; done < block.bytes;) {
    const std::int64_t bytes = std::min(block.bytes - done, static_cast<std::int64_t>(piece.size()));
    if (!read_whole(*file_, piece.data(), bytes, block.offset + done)) return read_problem(payload);
    checksum = crc32c(piece.data(), bytes, checksum);
    done += bytes;
  }
  return checksum == block.checksum ? "" : "the checksum of " + payload + " is wrong";
}

std::vector<std::int64_t> Journal::epochs() const {
  std::vector<std::int64_t> valid = {newest()};
  if (const std::int64_t other = blocks_[1 - newest_block()].epoch; other >= 0) valid.push_back(other);
  return valid;
}

std::size_t Journal::block_of(std::int64_t epoch) const {
  for (std::size_t which : {0, 1})
    if (epoch >= 0 && blocks_[which].epoch == epoch) return which;
  throw Error(ExitCode::bug, "the journal '" + path_ + "' has no epoch " + std::to_string(epoch));
}

Bytes Journal::load(std::int64_t epoch) const {
  const Block& block = blocks_[block_of(epoch)];
  Bytes payload(static_cast<std::size_t>(block.bytes));
  if (!read_whole(*file_, payload.data(), block.bytes, block.offset)) fail("read", path_);
  if (crc32c(payload.data(), block.bytes) != block.checksum)
    throw ResourceError("the journal '" + path_ + "' is damaged: the checksum of epoch " + std::to_string(epoch) +
                        " is wrong");
  return payload;
}

/// Where a payload hides nothing of the newest epoch.
std::int64_t Journal::free_place(std::int64_t bytes) const {
  const Block& kept = blocks_[newest_block()];
  if (kept.bytes == 0 || payloads_at + bytes <= kept.offset) return payloads_at;
  return rounded_up(kept.offset + kept.bytes, boundary);
}

void Journal::commit(std::int64_t epoch, ByteView payload) {
  if (epoch != newest() + 1)
    throw Error(ExitCode::bug, "epoch " + std::to_string(epoch) + " cannot follow epoch " + std::to_string(newest()) +
                                   " in the journal '" + path_ + "'");
  const std::size_t which = 1 - newest_block();
  Block block;
  block.epoch = epoch;
  block.bytes = static_cast<std::int64_t>(payload.size());
  block.offset = free_place(block.bytes);
  block.checksum = crc32c(payload.data(), block.bytes);
  blocks_[which] = Block{};
  write(payload.data(), block.bytes, block.offset);
  flush();
  write_header(which, block);
  flush();
  blocks_[which] = block;
}

void Journal::roll_back(std::int64_t epoch) {
  const std::size_t newer = 1 - block_of(epoch);
  if (blocks_[newer].epoch >= 0 && blocks_[newer].epoch < epoch) return;
  const Header none{};
  blocks_[newer] = Block{};
  write(none.data(), sizeof none, header_place(newer));
  flush();
}

void Journal::write(const void* from, std::int64_t bytes, std::int64_t offset) {
  if (!write_whole(*file_, from, bytes, offset)) fail("write", path_);
}

void Journal::write_header(std::size_t which, const Block& block) {
  Header header{};
  header[magic_word] = magic;
  header[format_word] = format;
  header[epoch_word] = static_cast<std::uint64_t>(block.epoch);
  header[offset_word] = static_cast<std::uint64_t>(block.offset);
  header[bytes_word] = static_cast<std::uint64_t>(block.bytes);
  header[payload_word] = block.checksum;
  header[header_word] = header_checksum(header);
  write(header.data(), sizeof header, header_place(which));
}

void Journal::flush() {
  if (file_->flush() != 0) fail("flush", path_);
}

}  // namespace hindsight
