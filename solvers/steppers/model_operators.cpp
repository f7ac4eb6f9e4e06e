#include "solvers/steppers/model_operators.hpp"

namespace hindsight {

ModelOperators::ModelOperators(const Model& model, const Active& active, const Derivatives& wanted,
                               const std::string& name)
    : equations_(model, active, name, SeriesReads::values, wanted), series_(model, active) {}

void ModelOperators::prepare(const Grid& grid, Tables& tables, const std::vector<Series>& series, std::size_t longest) {
  series_.prepare(grid, series);
  equations_.prepare(grid, tables, series_.knots(), longest);
}

void ModelOperators::rhs(Tables& tables, StepTime at, double* u, double* slope) {
  equations_.values(tables, series_, at, {u}, slope);
}

void ModelOperators::tangent(Tables& tables, StepTime at, double* u, double* v, double* product) {
  equations_.tangents(tables, series_, at, {u}, v, product);
}

void ModelOperators::adjoint(Tables& tables, StepTime at, double* u, double* w, double* product) {
  equations_.gather(tables, series_, at, {u}, w, product);
}

}  // namespace hindsight
