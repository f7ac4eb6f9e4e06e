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

/// Calls visit(name of the dataset, in words, sizes, numbers).
template <class Visit>
void for_each_part(const Survey& survey, const std::string& dataset, Visit visit) {
  const auto places = [&](const char* end, const char* what, const Survey::Places& of) {
    visit(dataset + end, what, std::vector<hsize_t>{of.size(), 3}, of.empty() ? nullptr : of.front().data());
  };
  visit(dataset + ".times", "times", std::vector<hsize_t>{survey.times.size()}, survey.times.data());
  places(".places", "places", survey.places);
  places(".sources", "sources", survey.sources);
}

std::string partial_of(const TermText& misfit) {
  return misfit.data + ".partial";
}

/// An entry that a table reads as it is.
std::string quoted(const std::string& entry) {
  if (entry.find_first_of(",\"") == std::string::npos) return entry;
  std::string text = "\"";
  for (const char c : entry) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

void write_numbers(hid_t file, const std::string& name, const std::vector<hsize_t>& sizes, const double* values,
                   const std::string& path) {
  const Hdf5Dataset dataset =
      make_dataset(file, name, H5T_NATIVE_DOUBLE, space_of(sizes, path), timeless(H5P_DATASET_CREATE, path), path);
  write_all(dataset, H5T_NATIVE_DOUBLE, values, path);
}

void write_traces(const std::string& path, const TermText& misfit, const Survey::Places& sources,
                  const std::vector<double>& values) {
  Survey survey{{}, {}, sources};
  for (const PointObservation& o : misfit.observations) {
    if (o.time == misfit.observations.front().time) survey.places.push_back(o.at);
    if (survey.times.empty() || o.time != survey.times.back()) survey.times.push_back(o.time);
  }
  const Hdf5File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, timeless(H5P_FILE_CREATE, path), H5P_DEFAULT), "create",
                      path);
  write_numbers(file, misfit.dataset, {survey.times.size(), survey.places.size()}, values.data(), path);
  for_each_part(survey, misfit.dataset,
                [&](const std::string& name, const char*, const std::vector<hsize_t>& sizes, const double* numbers) {
                  if (sizes.front() > 0) write_numbers(file, name, sizes, numbers, path);
                });
}

/// @throws InputError, ResourceError
void require_survey(hid_t file, const std::string& dataset, const Survey& survey, const std::string& path) {
  for_each_part(
      survey, dataset,
      [&](const std::string& name, const char* what, const std::vector<hsize_t>& sizes, const double* numbers) {
        if (H5Lexists(file, name.c_str(), H5P_DEFAULT) <= 0) return;
        const Hdf5Dataset data = open_dataset(file, name, path);
        bool is_same = sizes_of(data, path) == sizes;
        std::vector<double> there(is_same ? sizes.front() * (sizes.size() > 1 ? sizes[1] : 1) : 0);
        if (is_same)
          check_hdf5(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, there.data()), "read", path);
        double largest = 0.0;
        for (std::size_t i = 0; i < there.size(); ++i) largest = std::max(largest, std::fabs(numbers[i]));
        for (std::size_t i = 0; i < there.size(); ++i)
          is_same = is_same && std::fabs(there[i] - numbers[i]) <= 1e-9 * largest;
        if (!is_same)
          throw InputError(fmt::format("'{}' is of another survey: its {} (dataset '{}') are others than the case's",
                                       path, what, name));
      });
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
    write_numbers(file, name, {values.size()}, values.data(), path);
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

Survey::Places places_of(const std::vector<SourceText>& sources) {
  Survey::Places all;
  for (const SourceText& source : sources)
    for (const SourcePoint& point : source.points) all.push_back(point.at);
  return all;
}

std::vector<double> read_trace_values(const std::string& file, const std::string& dataset, const Survey& survey) {
  const std::size_t times = survey.times.size(), places = survey.places.size();
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
    require_survey(opened, dataset, survey, file);
  } catch (const ResourceError& error) {
    throw InputError(error.what());
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) refuse(fmt::format("time {}, place {} is not finite", i / places, i % places));
  return values;
}

void write_observations(const TermText& misfit, const Survey::Places& sources, const std::vector<double>& values) {
  if (const fs::path folder = fs::path(misfit.data).parent_path(); !folder.empty()) fs::create_directories(folder);
  const std::string partial = partial_of(misfit);
  if (!misfit.places_file.empty()) {
    write_traces(partial, misfit, sources, values);
  } else {
    write_rows(partial, misfit, values);
  }
}

void place_observations(const TermText& misfit) {
  fs::rename(partial_of(misfit), misfit.data);
}

}  // namespace hindsight
