// What an inversion says: while it goes on, and as results.
#pragma once

#include <string>

#include "src/report.hpp"
#include "src/staged_inversion.hpp"

namespace hindsight {

/// "stage 2 of 3: 4 of 12 shots; D and a are unknown", where there are stages, and the head of a table of iterations.
std::string stage_head(const Session& session, std::size_t stage);
std::string table_line(const InversionIteration& now);
/// First values of unknowns beside what was found.
std::string estimates_text(const Session& session, const UnknownValues& start, const UnknownValues& estimate);

/// convergence.csv
std::string convergence_table(const Case& c, const StagedInversion& inversion);
/// `inversion` of result.json.
Json inversion_result(const Case& c, const StagedInversion& inversion);

}  // namespace hindsight
