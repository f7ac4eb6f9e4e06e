#include "io/results/output_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "io/results/datasets.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

constexpr std::size_t number_bytes = 8;
constexpr std::int64_t described_bytes = 190;  // of a dataset, as measured with HDF5 1.10: at most 182, with three axes

/// For one process. The bounds exclude formats that mark a file as open for writing.
Hdf5Properties access_to(const std::string& path) {
  Hdf5Properties access = parallel_access(MPI_COMM_SELF, path);
  check_hdf5(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18), "prepare", path);
  check_hdf5(H5Pset_small_data_block_size(access, 0), "prepare", path);
  return access;
}

Hdf5Properties in_place(const std::string& path) {
  Hdf5Properties how = timeless(H5P_DATASET_CREATE, path);
  lay_in_place(how, path);
  check_hdf5(H5Pset_dset_no_attrs_hint(how, true), "prepare", path);
  return how;
}

std::vector<double> read_all(hid_t file, const std::string& name, const Grid& grid, const std::string& path) {
  std::vector<double> values(static_cast<std::size_t>(grid.total_cells()));
  const Hdf5Dataset dataset = open_dataset(file, name, path);
  check_hdf5(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "read", path);
  return values;
}

void remove_dataset(hid_t file, const std::string& name, const std::string& path) {
  check_hdf5(H5Ldelete(file, name.c_str(), H5P_DEFAULT), "remove dataset " + name + " of", path);
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw ResourceError("cannot go on with '" + path + "': " + why);
}

Hdf5Dataset require_dataset(hid_t file, const std::string& name, hid_t stored, const std::vector<hsize_t>& sizes,
                            const std::string& path) {
  const hid_t found = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  if (found < 0) refuse(path, "it has no dataset '" + name + "'");
  Hdf5Dataset dataset(found, "open", path);
  if (const std::vector<hsize_t> there = sizes_of(dataset, path); there != sizes)
    refuse(path, "dataset '" + name + "' has shape " + shape_text(there) + ", not " + shape_text(sizes));
  const Hdf5Type type(H5Dget_type(dataset), "read", path);
  if (H5Tequal(type, stored) <= 0 || H5Dget_offset(dataset) == HADDR_UNDEF)
    refuse(path, "dataset '" + name + "' is not stored as outputs are");
  return dataset;
}

}  // namespace

OutputLayout::OutputLayout(const Grid& grid, std::vector<std::string> fields, std::int64_t most)
    : grid_(grid), fields_(std::move(fields)), most_(most) {}

std::string OutputLayout::dataset(std::size_t field, std::int64_t i) const {
  return fmt::format("/{}/{:06}", fields_[field], i);
}

/// Enough that all of it comes before the data. Were it too little, a file that is cut would keep more of its length.
std::int64_t OutputLayout::bytes_of_description() const {
  const auto fields = static_cast<std::int64_t>(fields_.size());
  return 4096 + 3072 * fields + (is_ode() ? 0 : described_bytes * fields * most_);
}

/// Whether a file cut after `count` outputs would be longer for datasets that it had than for those that it has.
bool OutputLayout::is_mostly_description(std::int64_t count) const {
  return !is_ode() && described_bytes * (most_ - count) > 8 * grid_.total_cells() * count;
}

std::vector<OutputLayout::List> OutputLayout::lists(const OutputsWritten& written) const {
  std::vector<List> all{{"/times", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, written.times.data()},
                        {"/steps", H5T_STD_I64LE, H5T_NATIVE_INT64, written.steps.data()}};
  for (std::size_t f = 0; f < fields_.size() && is_ode(); ++f)
    all.push_back({"/" + fields_[f], H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
                   f < written.values.size() ? written.values[f].data() : nullptr});
  return all;
}

void OutputLayout::make(const std::string& path) const {
  const Hdf5Properties access = access_to(path);
  check_hdf5(H5Pset_meta_block_size(access, static_cast<hsize_t>(bytes_of_description())), "prepare", path);
  Hdf5File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, timeless(H5P_FILE_CREATE, path), access), "create", path);
  const Hdf5Properties how = in_place(path), group = timeless(H5P_GROUP_CREATE, path);
  for (const Axis& axis : grid_.axes()) {
    const Hdf5Space space = space_of({static_cast<hsize_t>(axis.cells)}, path);
    const Hdf5Dataset centres = make_dataset(file, "/" + axis.name, H5T_IEEE_F64LE, space, how, path);
    write_all(centres, H5T_NATIVE_DOUBLE, cell_centres(axis).data(), path);
  }
  for (std::size_t f = 0; f < fields_.size() && !is_ode(); ++f)
    Hdf5Group(H5Gcreate2(file, fields_[f].c_str(), H5P_DEFAULT, group, H5P_DEFAULT), "create a group in", path);
  const Hdf5Space cells = space_of(grid_shape(grid_), path), list = space_of({static_cast<hsize_t>(most_)}, path);
  for (std::int64_t i = 0; i < most_ && !is_ode(); ++i)
    for (std::size_t f = 0; f < fields_.size(); ++f)
      make_dataset(file, dataset(f, i), H5T_IEEE_F64LE, cells, how, path);
  for (const List& l : lists({})) make_dataset(file, l.path, l.stored, list, how, path);
  file.close(path);
}

