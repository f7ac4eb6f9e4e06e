// The tables that misfits read and `observe` writes.
#pragma once

#include <string>
#include <vector>

#include "adjoint/problem/problem_text.hpp"

namespace hindsight {

/// Traces: a dataset of HDF5 of so many times by places. @throws MissingFile; InputError when it has another shape, or
/// a value is not finite.
std::vector<double> read_trace_values(const std::string& file, const std::string& dataset, std::size_t times,
                                      std::size_t places);

/// What `values`, parallel to the misfit's observations, would have been read from. @throws ResourceError
void write_observations(const TermText& misfit, const std::vector<double>& values);

}  // namespace hindsight
