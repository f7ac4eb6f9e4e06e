// Readers of the larger sections of a case.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/case/case.hpp"
#include "io/case/document.hpp"

namespace hindsight {

GridText read_grid(Value grid);
ParameterText read_parameter(Value parameter, const std::string& name, const std::string& case_path);
/// Into a case whose state and equations are known.
void read_time(Value time, Case& into);
/// @param parameters of the case.
std::vector<EventText> read_events(const Value& events, const std::vector<ParameterText>& parameters);
/// @param so_far grid, parameters, state and time are read already.
std::vector<SourceText> read_sources(const Value& sources, const Case& so_far);
AbsorbText read_absorb(Value absorb, const std::optional<GridText>& grid);
/// The keys weights and shape of sources and misfits.
PointWeights read_point_weights(Value& from, const std::optional<GridText>& grid);
/// A filter of misfits: `{lowpass: 5, order: 4, phase: causal}`.
FilterSpec read_filter(Value filter);
/// @throws InputError with the filter's place unless it can be applied to what a misfit observes.
void require_filterable(const Value& filter, const FilterSpec& spec, const TermText& misfit);
/// The keys `window` and `weight` of a misfit, into its observations. @param column the numbers of a column of the
/// table of its rows or places, one for each observation; none: there is no such column.
void read_misfit_weights(Value& misfit, const Case& so_far,
                         const std::function<std::optional<std::vector<double>>(const std::string& name)>& column,
                         TermText& term);
/// @param so_far grid, state and time are read already.
void read_misfit(Value misfit, const Case& so_far, TermText& term);
TermText read_term(Value term, const Case& so_far);
Assumptions read_assumptions(Value entry);
/// Into a case whose path is known.
void read_checkpoints(Value checkpoints, Case& into);
/// The keys codec, tolerance, accept, then and difference of a tier.
TierCodec read_codec(Value tier);
/// @param unknowns of the case. @param objective of the case, whose misfits stages may filter. Shots of stages are read
/// by choose_shots().
CaseInversion read_inversion(Value inversion, const std::vector<UnknownText>& unknowns,
                             const std::vector<EquationText>& equations, std::vector<TermText>& objective);
/// The shots that count in each stage of a case's inversion. @param shots of the table, in its order; none: the case
/// has none.
void choose_shots(Value page, const std::vector<std::string>& shots, Case& into);

}  // namespace hindsight
