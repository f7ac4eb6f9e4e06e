#include "io/case/observations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "io/case/text_file.hpp"
#include "io/hdf5/hdf5_handle.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

void write_traces(const std::string& path, const TermText& misfit, const std::vector<double>& values) {
  std::size_t places = 0;  // of the first time
  while (places < values.size() && misfit.observations[places].time == misfit.observations.front().time) ++places;
  const Hdf5File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, timeless(H5P_FILE_CREATE, path), H5P_DEFAULT), "create",
                      path);
  const Hdf5Space space = space_of({values.size() / places, places}, path);
  const Hdf5Dataset dataset =
      make_dataset(file, misfit.dataset, H5T_NATIVE_DOUBLE, space, timeless(H5P_DATASET_CREATE, path), path);
  write_all(dataset, H5T_NATIVE_DOUBLE, values.data(), path);
}

void write_rows(const std::string& path, const TermText& misfit, const std::vector<double>& values) {
  std::ofstream file(path);
  const bool has_noise = misfit.observations.front().noise > 0.0;
  const std::size_t axes = misfit.columns.size() - (has_noise ? 3 : 2);
  file << fmt::format("{}\n", fmt::join(misfit.columns, ","));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const PointObservation& o = misfit.observations[i];
    std::string line = fmt::format("{:.17g}", o.time);
    for (std::size_t a = 0; a < axes; ++a) line += fmt::format(",{:.17g}", o.at[a]);
    line += fmt::format(",{:.17g}", values[i]);
    if (has_noise) line += fmt::format(",{:.17g}", o.noise);
    file << line << "\n";
  }
  file.close();
  if (!file) throw ResourceError("cannot write '" + path + "'");
}

}  // namespace

std::vector<double> read_trace_values(const std::string& file, const std::string& dataset, std::size_t times,
                                      std::size_t places) {
  require_regular_file(file, "an HDF5 file");
  const auto refuse = [&](const std::string& why) {
    throw InputError("'" + file + "', dataset '" + dataset + "': " + why);
  };
  std::vector<double> values(times * places);
  try {
    const Hdf5File opened(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "open", file);
    const Hdf5Dataset data = open_dataset(opened, dataset, file);
    const std::vector<hsize_t> sizes = sizes_of(data, file);
    if (sizes != std::vector<hsize_t>{times, places})
      refuse(fmt::format("it holds {} numbers, and {} x {} are needed: times by places", shape_text(sizes), times,
                         places));
    check_hdf5(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "read", file);
  } catch (const ResourceError& error) {
    throw InputError(error.what());
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) refuse(fmt::format("time {}, place {} is not finite", i / places, i % places));
  return values;
}

void write_observations(const TermText& misfit, const std::vector<double>& values) {
  if (const fs::path folder = fs::path(misfit.data).parent_path(); !folder.empty()) fs::create_directories(folder);
  const std::string partial = misfit.data + ".partial";
  if (!misfit.places_file.empty()) {
    write_traces(partial, misfit, values);
  } else {
    write_rows(partial, misfit, values);
  }
  fs::rename(partial, misfit.data);
}

}  // namespace hindsight
