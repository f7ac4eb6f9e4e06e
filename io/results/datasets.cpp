#include "io/results/datasets.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t all_layers = std::numeric_limits<std::int64_t>::max();

/// The slowest one.
std::size_t last_axis(const Grid& grid) {
  return static_cast<std::size_t>(std::max(1, grid.dimensions()) - 1);
}

struct Shape {
  std::vector<hsize_t> global, first, local;
};

/// The grid's shape and this rank's block, slowest axis first; an ODE: one value, held by rank 0.
Shape shape_of(const Grid& grid) {
  Shape s{grid_shape(grid), {}, {}};
  for (int axis = grid.dimensions(); axis-- > 0;) {
    const auto a = static_cast<std::size_t>(axis);
    s.first.push_back(static_cast<hsize_t>(grid.first()[a]));
    s.local.push_back(static_cast<hsize_t>(grid.cells()[a]));
  }
  if (grid.dimensions() == 0) s = {{1}, {0}, {1}};
  return s;
}

void select_block(const Hdf5Space& space, const Shape& shape, const std::string& file) {
  check_hdf5(H5Sselect_hyperslab(space, H5S_SELECT_SET, shape.first.data(), nullptr, shape.local.data(), nullptr),
             "select this rank's part of", file);
}

void select_nothing(const Hdf5Space& space, const std::string& file) {
  check_hdf5(H5Sselect_none(space), "select nothing of", file);
}

std::vector<double> packed(const Grid& grid, ConstCellArray cells) {
  std::vector<double> values(static_cast<std::size_t>(grid.interior().cells()));
  pack_cells(grid, cells, values.data());
  return values;
}

Hdf5Properties collective_transfer(const std::string& file) {
  Hdf5Properties transfer(H5Pcreate(H5P_DATASET_XFER), "prepare", file);
  check_hdf5(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE), "prepare", file);
  return transfer;
}

}  // namespace

std::vector<hsize_t> grid_shape(const Grid& grid) {
  std::vector<hsize_t> sizes;
  for (int axis = grid.dimensions(); axis-- > 0;)
    sizes.push_back(static_cast<hsize_t>(grid.global_cells()[static_cast<std::size_t>(axis)]));
  return sizes;
}

std::vector<double> cell_centres(const Axis& axis) {
  std::vector<double> centres;
  for (std::int64_t i = 0; i < axis.cells; ++i)
    centres.push_back(axis.from + (static_cast<double>(i) + 0.5) * axis.spacing());
  return centres;
}

FieldFile::FieldFile(const RunFolder& folder, const std::string& name, const Grid& grid)
    : folder_(&folder), name_(name), path_(folder.partial(name)), grid_(&grid) {
  const Hdf5Properties access = parallel_access(folder.communicator().handle(), path_);
  const Hdf5Properties how = timeless(H5P_FILE_CREATE, path_);
  folder.hold([&] { file_ = Hdf5File(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, how, access), "create", path_); });
  for (const Axis& axis : grid.axes()) write_numbers("/" + axis.name, cell_centres(axis));
}

FieldFile::FieldFile(const RunFolder& folder, const std::string& name, const Grid& grid, Existing)
    : folder_(&folder), name_(name), path_(folder.partial(name)), grid_(&grid) {
  const Hdf5Properties access = parallel_access(folder.communicator().handle(), path_);
  folder.hold([&] {
    folder.flush_partial(name);  // opened by every rank, or refused by all, before HDF5 opens it on all at once
    file_ = Hdf5File(H5Fopen(path_.c_str(), H5F_ACC_RDWR, access), "open", path_);
  });
}

Hdf5Dataset FieldFile::create(const std::string& path, const Part& part, hid_t stored, bool in_place) {
  Hdf5Properties links(H5Pcreate(H5P_LINK_CREATE), "prepare", path_);
  check_hdf5(H5Pset_create_intermediate_group(links, 1), "prepare", path_);
  const Hdf5Properties how = timeless(H5P_DATASET_CREATE, path_);
  if (in_place) lay_in_place(how, path_);
  return {H5Dcreate2(file_, path.c_str(), stored, part.stored, links, how, H5P_DEFAULT),
          "create dataset " + path + " in", path_};
}

void FieldFile::put(Hdf5Dataset dataset, const std::string& path, const Part& part, hid_t native, const void* data) {
  const Hdf5Properties transfer = collective_transfer(path_);
  check_hdf5(H5Dwrite(dataset, native, part.memory, part.stored, transfer, data), "write " + path + " to", path_);
  dataset.close(path_);
}

