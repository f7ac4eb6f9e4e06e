#include "io/case/observations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "io/case/csv.hpp"
#include "io/case/text_file.hpp"
#include "io/hdf5/hdf5_handle.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

/// An entry that a table reads as it is.
std::string quoted(const std::string& entry) {
  if (entry.find_first_of(",\"") == std::string::npos) return entry;
  std::string text = "\"";
  for (const char c : entry) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

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

/// As the table has its rows; observations are sorted by time, those beyond the run's ends having been moved there.
std::vector<double> in_rows(const Table& table, const TermText& misfit, const std::vector<double>& values) {
  const std::vector<double> times = table.numbers(misfit.time_column);
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), 0);
  const double first = misfit.observations.front().time, last = misfit.observations.back().time;
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return std::clamp(times[row], first, last); });
  std::vector<double> rows(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) rows[order[i]] = values[i];
  return rows;
}

/// The table that is there with other values; its other columns stay as they are.
void write_text_rows(const std::string& path, const Table& table, const TermText& misfit,
                     const std::vector<double>& rows) {
  std::vector<std::string> names = table.names();
  const auto value = static_cast<std::size_t>(std::ranges::find(names, misfit.value_column) - names.begin());
  if (value == names.size()) names.push_back(misfit.value_column);
  std::ofstream file(path);
  file << fmt::format("{}\n", fmt::join(names, ","));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::vector<std::string> entries;
    for (std::size_t c = 0; c < names.size(); ++c)
      entries.push_back(c == value ? fmt::format("{:.17g}", rows[row]) : quoted(table.text(row, c)));
    file << fmt::format("{}\n", fmt::join(entries, ","));
  }
  file.close();
  if (!file) throw ResourceError("cannot write '" + path + "'");
}

void write_hdf5_rows(const std::string& path, const Table& table, const TermText& misfit,
                     const std::vector<double>& rows) {
  const Hdf5File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, timeless(H5P_FILE_CREATE, path), H5P_DEFAULT), "create",
                      path);
  const auto write = [&](const std::string& name, const std::vector<double>& values) {
    write_all(make_dataset(file, name, H5T_NATIVE_DOUBLE, space_of({values.size()}, path),
                           timeless(H5P_DATASET_CREATE, path), path),
              H5T_NATIVE_DOUBLE, values.data(), path);
  };
  for (const std::string& name : table.names())
    if (name != misfit.value_column) write(name, table.numbers(name));
  write(misfit.value_column, rows);
}

void write_rows(const std::string& path, const TermText& misfit, const std::vector<double>& values) {
  const Table table(misfit.data);
  const std::vector<double> rows = in_rows(table, misfit, values);
  table.is_hdf5() ? write_hdf5_rows(path, table, misfit, rows) : write_text_rows(path, table, misfit, rows);
}

}  // namespace

std::vector<double> read_trace_values(const std::string& file, const std::string& dataset, std::size_t times,
                                      std::size_t places) {
  require_regular_file(file, "an HDF5 file");
  const auto refuse = [&](const std::string& why) {
    throw InputError("'" + file + "', dataset '" + dataset + "': " + why);
  };
  std::vector<double> values(times * places);
  print_no_hdf5_errors();
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
