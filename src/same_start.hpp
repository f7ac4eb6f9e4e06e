// Ranks compare what they were started with before they wait for each other: ranks that do different things would wait
// for ever.
#pragma once

#include "io/case/case.hpp"
#include "runtime/communicator.hpp"
#include "src/options.hpp"

namespace hindsight {

/// Compares the words of the command line, the program, and the variables of the environment that change what is done:
/// HINDSIGHT_CC, HINDSIGHT_MARCH, PETSC_OPTIONS. The first collective call of all. @throws InputError, on every rank,
/// naming the first rank that differs from rank 0, and in what.
void require_same_start(int argc, char** argv, const Communicator& comm);

/// Reads the case that the options name, with their scratch folder where they name one. What one rank throws, all
/// throw. Collective. @throws InputError when ranks read different ones, as from different disks: with the first line,
/// or the data file, that differs.
/// @param is_to_be_observed see Case.
Case read_same_case(const Options& options, const Communicator& comm, bool is_to_be_observed = false);

}  // namespace hindsight
