// Readers of the larger sections of a case.
#pragma once

#include <string>

#include "io/case/case.hpp"
#include "io/case/document.hpp"

namespace hindsight {

CaseGrid read_grid(Value grid);
CaseParameter read_parameter(Value parameter, const std::string& name, const std::string& case_path);
/// @param so_far grid, state and time are read already.
CaseTerm read_term(Value term, const Case& so_far);
void read_unknown(Value entry, CaseUnknown& unknown);
CaseCheckpoints read_checkpoints(Value checkpoints, const std::string& case_path);
/// The keys codec, tolerance, accept, then and difference of a tier.
CaseCodec read_codec(Value tier);
CaseInversion read_inversion(Value inversion);

}  // namespace hindsight
