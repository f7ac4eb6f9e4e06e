#include "io/hdf5/hdf5_handle.hpp"

#include <algorithm>
#include <cstdlib>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

/// Walked from the called function down, so that the last one kept says most.
herr_t innermost(unsigned, const H5E_error2_t* error, void* reason) {
  if (error->desc != nullptr && *error->desc != '\0') *static_cast<std::string*>(reason) = error->desc;
  return 0;
}

}  // namespace

void print_no_hdf5_errors() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

void fail_hdf5(const std::string& what, const std::string& file) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, innermost, &reason);
  throw ResourceError("cannot " + what + " '" + file + "'" + (reason.empty() ? "" : ": " + reason));
}

void check_hdf5(herr_t status, const std::string& what, const std::string& file) {
  if (status < 0) fail_hdf5(what, file);
}

Hdf5Space space_of(const std::vector<hsize_t>& sizes, const std::string& file) {
  return {H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), "describe a dataset of", file};
}

std::vector<hsize_t> sizes_of(hid_t dataset, const std::string& file) {
  const Hdf5Space space(H5Dget_space(dataset), "read", file);
  std::vector<hsize_t> sizes(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
  check_hdf5(H5Sget_simple_extent_dims(space, sizes.data(), nullptr), "read", file);
  return sizes;
}

std::string shape_text(const std::vector<hsize_t>& sizes) {
  if (sizes.empty()) return "of a single value";
  std::string text;
  for (const hsize_t n : sizes) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text;
}

Hdf5Dataset open_dataset(hid_t file, const std::string& name, const std::string& path) {
  return {H5Dopen2(file, name.c_str(), H5P_DEFAULT), "open dataset " + name + " of", path};
}

Hdf5Dataset make_dataset(hid_t file, const std::string& name, hid_t stored, const Hdf5Space& space, hid_t how,
                         const std::string& path) {
  return {H5Dcreate2(file, name.c_str(), stored, space, H5P_DEFAULT, how, H5P_DEFAULT),
          "create dataset " + name + " in", path};
}

Hdf5Properties timeless(hid_t kind, const std::string& file) {
  Hdf5Properties how(H5Pcreate(kind), "prepare", file);
  check_hdf5(H5Pset_obj_track_times(how, false), "prepare", file);
  return how;
}

void lay_in_place(const Hdf5Properties& how, const std::string& file) {
  check_hdf5(H5Pset_layout(how, H5D_CONTIGUOUS), "prepare", file);
  check_hdf5(H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY), "prepare", file);
  check_hdf5(H5Pset_fill_time(how, H5D_FILL_TIME_NEVER), "prepare", file);
}

void write_all(hid_t dataset, hid_t native, const void* values, const std::string& file) {
  check_hdf5(H5Dwrite(dataset, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "write to", file);
}

void write_text_attribute(hid_t where, const std::string& name, const std::string& text, const std::string& file) {
  const Hdf5Space space(H5Screate(H5S_SCALAR), "describe an attribute of", file);
  const Hdf5Type type(H5Tcopy(H5T_C_S1), "describe an attribute of", file);
  check_hdf5(H5Tset_size(type, std::max<std::size_t>(1, text.size())), "describe an attribute of", file);
  const Hdf5Attribute attribute(H5Acreate2(where, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                                "create an attribute of", file);
  check_hdf5(H5Awrite(attribute, type, text.c_str()), "write an attribute of", file);
}

void do_without_shared_file_pointers() {
  setenv("OMPI_MCA_sharedfp", "sm", 0);  // of what can be chosen, it alone makes no file where the data are
}

Hdf5Properties parallel_access(MPI_Comm comm, const std::string& file) {
  print_no_hdf5_errors();
  Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS), "prepare", file);
  check_hdf5(H5Pset_fapl_mpio(access, comm, MPI_INFO_NULL), "open", file);
  return access;
}

}  // namespace hindsight
