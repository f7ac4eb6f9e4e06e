#include "io/checkpoints/checkpoint_file.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "adjoint/store/codecs/codecs.hpp"
#include "io/hdf5/hdf5_handle.hpp"
#include "runtime/error.hpp"
#include "runtime/rounding.hpp"

namespace hindsight {
namespace {

/// A row of /slots.
struct SlotRow {
  std::int64_t step = -1;
  double time = 0.0;
  std::int64_t first_page = -1, bytes = 0;
  std::uint32_t crc32c = 0, reserved = 0;
  std::int64_t reference_page = -1;
};

Hdf5Type slot_row_type(const std::string& file) {
  Hdf5Type type(H5Tcreate(H5T_COMPOUND, sizeof(SlotRow)), "create a type in", file);
  H5Tinsert(type, "step", offsetof(SlotRow, step), H5T_NATIVE_INT64);
  H5Tinsert(type, "time", offsetof(SlotRow, time), H5T_NATIVE_DOUBLE);
  H5Tinsert(type, "first_page", offsetof(SlotRow, first_page), H5T_NATIVE_INT64);
  H5Tinsert(type, "bytes", offsetof(SlotRow, bytes), H5T_NATIVE_INT64);
  H5Tinsert(type, "crc32c", offsetof(SlotRow, crc32c), H5T_NATIVE_UINT32);
  H5Tinsert(type, "reference_page", offsetof(SlotRow, reference_page), H5T_NATIVE_INT64);
  return type;
}

void write_shape(hid_t where, const StateShape& shape, const std::string& path) {
  std::vector<std::int64_t> values;
  const bool is_uniform = shape.is_uniform() && !shape.arrays.empty();
  if (is_uniform) values.push_back(std::ssize(shape.arrays));
  for (const StateArray& array : shape.arrays) {
    if (!is_uniform) values.push_back(bytes_of(array.element));
    if (!is_uniform || values.size() == 1) values.insert(values.end(), array.cells.rbegin(), array.cells.rend());
  }
  const Hdf5Space space = is_uniform ? space_of({4}, path) : space_of({shape.arrays.size(), 4}, path);
  const Hdf5Attribute attribute(H5Acreate2(where, "shape", H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT),
                                "describe", path);
  if (H5Awrite(attribute, H5T_NATIVE_INT64, values.data()) < 0) fail_hdf5("describe", path);
}

std::int64_t offset_of(hid_t dataset, const std::string& path) {
  const haddr_t offset = H5Dget_offset(dataset);
  if (offset == HADDR_UNDEF) fail_hdf5("find a dataset's place in", path);
  return static_cast<std::int64_t>(offset);
}

/// Empty when there is no such dataset.
std::vector<hsize_t> sizes_if_there(hid_t file, const std::string& name, const std::string& path) {
  if (H5Lexists(file, name.c_str(), H5P_DEFAULT) <= 0) return {};
  return sizes_of(open_dataset(file, name, path), path);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace

CheckpointFile::CheckpointFile(CheckpointFileSettings settings) : settings_(std::move(settings)) {
  try {
    const bool is_new = !settings_.reopens || !find_file();
    if (is_new) make_file();
    data_ = settings_.open(settings_.path, settings_.direct);
    tables_ = data_ ? settings_.open(settings_.path, false) : nullptr;
    if (!tables_) throw ResourceError("cannot open '" + settings_.path + "': " + std::strerror(errno));
    if (data_->reserve(pages_at_, settings_.pages * settings_.page_bytes) != 0) fail("reserve space in", errno);
    if (is_new) fill(slots_at_, settings_.slots, SlotRow());
    if (is_new && links_at_ >= 0) fill(links_at_, settings_.pages, std::int64_t{-1});
  } catch (const ResourceError& error) {
    const bool is_full = !has_room();
    unlink(settings_.path.c_str());
    if (is_full) throw MediumError(error.what(), true);
    throw;
  } catch (...) {
    unlink(settings_.path.c_str());
    throw;
  }
}

/// Whether the file system has room for the pages; true when it does not say.
bool CheckpointFile::has_room() const {
  const std::string::size_type slash = settings_.path.find_last_of('/');
  struct statvfs status {};
  if (statvfs(settings_.path.substr(0, slash + 1).c_str(), &status) != 0) return true;
  return static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize) >
         static_cast<double>(settings_.pages) * static_cast<double>(settings_.page_bytes);
}

CheckpointFile::~CheckpointFile() {
  if (!settings_.keeps) unlink(settings_.path.c_str());
}

/// Whether there is a file with as many slots, and pages of the same size.
bool CheckpointFile::find_file() {
  print_no_hdf5_errors();
  const std::string& path = settings_.path;
  const hid_t opened = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (opened < 0) return false;
  try {
    Hdf5File file(opened, "open", path);
    const std::int64_t word = settings_.codec.empty() ? 8 : 1;
    const std::vector<hsize_t> pages = sizes_if_there(file, "pages", path), slots = sizes_if_there(file, "slots", path);
    const bool is_linked = !sizes_if_there(file, "next_page", path).empty();
    if (pages.size() != 2 || static_cast<std::int64_t>(pages[1]) * word != settings_.page_bytes || slots.size() != 1 ||
        static_cast<std::int64_t>(slots[0]) < settings_.slots ||
        is_linked != (settings_.page_bytes < settings_.shape.bytes()))
      return false;
    settings_.pages = static_cast<std::int64_t>(pages[0]);
    pages_at_ = offset_of(open_dataset(file, "pages", path), path);
    slots_at_ = offset_of(open_dataset(file, "slots", path), path);
    if (is_linked) links_at_ = offset_of(open_dataset(file, "next_page", path), path);
    file.close(path);
    return pages_at_ % transfer_block == 0;
  } catch (const ResourceError&) {
    return false;
  }
}

void CheckpointFile::make_file() {
  print_no_hdf5_errors();
  const std::string& path = settings_.path;
  unlink(path.c_str());
  const Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS), "create properties for", path);
  H5Pset_alignment(access, transfer_block, transfer_block);
  H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
  hid_t created = H5I_INVALID_HID;
  for (int tries = 0; tries < 10 && created < 0; ++tries) {
    std::error_code ignored;  // a process that ends removes the folder while it is empty, perhaps again and again
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    created = H5Fcreate(path.c_str(), H5F_ACC_EXCL, timeless(H5P_FILE_CREATE, path), access);
  }
  Hdf5File file(created, "create", path);
  const bool encoded = !settings_.codec.empty();
  const Hdf5Properties how = timeless(H5P_DATASET_CREATE, path);
  lay_in_place(how, path);
  const auto make = [&](const char* name, hid_t type, const std::vector<hsize_t>& sizes) {
    return make_dataset(file, name, type, space_of(sizes, path), how, path);
  };
  const auto pages = static_cast<hsize_t>(settings_.pages), width = static_cast<hsize_t>(settings_.page_bytes);
  {
    const Hdf5Dataset data = encoded ? make("pages", H5T_NATIVE_UINT8, {pages, width})
                                     : make("pages", H5T_NATIVE_DOUBLE, {pages, width / 8});
    pages_at_ = offset_of(data, path);
    if (pages_at_ % transfer_block != 0) throw Error(ExitCode::bug, "the pages of '" + path + "' are not aligned");
    write_text_attribute(data, "fields", joined(settings_.fields), path);
    write_text_attribute(data, "codec", encoded ? settings_.codec : no_codec, path);
    write_shape(data, settings_.shape, path);
    const Hdf5Type type = slot_row_type(path);
    const Hdf5Dataset slots = make("slots", type, {static_cast<hsize_t>(settings_.slots)});
    slots_at_ = offset_of(slots, path);
    if (settings_.page_bytes < settings_.shape.bytes()) {
      const Hdf5Dataset links = make("next_page", H5T_NATIVE_INT64, {pages});
      links_at_ = offset_of(links, path);
    }
  }
  file.close(path);
}