void OutputLayout::require(const std::string& path, const OutputsWritten& written) const {
  const std::size_t count = written.steps.size();
  const bool is_whole = written.times.size() == count && written.values.size() == (is_ode() ? fields_.size() : 0) &&
                        std::all_of(written.values.begin(), written.values.end(),
                                    [&](const std::vector<double>& v) { return v.size() == count; });
  if (!is_whole || static_cast<std::int64_t>(count) > most_)
    refuse(path, "what is known of its outputs is not of this run");
  const Hdf5Properties access = access_to(path);
  const hid_t opened = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access);
  if (opened < 0) fail_hdf5("go on with", path);
  const Hdf5File file(opened, "open", path);
  for (const List& list : lists(written)) require_list(file, list, count, path);
  require_fields(file, path);
}

void OutputLayout::require_fields(hid_t file, const std::string& path) const {
  const std::vector<hsize_t> cells = grid_shape(grid_);
  for (const Axis& axis : grid_.axes())
    require_dataset(file, "/" + axis.name, H5T_IEEE_F64LE, {static_cast<hsize_t>(axis.cells)}, path);
  for (std::int64_t i = 0; i < most_ && !is_ode(); ++i)
    for (std::size_t f = 0; f < fields_.size(); ++f) require_dataset(file, dataset(f, i), H5T_IEEE_F64LE, cells, path);
}

void OutputLayout::require_list(hid_t file, const List& list, std::size_t count, const std::string& path) const {
  const Hdf5Dataset dataset = require_dataset(file, list.path, list.stored, {static_cast<hsize_t>(most_)}, path);
  std::vector<char> there(number_bytes * static_cast<std::size_t>(most_));
  check_hdf5(H5Dread(dataset, list.native, H5S_ALL, H5S_ALL, H5P_DEFAULT, there.data()), "read " + list.path + " of",
             path);
  if (count > 0 && std::memcmp(there.data(), list.values, number_bytes * count) != 0)
    refuse(path, "its " + list.path.substr(1) + " are not those that were written");
}

/// The lists are made again, shorter, behind the last field.
void OutputLayout::cut(hid_t file, const OutputsWritten& written, const std::string& path) const {
  const auto count = static_cast<std::int64_t>(written.steps.size());
  for (const List& list : lists(written)) remove_dataset(file, list.path, path);
  for (std::int64_t i = most_; i-- > count && !is_ode();)
    for (std::size_t f = fields_.size(); f-- > 0;) remove_dataset(file, dataset(f, i), path);
  const Hdf5Space space = space_of({static_cast<hsize_t>(count)}, path);
  const Hdf5Properties how = in_place(path);
  for (const List& list : lists(written))
    write_all(make_dataset(file, list.path, list.stored, space, how, path), list.native, list.values, path);
}

/// For few numbers: they are all held in memory.
void OutputLayout::make_again(const std::string& path, const OutputsWritten& written) const {
  const auto count = static_cast<std::int64_t>(written.steps.size());
  const OutputLayout exact(grid_, fields_, count);
  std::map<std::string, std::vector<double>> kept;
  const Hdf5Properties access = access_to(path);
  Hdf5File file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), "open", path);
  for (std::int64_t i = 0; i < count; ++i)
    for (std::size_t f = 0; f < fields_.size(); ++f) kept[dataset(f, i)] = read_all(file, dataset(f, i), grid_, path);
  file.close(path);
  exact.make(path);
  file = Hdf5File(H5Fopen(path.c_str(), H5F_ACC_RDWR, access), "open", path);
  for (const auto& [name, values] : kept)
    write_all(open_dataset(file, name, path), H5T_NATIVE_DOUBLE, values.data(), path);
  for (const List& list : lists(written))
    write_all(open_dataset(file, list.path, path), list.native, list.values, path);
  file.close(path);
}

void OutputLayout::finish(const std::string& path, const OutputsWritten& written, const std::string& case_name) const {
  const auto count = static_cast<std::int64_t>(written.steps.size());
  const bool is_made_again = is_mostly_description(count);
  if (is_made_again) make_again(path, written);
  const Hdf5Properties access = access_to(path);
  Hdf5File file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access), "open", path);
  if (!is_made_again && count < most_) cut(file, written, path);
  // An earlier process may have come so far.
  if (H5Aexists(file, "case") <= 0) write_text_attribute(file, "case", case_name, path);
  file.close(path);
}

}  // namespace hindsight
