// HDF5 identifiers that close themselves, and calls that throw.
#pragma once

#include <hdf5.h>
#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

namespace hindsight {

/// From now on HDF5 prints none of its errors in this process: they are thrown.
void print_no_hdf5_errors();
/// @throws ResourceError with what was tried, the file, and HDF5's own reason.
[[noreturn]] void fail_hdf5(const std::string& what, const std::string& file);
void check_hdf5(herr_t status, const std::string& what, const std::string& file);

/// Owns one identifier; `Close` is its closing function.
template <herr_t (*Close)(hid_t)>
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  /// @throws ResourceError when `id` is negative: the call that made it failed.
  Hdf5Handle(hid_t id, const std::string& what, const std::string& file) : id_(id) {
    if (id < 0) fail_hdf5(what, file);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Hdf5Handle() {
    if (id_ >= 0) Close(id_);
  }
  operator hid_t() const { return id_; }
  bool is_open() const { return id_ >= 0; }
  void close(const std::string& file) {
    if (id_ >= 0 && Close(std::exchange(id_, -1)) < 0) fail_hdf5("close", file);
  }

 private:
  hid_t id_ = -1;
};

using Hdf5File = Hdf5Handle<H5Fclose>;
using Hdf5Dataset = Hdf5Handle<H5Dclose>;
using Hdf5Group = Hdf5Handle<H5Gclose>;
using Hdf5Space = Hdf5Handle<H5Sclose>;
using Hdf5Properties = Hdf5Handle<H5Pclose>;
using Hdf5Attribute = Hdf5Handle<H5Aclose>;
using Hdf5Type = Hdf5Handle<H5Tclose>;

/// A dataspace of these sizes, slowest axis first. @throws ResourceError, as all below.
Hdf5Space space_of(const std::vector<hsize_t>& sizes, const std::string& file);
std::vector<hsize_t> sizes_of(hid_t dataset, const std::string& file);
/// "9 x 11".
std::string shape_text(const std::vector<hsize_t>& sizes);
Hdf5Dataset open_dataset(hid_t file, const std::string& name, const std::string& path);
/// @param how as lay_in_place() or others prepared it.
Hdf5Dataset make_dataset(hid_t file, const std::string& name, hid_t stored, const Hdf5Space& space, hid_t how,
                         const std::string& path);
/// To create a file, a group or a dataset (H5P_FILE_CREATE and the like) without the times of creation and change:
/// equal runs leave equal files.
Hdf5Properties timeless(hid_t kind, const std::string& file);
/// Datasets that are made so are contiguous, have their place in the file at once, and are never filled.
void lay_in_place(const Hdf5Properties& how, const std::string& file);
void write_all(hid_t dataset, hid_t native, const void* values, const std::string& file);
void write_text_attribute(hid_t where, const std::string& name, const std::string& text, const std::string& file);
/// Before MPI_Init: Open MPI makes a file beside each that is opened by ranks on several nodes, NAME-JOB-PROCESS.lock,
/// for file pointers that ranks share. Nothing here uses these, and after a kill the file would stay. What the
/// environment says already (OMPI_MCA_sharedfp) is left as it is.
void do_without_shared_file_pointers();
/// To open a file through MPI-IO, which takes no lock on it.
Hdf5Properties parallel_access(MPI_Comm comm, const std::string& file);

}  // namespace hindsight
