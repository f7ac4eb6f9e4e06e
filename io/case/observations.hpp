// The tables that misfits read and `observe` writes.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "adjoint/problem/problem_text.hpp"

namespace hindsight {

/// What traces are of. `observe` writes it beside them, as datasets whose names end with .times, .places and .sources.
struct Survey {
  using Places = std::vector<std::array<double, 3>>;
  std::vector<double> times;
  Places places, sources;
};
Survey::Places places_of(const std::vector<SourceText>& sources);

/// Traces: a dataset of HDF5 of times by places. @throws MissingFile; InputError when it has another shape, a value is
/// not finite, or the file says that they are of another survey.
std::vector<double> read_trace_values(const std::string& file, const std::string& dataset, const Survey& survey);

/// What `values`, parallel to the misfit's observations, would have been read from, beside its place; and puts it
/// there.
/// @throws ResourceError
void write_observations(const TermText& misfit, const Survey::Places& sources, const std::vector<double>& values);
void place_observations(const TermText& misfit);

}  // namespace hindsight