/// Past HDF5, which would want all rows in memory at once.
template <class Row>
void CheckpointFile::fill(std::int64_t at, std::int64_t rows, const Row& row) {
  constexpr std::int64_t at_once = 1024;
  const std::vector<Row> some(static_cast<std::size_t>(std::min(rows, at_once)), row);
  for (std::int64_t first = 0; first < rows; first += at_once)
    put(at + first * static_cast<std::int64_t>(sizeof(Row)), some.data(),
        static_cast<std::size_t>(std::min(at_once, rows - first)) * sizeof(Row));
}

void CheckpointFile::fail(const std::string& what, int error) const {
  const bool is_full = error == ENOSPC || error == EDQUOT;
  throw MediumError(fmt::format("cannot {} '{}': {}", what, settings_.path, std::strerror(error)), is_full);
}

void CheckpointFile::write(std::int64_t offset, const void* from, std::int64_t bytes) {
  const auto* at = static_cast<const char*>(from);
  int retries = 1;
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t n = data_->write(at + done, static_cast<std::size_t>(bytes - done), pages_at_ + offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EIO && retries-- > 0) continue;
    if (n < 0) fail("write", errno);
    const std::int64_t whole = n / transfer_block * transfer_block;  // what is left begins on a boundary again
    if (whole == 0 && retries-- <= 0) fail("write", EIO);
    done += whole;
  }
}

void CheckpointFile::read(std::int64_t offset, void* to, std::int64_t bytes) {
  auto* at = static_cast<char*>(to);
  int retries = 1;
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t n = data_->read(at + done, static_cast<std::size_t>(bytes - done), pages_at_ + offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EIO && retries-- > 0) continue;
    if (n < 0) fail("read", errno);
    const std::int64_t whole = n / transfer_block * transfer_block;
    if (whole == 0 && retries-- <= 0) fail("read", EIO);
    done += whole;
  }
}

void CheckpointFile::put(std::int64_t offset, const void* from, std::size_t bytes) {
  if (!write_whole(*tables_, from, static_cast<std::int64_t>(bytes), offset)) fail("write", errno);
}

void CheckpointFile::label(std::int64_t slot, const SlotLabel& label) {
  SlotRow row;
  row.step = label.step;
  row.time = settings_.time ? settings_.time(label.step) : 0.0;
  row.first_page = label.first_page;
  row.bytes = label.bytes;
  row.crc32c = label.checksum;
  row.reference_page = label.reference.first_page;
  put(slots_at_ + slot * static_cast<std::int64_t>(sizeof row), &row, sizeof row);
}

void CheckpointFile::link(std::int64_t page, std::int64_t next) {
  put(links_at_ + page * static_cast<std::int64_t>(sizeof next), &next, sizeof next);
}

void CheckpointFile::flush() {
  if (data_->flush() != 0) fail("flush", errno);
}

std::string CheckpointFile::description() const {
  return settings_.path + (data_->is_direct() ? " (past the page cache)" : " (through the page cache)");
}

}  // namespace hindsight
