#include "src/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "adjoint/objective/misfit.hpp"
#include "adjoint/objective/term_kinds.hpp"
#include "io/results/datasets.hpp"
#include "solvers/equations/discretise.hpp"
#include "solvers/equations/parser.hpp"

namespace hindsight {
namespace {

class Assembler {
 public:
  explicit Assembler(const Case& c) : case_(c), graph_(*spec_.model.graph) {
    if (c.grid) {
      stencils_.dimensions = static_cast<int>(c.grid->axes.size());
      stencils_.order = c.grid->order;
      stencils_.face_mean = c.grid->harmonic_means ? FaceMean::harmonic : FaceMean::arithmetic;
      for (const CaseAxis& axis : c.grid->axes) {
        spec_.axes.push_back({axis.name, axis.cells, axis.from, axis.to, axis.periodic});
        stencils_.spacing[spec_.axes.size() - 1] = spec_.axes.back().spacing();
      }
    }
    spec_.model.dimensions = stencils_.dimensions;
    for (const CaseFunction& f : c.functions) functions_[f.name] = {f.name, f.arguments, f.body.text, f.body.place};
  }

  SimulationSpec assemble() {
    read_parameters();
    Model& model = spec_.model;
    for (const CaseState& s : case_.state) model.fields.push_back(s.name);
    for (const CaseState& s : case_.state) {
      Scope start = point_scope(/*with_fields=*/false, /*with_time=*/false);
      start.random = Scope::Random::of_cell;
      spec_.initial.push_back(expression(s.initial, start));
      spec_.names.initial.push_back("the initial value of " + s.name + placed(s.initial));
      const auto equation = std::find_if(case_.equations.begin(), case_.equations.end(),
                                         [&](const CaseEquation& e) { return e.field == s.name; });
      model.right_hand_sides.push_back(expression(equation->right_hand_side, full_scope()));
      spec_.names.equations.push_back("dt(" + s.name + ")" + placed(equation->right_hand_side));
    }
    read_walls();
    spec_.method = case_.time.method;
    spec_.steps = case_.time.steps;
    spec_.from = case_.time.from;
    spec_.to = case_.time.to;
    spec_.step = case_.time.step;
    if (case_.time.until) read_stop(*case_.time.until);
    for (const CaseTerm& term : case_.objective) read_term(term);
    spec_.terms.insert(spec_.terms.end(), misfits_.begin(), misfits_.end());
    for (const CaseUnknown& u : case_.unknowns) spec_.unknowns.push_back({u.name, kind_of(u)});
    return std::move(spec_);
  }

 private:
  Expr expression(const Text& text, const Scope& scope) {
    const Expr e = parse(graph_, text.text, scope, text.place);
    try {
      return discretise({e}, stencils_)[0];
    } catch (const InputError& error) {
      throw InputError(text.place, error.what());
    }
  }

  /// " (case.yaml:4:13)"
  static std::string placed(const Text& text) { return " (" + text.place.text() + ")"; }

  Scope full_scope() const {
    Scope scope = point_scope(true, true);
    scope.operators = true;
    scope.random = Scope::Random::of_cell_and_step;
    return scope;
  }

  /// What may be used at a single point: no neighbours.
  Scope point_scope(bool with_fields, bool with_time) const {
    const Model& model = spec_.model;
    Scope scope;
    scope.dimensions = stencils_.dimensions;
    scope.operators = false;
    scope.functions = functions_;
    scope.scalars = model.scalars;
    scope.fields = model.parameter_fields;
    scope.spacing = spacing();
    if (with_time) {
      scope.step = true;
      scope.scalars.emplace_back("t");
      scope.scalars.insert(scope.scalars.end(), model.series.begin(), model.series.end());
    }
    if (with_fields) scope.fields.insert(scope.fields.begin(), model.fields.begin(), model.fields.end());
    return scope;
  }

  std::vector<double> spacing() const {
    return {stencils_.spacing.begin(), stencils_.spacing.begin() + stencils_.dimensions};
  }

  void read_parameters() {
    Scope coordinates;
    coordinates.dimensions = stencils_.dimensions;
    coordinates.spacing = spacing();
    coordinates.operators = false;
    coordinates.functions = functions_;
    coordinates.random = Scope::Random::of_cell;
    for (const CaseParameter& p : case_.parameters) {
      switch (p.kind) {
        case CaseParameter::Kind::scalar:
          spec_.model.scalars.push_back(p.name);
          spec_.scalar_values.push_back(p.value);
          break;
        case CaseParameter::Kind::series:
          spec_.model.series.push_back(p.name);
          spec_.series.push_back({p.name, p.times, p.values});
          break;
        case CaseParameter::Kind::field:
          spec_.model.parameter_fields.push_back(p.name);
          spec_.parameter_fields.push_back({p.name, expression(p.field, coordinates), {}, placed(p.field)});
          break;
        case CaseParameter::Kind::field_file:
          spec_.model.parameter_fields.push_back(p.name);
          spec_.parameter_fields.push_back(
              {p.name, {}, [file = p.file, dataset = p.dataset](const Grid& grid, double* cells) {
                 read_field(file, dataset, grid, cells);
               }});
          break;
      }
    }
  }