/// This rank's block of a field, no more than these layers of it; an ODE's value is rank 0's.
FieldFile::Part FieldFile::part_of_field(std::int64_t layers) const {
  Shape shape = shape_of(*grid_);
  shape.local.front() = std::min(shape.local.front(), static_cast<hsize_t>(layers));
  Part part{space_of(shape.global, path_), space_of(shape.local, path_)};
  select_block(part.stored, shape, path_);
  if (grid_->dimensions() == 0) leave_to_root(part);
  return part;
}

FieldFile::Part FieldFile::part_of_list(std::size_t count) const {
  Part part{space_of({count}, path_), space_of({count}, path_)};
  leave_to_root(part);
  return part;
}

void FieldFile::leave_to_root(const Part& part) const {
  if (folder_->communicator().is_root()) return;
  select_nothing(part.stored, path_);
  select_nothing(part.memory, path_);
}

void FieldFile::write_field(const std::string& path, const std::vector<double>& owned) {
  folder_->communicator().together([&] {
    const Part part = part_of_field(all_layers);
    put(create(path, part, H5T_IEEE_F64LE), path, part, H5T_NATIVE_DOUBLE, owned.data());
  });
}

void FieldFile::write_numbers(const std::string& path, const std::vector<double>& values) {
  folder_->communicator().together([&] {
    const Part part = part_of_list(values.size());
    put(create(path, part, H5T_IEEE_F64LE), path, part, H5T_NATIVE_DOUBLE, values.data());
  });
}

void FieldFile::overwrite_field(const std::string& path, ConstCellArray cells) {
  overwrite_layers(path, all_layers, [&] { return packed(*grid_, cells); });
}

void FieldFile::overwrite_part(const std::string& path, std::int64_t parts) {
  const std::int64_t all = grid_->cells()[last_axis(*grid_)], layers = std::max<std::int64_t>(1, all / parts);
  overwrite_layers(path, layers, [&] {
    return std::vector<double>(static_cast<std::size_t>(grid_->interior().cells() / all * layers));
  });
}

/// What can fail on one rank, making the values, comes before what all do at once.
void FieldFile::overwrite_layers(const std::string& path, std::int64_t layers,
                                 const std::function<std::vector<double>()>& values) {
  std::vector<double> owned;
  folder_->communicator().together([&] { owned = values(); });
  folder_->communicator().together(
      [&] { put(open_dataset(file_, path, path_), path, part_of_field(layers), H5T_NATIVE_DOUBLE, owned.data()); });
}

/// By rank 0 alone.
void FieldFile::overwrite_elements(const std::string& path, std::size_t first, std::size_t count, hid_t native,
                                   const void* values) {
  folder_->communicator().on_root([&] {
    Hdf5Dataset dataset = open_dataset(file_, path, path_);
    const Part part{Hdf5Space(H5Dget_space(dataset), "describe a dataset of", path_), space_of({count}, path_)};
    select_block(part.stored, {{}, {first}, {count}}, path_);
    check_hdf5(H5Dwrite(dataset, native, part.memory, part.stored, H5P_DEFAULT, values), "write " + path + " to",
               path_);
    dataset.close(path_);
  });
}

void FieldFile::overwrite_numbers(const std::string& path, std::size_t first, const std::vector<double>& values) {
  overwrite_elements(path, first, values.size(), H5T_NATIVE_DOUBLE, values.data());
}

void FieldFile::overwrite_integers(const std::string& path, std::size_t first,
                                   const std::vector<std::int64_t>& values) {
  overwrite_elements(path, first, values.size(), H5T_NATIVE_INT64, values.data());
}

FieldFile::Part FieldFile::part_of_row(const Rows& rows, std::int64_t row) const {
  Shape shape = rows.numbers == 0 ? shape_of(*grid_) : Shape{{rows.numbers}, {0}, {rows.numbers}};
  Hdf5Space memory = space_of(shape.local, path_);
  if (rows.numbers == 1) shape = {};  // a number a row
  shape.global.insert(shape.global.begin(), static_cast<hsize_t>(rows.count));
  shape.first.insert(shape.first.begin(), static_cast<hsize_t>(row));
  shape.local.insert(shape.local.begin(), 1);
  Part part{space_of(shape.global, path_), std::move(memory)};
  select_block(part.stored, shape, path_);
  if (rows.numbers > 0) leave_to_root(part);
  return part;
}

void FieldFile::make_rows(const Rows& rows, const std::string& dimensions) {
  folder_->communicator().together([&] {
    Hdf5Dataset dataset = create(rows.path, part_of_row(rows, 0), H5T_IEEE_F64LE, true);
    write_text_attribute(dataset, "dimensions", dimensions, path_);
    dataset.close(path_);
  });
}

