#include "io/results/misfits_file.hpp"

#include <algorithm>
#include <utility>

#include "adjoint/objective/traces.hpp"

namespace hindsight {
namespace {

const char* const file_name = "misfits.h5";

}  // namespace

/// An open group, into which datasets go.
class MisfitsFile::Group {
 public:
  Group(const Hdf5File& file, const std::string& name, const std::string& path) : path_(path) {
    Hdf5Properties links(H5Pcreate(H5P_LINK_CREATE), "prepare", path_);
    check_hdf5(H5Pset_create_intermediate_group(links, 1), "prepare", path_);
    group_ = Hdf5Group(H5Gcreate2(file, name.c_str(), links, timeless(H5P_GROUP_CREATE, path_), H5P_DEFAULT),
                       "create group " + name + " in", path_);
  }
  void write(const std::string& name, const std::vector<hsize_t>& sizes, const std::vector<double>& values) const {
    const Hdf5Dataset dataset = make_dataset(group_, name, H5T_NATIVE_DOUBLE, space_of(sizes, path_),
                                             timeless(H5P_DATASET_CREATE, path_), path_);
    write_all(dataset, H5T_NATIVE_DOUBLE, values.data(), path_);
  }
  void describe(const std::string& name, const std::string& text) const {
    write_text_attribute(group_, name, text, path_);
  }

 private:
  const std::string& path_;
  Hdf5Group group_;
};

MisfitsFile::MisfitsFile(const RunFolder& folder, std::size_t axes)
    : folder_(folder), path_(folder.partial(file_name)), axes_(axes) {
  folder_.hold([&] {
    folder_.communicator().on_root([&] {
      file_ = Hdf5File(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, timeless(H5P_FILE_CREATE, path_), H5P_DEFAULT), "create",
                       path_);
    });
  });
}

std::string MisfitsFile::group(const std::string& shot, std::size_t misfit) {
  return (shot.empty() ? "/" : "/" + shot + "/") + std::to_string(misfit);
}

void MisfitsFile::write(const std::string& name, const Values& values) {
  const std::vector<PointObservation>& all = values.observations;
  const auto traces = traces_in(all);
  const std::size_t times = traces ? traces->times : all.size(), places = traces ? traces->places : all.size();
  const std::size_t step = traces ? traces->places : 1;  // from one time to the next
  const std::vector<hsize_t> shape =
      traces ? std::vector<hsize_t>{times, places} : std::vector<hsize_t>{static_cast<hsize_t>(all.size())};
  /// A number of each of the first observations, or of every step'th.
  const auto numbers = [&](std::size_t count, std::size_t every, const auto& of) {
    std::vector<double> list;
    for (std::size_t i = 0; i < count; ++i) list.push_back(of(all[i * every]));
    return list;
  };
  folder_.communicator().on_root([&] {
    const Group group(file_, name, path_);
    group.describe("of", values.of);
    group.write("simulated", shape, values.simulated);
    group.write("observed", shape, numbers(all.size(), 1, [](const PointObservation& o) { return o.value; }));
    group.write("times", {times}, numbers(times, step, [](const PointObservation& o) { return o.time; }));
    group.write("noise", {places},
                numbers(places, 1, [&](const PointObservation& o) { return o.noise > 0.0 ? o.noise : values.noise; }));
    const std::vector<double> weights = numbers(all.size(), 1, [](const PointObservation& o) { return o.weight; });
    if (std::ranges::any_of(weights, [](double w) { return w != 1.0; })) group.write("weights", shape, weights);
    const auto write_filtered = [&](const std::string& dataset, std::vector<double> list) {
      if (values.filter(list)) group.write(dataset, shape, list);
    };
    write_filtered("simulated_filtered", values.simulated);
    write_filtered("observed_filtered", numbers(all.size(), 1, [](const PointObservation& o) { return o.value; }));
    std::vector<double> coordinates;
    for (std::size_t p = 0; p < places; ++p)
      coordinates.insert(coordinates.end(), all[p].at.begin(), all[p].at.begin() + static_cast<std::ptrdiff_t>(axes_));
    if (axes_ > 0) group.write("places", {places, axes_}, coordinates);
  });
}

void MisfitsFile::finish() {
  folder_.communicator().on_root([&] { file_.close(path_); });
  folder_.publish(file_name);
}

}  // namespace hindsight
