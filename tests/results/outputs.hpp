// Outputs whose values are known, and what a fields.h5 holds.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "io/results/field_writer.hpp"

namespace hindsight::test {

inline const std::vector<std::string> output_fields{"u", "v"};

/// No axes: an ODE. Few enough numbers per output that the last kilobytes of a file belong to several outputs.
inline Grid output_grid(int dimensions, const Communicator& comm) {
  const std::vector<Axis> all = {{"x", 23, 0, 1, true}, {"y", 9, -1, 1, false}, {"z", 7, 0, 3, true}};
  return Grid({all.begin(), all.begin() + dimensions}, comm, {1, 1, 1});
}

/// Output i takes these times.
inline std::int64_t output_step(std::size_t i) {
  return 10 * static_cast<std::int64_t>(i);
}
inline double output_time(std::size_t i) {
  return 0.1 * static_cast<double>(i);
}
inline double output_value(std::size_t field, std::size_t i, std::int64_t cell) {
  return std::sin(1.0 + static_cast<double>(cell) + 1e3 * static_cast<double>(i) + 1e6 * static_cast<double>(field));
}

/// Field `field` of output i on this rank, in the grid's layout.
inline std::vector<double> output_cells(const Grid& grid, std::size_t field, std::size_t i) {
  std::vector<double> memory(static_cast<std::size_t>(grid.layout().size), -1.0);
  const Index3 &n = grid.cells(), &first = grid.first(), &global = grid.global_cells();
  for (std::int64_t z = 0; z < n[2]; ++z)
    for (std::int64_t y = 0; y < n[1]; ++y)
      for (std::int64_t x = 0; x < n[0]; ++x)
        memory[static_cast<std::size_t>(grid.layout().at(x, y, z))] =
            output_value(field, i, first[0] + x + global[0] * (first[1] + y + global[1] * (first[2] + z)));
  return memory;
}

inline void write_output(FieldWriter& writer, const Grid& grid, std::size_t i) {
  const std::vector<double> u = output_cells(grid, 0, i), v = output_cells(grid, 1, i);
  writer.write(output_step(i), output_time(i),
               {ConstCellArray(u.data() + grid.layout().origin), ConstCellArray(v.data() + grid.layout().origin)});
}

/// What a writer says after `count` outputs.
inline OutputsWritten outputs_written(const Grid& grid, std::size_t count) {
  OutputsWritten written;
  if (grid.dimensions() == 0) written.values.resize(output_fields.size());
  for (std::size_t i = 0; i < count; ++i) {
    written.steps.push_back(output_step(i));
    written.times.push_back(output_time(i));
    for (std::size_t f = 0; f < written.values.size(); ++f) written.values[f].push_back(output_value(f, i, 0));
  }
  return written;
}

/// Where a dataset's bytes lie in the file, and what they are.
struct StoredDataset {
  std::size_t offset = 0;
  std::string bytes;
};

inline std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// All datasets of a file by their paths. Of one process. @throws ResourceError when it does not open.
inline std::map<std::string, StoredDataset> datasets_of(const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  struct Visit {
    std::string path, all;
    std::map<std::string, StoredDataset> found;
  } visit{path, file_bytes(path), {}};
  const Hdf5File file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "open", path);
  const auto look = [](hid_t object, const char* name, const H5O_info_t* info, void* data) -> herr_t {
    if (info->type != H5O_TYPE_DATASET) return 0;
    Visit& v = *static_cast<Visit*>(data);
    const Hdf5Dataset dataset(H5Dopen2(object, name, H5P_DEFAULT), "open", v.path);
    const auto bytes = static_cast<std::size_t>(H5Dget_storage_size(dataset));
    const std::size_t offset = bytes > 0 ? static_cast<std::size_t>(H5Dget_offset(dataset)) : 0;
    v.found[std::string("/") + name] = {offset, v.all.substr(offset, bytes)};
    return 0;
  };
  check_hdf5(H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, look, &visit, H5O_INFO_BASIC), "visit", path);
  return visit.found;
}

inline void expect_same_datasets(const std::string& path, const std::string& expected) {
  const auto here = datasets_of(path), there = datasets_of(expected);
  ASSERT_EQ(here.size(), there.size());
  for (const auto& [name, dataset] : there) {
    ASSERT_EQ(here.count(name), 1u) << name;
    EXPECT_TRUE(here.at(name).bytes == dataset.bytes) << name;
  }
}

}  // namespace hindsight::test
