// A wave from shots at two places, heard by three receivers in traces and by a sensor in rows; and datasets of HDF5.
#pragma once

#include <hdf5.h>

#include <map>

#include "tests/program/resumed_run.hpp"

namespace hindsight::test {

class ObservedWave : public Resume {
 protected:
  /// With its tables, in which there are no values yet. @param traces further keys of the first misfit.
  static void write_wave(const std::string& traces = "", const std::string& more = "") {
    write_page(traces, more);
    write_text("receivers.csv", "x,y\n0.21,0.5\n0.5,0.52\n0.8,0.03\n");
    for (const char* const shot : {"left.csv", "right.csv"})
      write_text(shot, "time,x,y,sd\n0.33,0.5,0.5,0.1\n0.51,0.61,0.2,0.2\n");
  }
  static void write_page(const std::string& traces = "", const std::string& more = "") {
    write_text("wave.yaml", R"yaml(
case: wave
grid: {x: {cells: 24, to: 1, boundary: {value: 0}}, y: {cells: 20, to: 1, boundary: {slope: 0}}, order: 4}
parameters: {c: {value: 0.8}, q: {series: {times: [0, 0.1, 0.2, 9], values: [0, 1, 0, 0]}}}
state: {u: {initial: 0}}
equations: {dtt(u): "c^2*lap(u)"}
sources: [{to: u, signal: q, at: {x: 0.3, y: 0.4}, weights: sinc}]
time: {method: leapfrog, step: 0.017, to: 0.85}
shots: [{shot: left}, {shot: right, sources.0.at.x: 0.7}]
objective:
  - misfit: {of: u, at: receivers.csv, every: 0.05, data: "{shot}.h5", noise: 0.01, weights: sinc)yaml" +
                                traces + R"yaml(}
  - misfit: {of: "10*u", data: "{shot}.csv", noise: sd}
unknowns: {c: {}}
)yaml" + more);
  }
  /// A table in HDF5.
  static void write_columns(const std::string& file, const std::map<std::string, std::vector<double>>& columns) {
    const hid_t opened = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (const auto& [name, numbers] : columns) {
      const hsize_t size = numbers.size();
      const hid_t space = H5Screate_simple(1, &size, nullptr);
      const hid_t data =
          H5Dcreate2(opened, name.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      EXPECT_GE(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()), 0) << file;
      H5Dclose(data);
      H5Sclose(space);
    }
    H5Fclose(opened);
  }
  /// Numbers of a dataset; none: it is not there.
  static std::vector<double> numbers(const std::string& file, const std::string& dataset) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    std::vector<double> all;
    const hid_t opened = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t data = H5Dopen2(opened, dataset.c_str(), H5P_DEFAULT);
    if (data >= 0) {
      const hid_t space = H5Dget_space(data);
      all.resize(static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space))));
      EXPECT_GE(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()), 0) << file;
      H5Sclose(space);
      H5Dclose(data);
    }
    H5Fclose(opened);
    return all;
  }
};

}  // namespace hindsight::test