  /// Wall values are evaluated on walls: parameters, series, t and coordinates, but no fields.
  void read_walls() {
    bool any = false;
    for (std::size_t a = 0; a < spec_.axes.size(); ++a) {
      spec_.model.has_walls[a] = !spec_.axes[a].periodic;
      any = any || !spec_.axes[a].periodic;
    }
    if (!any) return;
    Scope scope = point_scope(false, true);
    scope.fields.clear();
    for (const std::string& field : spec_.model.fields) {
      std::array<std::array<ModelWall, 2>, 3> walls;
      std::array<std::array<std::string, 2>, 3> names;
      for (std::size_t a = 0; a < spec_.axes.size(); ++a) {
        if (spec_.axes[a].periodic) continue;
        const CaseAxis& axis = case_.grid->axes[a];
        for (std::size_t side = 0; side < 2; ++side) {
          const auto own = axis.field_sides[side].find(field);
          const EdgeRule& rule = own == axis.field_sides[side].end() ? axis.sides[side] : own->second;
          walls[a][side] = {rule.edge == Edge::value ? WallRule::value : WallRule::slope,
                            expression(rule.expression, scope)};
          names[a][side] =
              fmt::format("the {} of {} at the {} wall of {}{}", rule.edge == Edge::value ? "value" : "slope", field,
                          side == 0 ? "lower" : "upper", axis.name, placed(rule.expression));
        }
      }
      spec_.model.walls.push_back(walls);
      spec_.names.walls.push_back(names);
    }
  }

  void read_misfit(const CaseTerm& term) {
    auto misfit = std::make_shared<MisfitSpec>();
    Scope scope = point_scope(true, false);
    scope.fields = spec_.model.fields;
    scope.dimensions = 0;
    misfit->of = expression(term.expression, scope);
    std::vector<PointObservation> observations;
    observations.reserve(term.observations.size());
    for (const Observation& o : term.observations) observations.push_back({o.time, o.at, o.value});
    misfit->observations = std::make_shared<const std::vector<PointObservation>>(std::move(observations));
    misfit->noise = term.noise;
    misfit->logarithmic = term.log;
    misfit->weight = term.weight;
    misfit->name = "misfit of " + term.expression.text;
    misfits_.push_back(misfit);
  }

  void read_term(const CaseTerm& term) {
    if (term.is_misfit()) return read_misfit(term);
    const TermKind& kind = term_kinds().find(term.kind);
    Scope scope = full_scope();
    if (kind.reads == TermKind::Reads::parameters) {
      scope.fields = spec_.model.parameter_fields;
      scope.scalars = spec_.model.scalars;
      scope.step = false;
      scope.random = Scope::Random::none;
    }
    spec_.terms.push_back(
        kind.make(expression(term.expression, scope), term.weight, kind.name + ": " + term.expression.text));
  }

  /// "norm(EXPRESSION) < NUMBER" or ">". dt(FIELD) in it stands for the right-hand side of the field's equation.
  void read_stop(const Text& until) {
    const std::string& text = until.text;
    const auto refuse = [&] {
      throw InputError(until.place, "time.until '" + text + "' is not of the form norm(EXPRESSION) < NUMBER (or >)");
    };
    std::size_t close = text.find('(');
    if (text.rfind("norm", 0) != 0 || close != text.find_first_not_of(' ', 4)) refuse();
    const std::size_t open = close;
    for (int depth = 1; depth > 0;) {
      close = text.find_first_of("()", close + 1);
      if (close == std::string::npos) refuse();
      depth += text[close] == '(' ? 1 : -1;
    }
    const std::size_t sign = text.find_first_not_of(' ', close + 1);
    if (sign == std::string::npos || (text[sign] != '<' && text[sign] != '>')) refuse();
    std::string limit = text.substr(sign + 1);
    limit.erase(0, limit.find_first_not_of(' '));
    StopSpec stop;
    stop.below = text[sign] == '<';
    try {
      stop.limit = parse_number(limit);
    } catch (const InputError&) {
      refuse();
    }
    if (!(stop.limit > 0) || !std::isfinite(stop.limit)) refuse();
    Text quantity{text.substr(open + 1, close - open - 1), until.place};
    quantity.place.column += static_cast<int>(open) + 1;
    for (const CaseEquation& e : case_.equations)
      for (std::size_t at; (at = quantity.text.find("dt(" + e.field + ")")) != std::string::npos;)
        quantity.text.replace(at, e.field.size() + 4, "(" + e.right_hand_side.text + ")");
    stop.quantity = expression(quantity, full_scope());
    spec_.until = stop;
  }

  Unknown::Kind kind_of(const CaseUnknown& u) const {
    if (u.initial) return Unknown::Kind::initial;
    const auto p = std::find_if(case_.parameters.begin(), case_.parameters.end(),
                                [&](const CaseParameter& parameter) { return parameter.name == u.name; });
    if (p->kind == CaseParameter::Kind::scalar) return Unknown::Kind::scalar;
    return p->kind == CaseParameter::Kind::series ? Unknown::Kind::series : Unknown::Kind::field;
  }

  const Case& case_;
  SimulationSpec spec_;
  TermSpecs misfits_;  // after the integrals
  Graph& graph_;
  Stencils stencils_;
  std::map<std::string, UserFunction> functions_;
};

}  // namespace

SimulationSpec assemble(const Case& c) {
  SimulationSpec spec = Assembler(c).assemble();
  const double every = c.output.every;
  if (every > 0)
    for (std::int64_t i = 1; c.time.from + static_cast<double>(i) * every < c.time.to; ++i)
      spec.landings.push_back(c.time.from + static_cast<double>(i) * every);
  return spec;
}

}  // namespace hindsight