void FieldFile::overwrite_row(const Rows& rows, std::int64_t row, const std::vector<double>& values) {
  folder_->communicator().together([&] {
    put(open_dataset(file_, rows.path, path_), rows.path, part_of_row(rows, row), H5T_NATIVE_DOUBLE, values.data());
  });
}

std::vector<double> FieldFile::read_row(const Rows& rows, std::int64_t row) {
  std::vector<double> values;
  folder_->communicator().together([&] {
    values.resize(rows.numbers > 0 ? rows.numbers : static_cast<std::size_t>(grid_->interior().cells()));
    const Part part = part_of_row(rows, row);
    const Hdf5Dataset dataset = open_dataset(file_, rows.path, path_);
    check_hdf5(H5Dread(dataset, H5T_NATIVE_DOUBLE, part.memory, part.stored, collective_transfer(path_), values.data()),
               "read " + rows.path + " of", path_);
  });
  return values;
}

void FieldFile::make_integers(const std::string& path, const std::vector<std::int64_t>& values) {
  folder_->communicator().together([&] {
    const Part part = part_of_list(values.size());
    put(create(path, part, H5T_STD_I64LE, true), path, part, H5T_NATIVE_INT64, values.data());
  });
}

void FieldFile::flush() {
  folder_->communicator().together([&] { check_hdf5(H5Fflush(file_, H5F_SCOPE_GLOBAL), "flush", path_); });
  folder_->flush_partial(name_);
}

void FieldFile::close() {
  file_.close(path_);
}

void FieldFile::finish() {
  close();
  folder_->publish(name_);
}

namespace {

/// This rank's block of a dataset.
std::vector<double> read_block(const std::string& file, const std::string& dataset, const Grid& grid) {
  print_no_hdf5_errors();
  const Shape shape = shape_of(grid);
  const hid_t opened = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (opened < 0) throw InputError("cannot open '" + file + "' as an HDF5 file");
  const Hdf5File handle(opened, "open", file);
  const hid_t found = H5Dopen2(handle, dataset.c_str(), H5P_DEFAULT);
  if (found < 0) throw InputError("'" + file + "' has no dataset '" + dataset + "'");
  const Hdf5Dataset data(found, "open", file);
  const Hdf5Type type(H5Dget_type(data), "read", file);
  if (const H5T_class_t kind = H5Tget_class(type); kind != H5T_FLOAT && kind != H5T_INTEGER)
    throw InputError("dataset '" + dataset + "' of '" + file + "' does not hold numbers");
  const std::vector<hsize_t> sizes = sizes_of(data, file);
  if (sizes != shape.global)
    throw InputError("dataset '" + dataset + "' of '" + file + "' has shape " + shape_text(sizes) + ", the grid " +
                     shape_text(shape.global) + " (slowest axis first)");
  const Hdf5Space space = space_of(shape.global, file), memory = space_of(shape.local, file);
  select_block(space, shape, file);
  std::vector<double> values(static_cast<std::size_t>(grid.interior().cells()));
  check_hdf5(H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values.data()), "read " + dataset + " of",
             file);
  return values;
}

/// @throws InputError naming the first value that is not finite, and its place.
void require_finite(const std::vector<double>& values, const std::string& file, const std::string& dataset,
                    const Grid& grid) {
  const auto bad = std::find_if(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  const Index3& n = grid.cells();
  const std::int64_t at = bad - values.begin();
  const Index3 cell{at % n[0], at / n[0] % n[1], at / n[0] / n[1]};
  std::string index, place;
  for (int axis = grid.dimensions(); axis-- > 0;) {
    const auto a = static_cast<std::size_t>(axis);
    index += fmt::format("{}{}", index.empty() ? "" : ", ", grid.first()[a] + cell[a]);
    place = fmt::format("{} = {:.6g}{}", grid.axes()[a].name, grid.coordinates(axis)[cell[a]],
                        place.empty() ? "" : ", " + place);
  }
  throw InputError(fmt::format("dataset '{}' of '{}' holds {} at [{}] ({})", dataset, file, *bad, index, place));
}

}  // namespace

void read_field(const std::string& file, const std::string& dataset, const Grid& grid, double* cells) {
  std::vector<double> values;
  grid.communicator().together([&] {
    values = read_block(file, dataset, grid);
    require_finite(values, file, dataset, grid);
  });
  unpack_cells(grid, values.data(), CellArray(cells));
}

}  // namespace hindsight
