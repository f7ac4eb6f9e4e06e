#include "io/results/datasets.hpp"

#include <mpi.h>

#include <algorithm>

#include "src/error.hpp"

namespace hindsight {
namespace {

/// Walked from the called function down, so that the last one kept says most.
herr_t innermost(unsigned, const H5E_error2_t* error, void* reason) {
  if (error->desc != nullptr && *error->desc != '\0') *static_cast<std::string*>(reason) = error->desc;
  return 0;
}

void check(herr_t status, const std::string& what, const std::string& file) {
  if (status < 0) fail_hdf5(what, file);
}

struct Shape {
  std::vector<hsize_t> global, first, local;
};

/// The grid's shape and this rank's block, slowest axis first; an ODE: one value, held by rank 0.
Shape shape_of(const Grid& grid) {
  Shape s;
  for (int axis = grid.dimensions(); axis-- > 0;) {
    const auto a = static_cast<std::size_t>(axis);
    s.global.push_back(static_cast<hsize_t>(grid.global_cells()[a]));
    s.first.push_back(static_cast<hsize_t>(grid.first()[a]));
    s.local.push_back(static_cast<hsize_t>(grid.cells()[a]));
  }
  if (s.global.empty()) s = {{1}, {0}, {1}};
  return s;
}

Hdf5Space space_of(const std::vector<hsize_t>& sizes, const std::string& file) {
  return {H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), "describe a dataset of", file};
}

void select_block(const Hdf5Space& space, const Shape& shape, const std::string& file) {
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, shape.first.data(), nullptr, shape.local.data(), nullptr),
        "select this rank's part of", file);
}

void select_nothing(const Hdf5Space& space, const std::string& file) {
  check(H5Sselect_none(space), "select nothing of", file);
}

std::vector<double> packed(const Grid& grid, const double* cells) {
  std::vector<double> values;
  const Layout& layout = grid.layout();
  for (std::int64_t k = 0; k < grid.cells()[2]; ++k)
    for (std::int64_t j = 0; j < grid.cells()[1]; ++j) {
      const double* const row = cells + layout.stride_y * j + layout.stride_z * k;
      values.insert(values.end(), row, row + grid.cells()[0]);
    }
  return values;
}

Hdf5Properties parallel_access(const Communicator& comm, const std::string& file) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS), "prepare", file);
  check(H5Pset_fapl_mpio(access, comm.handle(), MPI_INFO_NULL), "open", file);
  return access;
}

Hdf5Properties collective_transfer(const std::string& file) {
  Hdf5Properties transfer(H5Pcreate(H5P_DATASET_XFER), "prepare", file);
  check(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE), "prepare", file);
  return transfer;
}

std::string text_of(const std::vector<hsize_t>& sizes) {
  if (sizes.empty()) return "of a single value";
  std::string text;
  for (const hsize_t n : sizes) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text;
}

}  // namespace

void fail_hdf5(const std::string& what, const std::string& file) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, innermost, &reason);
  throw ResourceError("cannot " + what + " '" + file + "'" + (reason.empty() ? "" : ": " + reason));
}

FieldFile::FieldFile(const RunFolder& folder, const std::string& name, const Grid& grid)
    : folder_(&folder), name_(name), path_(folder.partial(name)), grid_(&grid) {
  const Hdf5Properties access = parallel_access(folder.communicator(), path_);
  file_ = Hdf5File(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), "create", path_);
  for (const Axis& axis : grid.axes()) {
    std::vector<double> centres;
    for (std::int64_t i = 0; i < axis.cells; ++i)
      centres.push_back(axis.from + (static_cast<double>(i) + 0.5) * axis.spacing());
    write_numbers("/" + axis.name, centres);
  }
}

void FieldFile::write(const std::string& path, const Hdf5Space& space, const Hdf5Space& memory, hid_t stored,
                      hid_t native, const void* data) {
  Hdf5Properties links(H5Pcreate(H5P_LINK_CREATE), "prepare", path_);
  check(H5Pset_create_intermediate_group(links, 1), "prepare", path_);
  Hdf5Dataset dataset(H5Dcreate2(file_, path.c_str(), stored, space, links, H5P_DEFAULT, H5P_DEFAULT),
                      "create dataset " + path + " in", path_);
  const Hdf5Properties transfer = collective_transfer(path_);
  check(H5Dwrite(dataset, native, memory, space, transfer, data), "write " + path + " to", path_);
  dataset.close(path_);
}

void FieldFile::write_field(const std::string& path, const double* cells) {
  const Shape shape = shape_of(*grid_);
  Hdf5Space space = space_of(shape.global, path_), memory = space_of(shape.local, path_);
  select_block(space, shape, path_);
  if (grid_->dimensions() == 0 && !folder_->communicator().is_root()) {
    select_nothing(space, path_);
    select_nothing(memory, path_);
  }
  write(path, space, memory, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, packed(*grid_, cells).data());
}

void FieldFile::write_list(const std::string& path, std::size_t count, hid_t stored, hid_t native, const void* data) {
  Hdf5Space space = space_of({count}, path_), memory = space_of({count}, path_);
  if (!folder_->communicator().is_root()) {
    select_nothing(space, path_);
    select_nothing(memory, path_);
  }
  write(path, space, memory, stored, native, data);
}

void FieldFile::write_numbers(const std::string& path, const std::vector<double>& values) {
  write_list(path, values.size(), H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.data());
}

void FieldFile::write_integers(const std::string& path, const std::vector<std::int64_t>& values) {
  write_list(path, values.size(), H5T_STD_I64LE, H5T_NATIVE_INT64, values.data());
}

void FieldFile::write_attribute(const std::string& name, const std::string& value) {
  Hdf5Space space(H5Screate(H5S_SCALAR), "describe an attribute of", path_);
  Hdf5Type type(H5Tcopy(H5T_C_S1), "describe an attribute of", path_);
  check(H5Tset_size(type, std::max<std::size_t>(1, value.size())), "describe an attribute of", path_);
  Hdf5Attribute attribute(H5Acreate2(file_, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                          "create an attribute of", path_);
  check(H5Awrite(attribute, type, value.c_str()), "write an attribute of", path_);
}

void FieldFile::finish() {
  file_.close(path_);
  folder_->publish(name_);
}

void read_field(const std::string& file, const std::string& dataset, const Grid& grid, double* cells) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
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
  const Hdf5Space space(H5Dget_space(data), "read", file);
  std::vector<hsize_t> sizes(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
  check(H5Sget_simple_extent_dims(space, sizes.data(), nullptr), "read", file);
  if (sizes != shape.global)
    throw InputError("dataset '" + dataset + "' of '" + file + "' has shape " + text_of(sizes) + ", the grid " +
                     text_of(shape.global) + " (slowest axis first)");
  const Hdf5Space memory = space_of(shape.local, file);
  select_block(space, shape, file);
  std::vector<double> values(static_cast<std::size_t>(grid.interior().cells()));
  check(H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values.data()), "read " + dataset + " of", file);
  const Layout& layout = grid.layout();
  const double* from = values.data();
  for (std::int64_t k = 0; k < grid.cells()[2]; ++k)
    for (std::int64_t j = 0; j < grid.cells()[1]; ++j, from += grid.cells()[0])
      std::copy_n(from, grid.cells()[0], cells + layout.stride_y * j + layout.stride_z * k);
}

}  // namespace hindsight
