// What a run's misfits have simulated beside what was observed: misfits.h5.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "adjoint/objective/term.hpp"
#include "io/hdf5/hdf5_handle.hpp"
#include "io/results/run_folder.hpp"

namespace hindsight {

/// A group for each misfit, "/0", "/1", in the order of the objective; of shots in groups of their names, "/left/0". In
/// each: simulated and observed, times by places where observations are traces (traces_in()), else a list of rows; the
/// places, one axis after the other; the times; noise, the standard deviation of each trace or row; where some of
/// them are not 1, weights, in the shape of the values; where they are compared filtered, simulated_filtered and
/// observed_filtered. The group's attribute `of` says what was observed. Rank 0
/// writes. Collective. @throws ResourceError, as all here.
class MisfitsFile {
 public:
  /// Creates misfits.h5.partial. @param folder must outlive this. @param axes of the grid; none: an ODE.
  MisfitsFile(const RunFolder& folder, std::size_t axes);
  /// Where a misfit's group is.
  static std::string group(const std::string& shot, std::size_t misfit);
  struct Values {
    std::string of;
    const std::vector<PointObservation>& observations;
    double noise = 1.0;  ///< of those that have none of their own
    const std::vector<double>& simulated;
    /// Filters numbers that are parallel to the observations; @returns whether they are compared so.
    std::function<bool(std::span<double>)> filter;
  };
  void write(const std::string& group, const Values& values);
  /// Gives the file its name.
  void finish();

 private:
  class Group;
  const RunFolder& folder_;
  std::string path_;
  std::size_t axes_;
  Hdf5File file_;  // of rank 0
};

}  // namespace hindsight
