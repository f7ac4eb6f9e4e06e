#include "adjoint/problem/problem_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "adjoint/objective/misfit.hpp"
#include "adjoint/objective/term_kinds.hpp"
#include "runtime/nearest_name.hpp"
#include "solvers/equations/constraint_structure.hpp"
#include "solvers/equations/derive.hpp"
#include "solvers/equations/discretise.hpp"
#include "solvers/equations/interpret.hpp"
#include "solvers/equations/matched_layer.hpp"
#include "solvers/equations/parser.hpp"

namespace hindsight {

std::optional<double> TimeText::within(double t) const {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  const double rounding = std::max(1e-9 * (to - from), 16 * epsilon * std::max(std::fabs(from), std::fabs(to)));
  if (!(t >= from - rounding) || !(t <= to + rounding)) return std::nullopt;
  return std::clamp(t, from, to);
}

namespace {

class ProblemReader {
 public:
  explicit ProblemReader(const ProblemText& problem) : problem_(problem), graph_(*spec_.model.graph) {
    if (problem.grid) {
      stencils_.dimensions = static_cast<int>(problem.grid->axes.size());
      stencils_.order = problem.grid->order;
      stencils_.face_mean = problem.grid->harmonic_means ? FaceMean::harmonic : FaceMean::arithmetic;
      for (const AxisText& axis : problem.grid->axes) {
        spec_.axes.push_back({axis.name, axis.cells, axis.from, axis.to, axis.periodic});
        stencils_.spacing[spec_.axes.size() - 1] = spec_.axes.back().spacing();
      }
    }
    spec_.model.dimensions = stencils_.dimensions;
    graph_.set_element(problem.precision);
    spec_.precision_place = problem.precision_place;
    for (const FunctionText& f : problem.functions)
      functions_[f.name] = {f.name, f.arguments, f.body.text, f.body.place};
  }

  SimulationSpec read() {
    read_parameters();
    Model& model = spec_.model;
    for (const StateText& s : problem_.state) model.fields.push_back(s.name);
    for (const StateText& s : problem_.state) {
      Scope start = point_scope({});
      start.random = Scope::Random::of_cell;
      spec_.initial.push_back(expression(s.initial, start));
      spec_.names.initial.push_back("the initial value of " + s.name + placed(s.initial));
      const Text rate = s.rate.value_or(Text{"0", s.place});
      spec_.rates.push_back(expression(rate, start));
      spec_.names.rates.push_back("the initial rate of " + s.name + placed(rate));
      const EquationText* const equation = equation_of(s.name);
      if (equation == nullptr)
        throw InputError(s.place, "state '" + s.name + "' has no equation dt(" + s.name + ") or zero(" + s.name + ")");
      require_rate_of(s, *equation);
      read_equation(*equation);
    }
    if (problem_.absorb) absorb(*problem_.absorb);
    require_one_order();
    require_constraints_that_fix();
    read_walls();
    spec_.method = problem_.time.method;
    spec_.theta = problem_.time.theta;
    spec_.petsc = problem_.petsc;
    spec_.time_place = problem_.time.place;
    spec_.steps = problem_.time.steps;
    spec_.from = problem_.time.from;
    spec_.to = problem_.time.to;
    spec_.step = problem_.time.step;
    spec_.rules = problem_.time.rules;
    spec_.tolerances = problem_.time.tolerances;
    if (problem_.time.until) read_stop(*problem_.time.until);
    for (const EventText& event : problem_.events) read_event(event);
    for (const SourceText& source : problem_.sources) read_source(source);
    read_outputs();
    for (const TermText& term : problem_.objective) read_term(term);
    spec_.terms.insert(spec_.terms.end(), misfits_.begin(), misfits_.end());
    for (const UnknownText& u : problem_.unknowns) read_unknown(u);
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

  const EquationText* equation_of(const std::string& field) const {
    const auto found = std::ranges::find(problem_.equations, field, &EquationText::field);
    return found == problem_.equations.end() ? nullptr : &*found;
  }

  static void require_rate_of(const StateText& state, const EquationText& equation) {
    if (state.rate && !equation.is_second_order)
      throw InputError(state.rate->place, "state." + state.name + ".rate is for equations of second order, dtt(" +
                                              state.name + "), and this one is " + equation.name());
  }

  /// Steps take all equations in one way.
  void require_one_order() {
    Model& model = spec_.model;
    const auto of_order = [&](bool second) {
      return std::ranges::find(problem_.equations, second, &EquationText::is_second_order);
    };
    const auto first = of_order(false), second = of_order(true);
    model.is_second_order = second != problem_.equations.end();
    if (!model.is_second_order) {
      spec_.rates.clear();
      model.damping.clear();
    } else if (first != problem_.equations.end()) {
      throw InputError(first_of(*first).place, first->name() + " beside " + second->name() +
                                                   ": equations are all of second order, dtt(...), or none is");
    }
  }

  /// Whether a condition or a comparison in an expression reads a field.
  bool decides_by(Expr e, int symbol) const {
    const auto reads = [&](NodeId id) {
      return std::ranges::any_of(reachable({Expr(&graph_, id)}), [&](NodeId leaf) {
        return graph_[leaf].op == Op::field && graph_[leaf].symbol == symbol;
      });
    };
    return std::ranges::any_of(reachable({e}), [&](NodeId id) {
      const Node& node = graph_[id];
      const bool compares = node.op == Op::less || node.op == Op::less_equal || node.op == Op::equal ||
                            node.op == Op::sign || node.op == Op::minimum || node.op == Op::maximum ||
                            node.op == Op::absolute;
      return (compares && reads(id)) || (node.op == Op::where && reads(node.args[0]));
    });
  }

  /// The next field's: what damps is taken out of it.
  void read_second_order(const EquationText& equation) {
    Model& model = spec_.model;
    Scope scope = full_scope();
    scope.rates = {equation.field};
    const Text& text = equation.right_hand_side;
    const Expr whole = expression(text, scope), zero = graph_.constant(0.0);
    const std::string rate = Model::rate(equation.field);
    const int symbol = graph_.field_index(rate);
    const auto reads_rate = [&](Expr e) {
      const std::vector<Reach> all = reach({e});
      return symbol >= 0 && symbol < std::ssize(all) && all[static_cast<std::size_t>(symbol)].read;
    };
    Expr damping = zero, rest = whole;
    if (reads_rate(whole)) {
      const Reach rates = reach({whole})[static_cast<std::size_t>(symbol)];
      damping = adjoint({whole}, {graph_.constant(1.0)}, {rate}, {}).fields[0];
      if (rates.depth != std::array<int, 3>{0, 0, 0} || reads_rate(damping) || reads_neighbours(damping) ||
          decides_by(whole, symbol))
        throw InputError(text.place, rate + " may damp " + equation.name() +
                                         ": a factor of parameters, fields and coordinates in the cell itself times " +
                                         rate + ", which is not what this is");
      rest = substitute(
          {whole}, [&](const Node& node) { return node.op == Op::field && node.symbol == symbol ? zero : Expr(); })[0];
    }
    model.right_hand_sides.push_back(rest);
    model.damping.push_back(damping);
    model.places.push_back(text.place);
    model.constrained.push_back(false);
    model.balanced.push_back(false);
    model.explicit_parts.emplace_back();
    model.implicit_parts.emplace_back();
    spec_.names.equations.push_back(equation.name() + placed(text));
  }

  static bool reads_neighbours(Expr e) {
    return std::ranges::any_of(reach({e}), [](const Reach& r) { return r.depth != std::array<int, 3>{0, 0, 0}; });
  }

  /// The next field's.
  void read_equation(const EquationText& equation) {
    if (equation.is_second_order) return read_second_order(equation);
    Model& model = spec_.model;
    model.damping.emplace_back();
    Expr factor = graph_.constant(1.0);
    if (equation.mass) {
      Scope scope = point_scope({});
      scope.random = Scope::Random::none;
      factor = expression(*equation.mass, scope);
      require_mass(equation, factor);
    }
    const auto part = [&](const std::optional<Text>& text) {
      if (!text) return graph_.constant(0.0);
      const Expr value = expression(*text, full_scope());
      return equation.mass ? value / factor : value;
    };
    model.constrained.push_back(equation.is_constraint);
    model.balanced.push_back(equation.is_balanced);
    const bool tells = equation.has_parts() || equation.is_constraint;
    const Expr taken_explicitly = part(equation.explicit_part);
    const Expr taken_implicitly = part(equation.has_parts() ? equation.implicit_part : equation.right_hand_side);
    model.right_hand_sides.push_back(equation.explicit_part && equation.implicit_part
                                         ? taken_explicitly + taken_implicitly
                                     : equation.explicit_part ? taken_explicitly
                                                              : taken_implicitly);
    model.explicit_parts.push_back(tells ? taken_explicitly : Expr());
    model.implicit_parts.push_back(tells ? taken_implicitly : Expr());
    model.places.push_back(first_of(equation).place);
    spec_.names.equations.push_back(equation.name() + placed(first_of(equation)));
  }

  /// A mass of numbers and scalar parameters, as far as it is known before there is a grid.
  void require_mass(const EquationText& equation, Expr mass) const {
    const std::vector<NodeId> nodes = reachable({mass});
    const auto is_of_cells = [&](NodeId id) { return graph_[id].op == Op::field || graph_[id].op == Op::coordinate; };
    if (std::ranges::any_of(nodes, is_of_cells)) return;
    Bindings values;
    values.scalar = [&](int symbol) {
      const std::string& name = graph_.scalars()[static_cast<std::size_t>(symbol)];
      return spec_.scalar_values[static_cast<std::size_t>(std::ranges::find(spec_.model.scalars, name) -
                                                          spec_.model.scalars.begin())];
    };
    const double value = interpret({mass}, values)[0];
    if (std::isfinite(value) && value != 0.0) return;
    throw InputError(
        equation.mass->place,
        fmt::format(
            "the mass of {} is {}: equations are divided by it{}", equation.name(), value,
            value == 0.0 ? "; what has no derivative in time is a constraint, zero(" + equation.field + ")" : ""));
  }

  void require_constraints_that_fix() const {
    const Overdetermined found = overdetermined(spec_.model);
    if (found.constraints.empty()) return;
    const auto names = [&](const std::vector<std::size_t>& fields, const char* before, const char* behind) {
      std::vector<std::string> all;
      for (const std::size_t f : fields) all.push_back(before + spec_.model.fields[f] + behind);
      return join(all);
    };
    const std::string& first = spec_.model.fields[found.constraints.front()];
    const std::string why =
        found.fields.empty()
            ? fmt::format("zero({0}) must depend on '{0}'", first)
            : fmt::format("{} depend, of the fields that constraints fix, on {} alone, and so cannot fix {}",
                          names(found.constraints, "zero(", ")"), names(found.fields, "'", "'"),
                          names(found.constraints, "'", "'"));
    throw InputError(spec_.model.place(found.constraints.front()),
                     why + ": once the other fields are known, constraints must fix theirs (an index-1 system)");
  }

  /// What is written first of it.
  static const Text& first_of(const EquationText& equation) {
    return equation.explicit_part   ? *equation.explicit_part
           : equation.implicit_part ? *equation.implicit_part
                                    : equation.right_hand_side;
  }

  static void require_knots(const ParameterText& series) {
    const std::vector<double>& times = series.times;
    if (times.empty() || times.size() != series.values.size() ||
        std::adjacent_find(times.begin(), times.end(), std::greater_equal<>()) != times.end())
      throw InputError(series.place, fmt::format("series '{}' has {} times and {} values: wanted are as many, one at "
                                                 "least, at times that increase",
                                                 series.name, times.size(), series.values.size()));
  }
  /// " (case.yaml:4:13)"
  static std::string placed(const Text& text) {
    const std::string place = text.place.text();
    return place.empty() ? "" : " (" + place + ")";
  }

  Scope full_scope() const {
    Scope scope = point_scope({.fields = true, .time = true});
    scope.operators = true;
    scope.random = Scope::Random::of_cell_and_step;
    return scope;
  }

  /// What an expression may read beside parameters.
  struct Seen {
    bool fields = false, time = false;
  };

  /// What may be used at a single point: no neighbours.
  Scope point_scope(Seen seen) const {
    const Model& model = spec_.model;
    Scope scope;
    scope.dimensions = stencils_.dimensions;
    scope.operators = false;
    scope.functions = functions_;
    scope.scalars = model.scalars;
    scope.fields = model.parameter_fields;
    scope.spacing = spacing();
    if (seen.time) {
      scope.step = true;
      scope.scalars.emplace_back("t");
      scope.scalars.insert(scope.scalars.end(), model.series.begin(), model.series.end());
    }
    if (seen.fields) scope.fields.insert(scope.fields.begin(), model.fields.begin(), model.fields.end());
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
    for (const ParameterText& p : problem_.parameters) {
      switch (p.kind) {
        case ParameterText::Kind::scalar:
          spec_.model.scalars.push_back(p.name);
          spec_.scalar_values.push_back(p.value);
          break;
        case ParameterText::Kind::series:
          require_knots(p);
          spec_.model.series.push_back(p.name);
          spec_.series.push_back({p.name, p.times, p.values});
          break;
        case ParameterText::Kind::field:
          spec_.model.parameter_fields.push_back(p.name);
          spec_.parameter_fields.push_back({p.name, expression(p.field, coordinates), {}, placed(p.field)});
          break;
        case ParameterText::Kind::field_file:
          spec_.model.parameter_fields.push_back(p.name);
          spec_.parameter_fields.push_back({p.name, {}, p.fill});
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
    Scope scope = point_scope({.time = true});
    scope.fields.clear();
    for (const std::string& field : spec_.model.fields) {
      std::array<std::array<ModelWall, 2>, 3> walls;
      std::array<std::array<std::string, 2>, 3> names;
      for (std::size_t a = 0; a < spec_.axes.size(); ++a) {
        if (spec_.axes[a].periodic) continue;
        const AxisText& axis = problem_.grid->axes[a];
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

  void read_event(const EventText& event) {
    const TimeText& time = problem_.time;
    Jump jump;
    for (const double t : event.at)
      if (!(t >= time.from && t < time.to))
        throw InputError(event.place, fmt::format("the event at t = {:.10g} is outside of the run, from {:.10g} to "
                                                  "before {:.10g}",
                                                  t, time.from, time.to));
    jump.times = event.at;
    jump.place = event.place;
    for (const EventText::Assignment& assignment : event.set) {
      const auto field = std::ranges::find(spec_.model.fields, assignment.field);
      if (field == spec_.model.fields.end())
        throw InputError(assignment.place, "'" + assignment.field + "' is not a state" +
                                               did_you_mean(assignment.field, spec_.model.fields) +
                                               "; states: " + join(spec_.model.fields));
      if (equation_of(assignment.field)->is_constraint)
        throw InputError(assignment.place, "'" + assignment.field + "' follows from the others by zero(" +
                                               assignment.field + "), at events too: no event sets it");
      jump.set.push_back({static_cast<std::size_t>(field - spec_.model.fields.begin()),
                          expression(assignment.value, point_scope({.fields = true, .time = true}))});
    }
    spec_.jumps.push_back(jump);
  }

  /// The damping of a sponge, 0 outside of its layers.
  Expr sponge(const AbsorbText& text) {
    Expr all = graph_.constant(0.0);
    for (std::size_t a = 0; a < spec_.axes.size(); ++a)
      for (std::size_t side = 0; side < 2; ++side) {
        if (!text.sides[a][side]) continue;
        const Axis& axis = spec_.axes[a];
        const double width = static_cast<double>(text.cells) * axis.spacing();
        const Expr x = graph_.coordinate(static_cast<int>(a));
        const Expr depth = side == 0 ? (axis.from + width) - x : x - (axis.to - width);
        const Expr part = (1.0 / width) * max(depth, graph_.constant(0.0));
        all = all + part * part;
      }
    return text.strength * all;
  }

  /// What layers of a pml stretch is seen in equations before they are discretised.
  void match_layers(const AbsorbText& text) {
    Model& model = spec_.model;
    for (std::size_t a = 0; a < spec_.axes.size(); ++a)
      for (std::size_t side = 0; side < 2; ++side) {
        if (!text.sides[a][side]) continue;
        const Axis& axis = spec_.axes[a];
        MatchedLayer layer{static_cast<int>(a),
                           static_cast<int>(side),
                           text.cells,
                           side == 0 ? axis.from : axis.to,
                           static_cast<double>(text.cells) * axis.spacing(),
                           text.speed,
                           {},
                           text.place};
        for (std::size_t f = 0; f < model.fields.size(); ++f)
          for (StretchedTerm& term : stretched_terms_of(f, layer)) layer.terms.push_back(std::move(term));
        if (layer.terms.empty())
          throw InputError(text.place, "absorb: no equation has derivatives along " + axis.name +
                                           " that a pml could stretch; name the sides");
        model.layers.push_back(std::move(layer));
      }
  }

  std::vector<StretchedTerm> stretched_terms_of(std::size_t f, const MatchedLayer& layer) {
    const EquationText& equation = *equation_of(spec_.model.fields[f]);
    const Text& text = equation.right_hand_side;
    if (!equation.is_second_order)
      throw InputError(
          text.place, "a pml is for equations of second order, and " + equation.name() + " is none: a sponge takes it");
    if (!depends_on_place_alone(spec_.model.damping[f]))
      throw InputError(text.place, "what damps beside a pml depends on parameters and coordinates alone");
    Scope scope = full_scope();
    scope.rates = {equation.field};
    std::vector<StretchedTerm> terms;
    try {
      terms = stretched_terms(parse(graph_, text.text, scope, text.place), f, layer.axis, stencils_);
    } catch (const InputError& error) {
      throw InputError(text.place, error.what());
    }
    for (const StretchedTerm& term : terms) {
      if (!depends_on_place_alone(term.factor))
        throw InputError(text.place, "a pml stretches terms whose factors depend on parameters and coordinates alone");
      if (!layer.speed && !depends_on_place_alone(squared_speed(term, equation.field, layer.axis, layer.spacing())))
        throw InputError(text.place, "the speed of waves depends on the state or the time: a pml needs absorb.speed");
    }
    return terms;
  }

  /// Whether an expression reads neither states nor the time, series, or the step's length.
  bool depends_on_place_alone(Expr e) const {
    const auto depends = [&](NodeId id) {
      const Node& node = graph_[id];
      if (node.op == Op::scalar) {
        const std::string& name = graph_.scalars()[static_cast<std::size_t>(node.symbol)];
        return std::ranges::find(spec_.model.scalars, name) == spec_.model.scalars.end();
      }
      if (node.op != Op::field) return false;
      const std::string& name = graph_.fields()[static_cast<std::size_t>(node.symbol)];
      return std::ranges::find(spec_.model.parameter_fields, name) == spec_.model.parameter_fields.end();
    };
    return std::ranges::none_of(reachable({e}), depends);
  }

  void absorb(const AbsorbText& text) {
    if (text.kind == AbsorbText::Kind::pml) return match_layers(text);
    Model& model = spec_.model;
    const Expr damping = sponge(text);
    for (std::size_t f = 0; f < model.fields.size(); ++f) {
      const Expr u = graph_.field(model.fields[f]);
      const bool is_second = equation_of(model.fields[f])->is_second_order;
      if (is_second) model.damping[f] = model.damping[f] - damping;
      if (is_second || model.is_constrained(f)) continue;
      model.right_hand_sides[f] = model.right_hand_sides[f] - damping * u;
      Expr& part = model.implicit_parts[f];
      if (part.is_valid()) part = part - damping * u;
    }
  }

  void read_source(const SourceText& source) {
    Model& model = spec_.model;
    const auto place_in = [&](const std::string& name, const std::vector<std::string>& all, const char* what) {
      const auto found = std::ranges::find(all, name);
      if (found == all.end())
        throw InputError(source.place, "sources: '" + name + "' is not a " + what + did_you_mean(name, all) +
                                           (all.empty() ? std::string() : "; there are " + join(all)));
      return static_cast<std::size_t>(found - all.begin());
    };
    const std::size_t field = place_in(source.to, model.fields, "state");
    if (equation_of(source.to)->is_constraint)
      throw InputError(source.place, "sources act on rates, and '" + source.to + "' has none: zero(" + source.to + ")");
    if (equation_of(source.to)->mass)
      throw InputError(source.place, "sources: the equation of '" + source.to + "' has a mass, and takes none");
    model.sources.push_back({field, place_in(source.signal, model.series, "series"), source.weights});
    spec_.sources.push_back(source.points);
  }

  void read_outputs() {
    const TimeText& time = problem_.time;
    spec_.switches = time.switches;
    if (time.land_every <= 0) return;
    for (std::int64_t i = 1; time.from + static_cast<double>(i) * time.land_every < time.to; ++i)
      spec_.outputs.push_back(time.from + static_cast<double>(i) * time.land_every);
  }

  void read_misfit(const TermText& term) {
    auto misfit = std::make_shared<MisfitSpec>();
    const Scope scope = point_scope({.fields = true});
    misfit->of = expression(term.expression, scope);
    misfit->observations = std::make_shared<const std::vector<PointObservation>>(term.observations);
    misfit->noise = term.noise;
    misfit->weights = term.weights;
    misfit->logarithmic = term.log;
    misfit->filter = term.filter;
    misfit->may_be_filtered = term.may_be_filtered;
    misfit->weight = term.weight;
    misfit->name = "misfit of " + term.expression.text;
    if (term.weights.kind == PointWeights::Kind::sinc) require_mirrors(term, misfit->of);
    misfits_.push_back(misfit);
  }

  /// Weights beyond a wall are mirrored there, with a sign: which needs a field that is zero on the wall, alone, or any
  /// whose slopes are.
  void require_mirrors(const TermText& term, Expr of) {
    constexpr double reach = 4.0;  // cells
    for (std::size_t a = 0; a < spec_.axes.size(); ++a)
      for (std::size_t side = 0; side < 2 && !spec_.axes[a].periodic; ++side) {
        const Axis& axis = spec_.axes[a];
        const bool crosses = std::ranges::any_of(term.observations, [&](const PointObservation& point) {
          const double distance = side == 0 ? point.at[a] - axis.from : axis.to - point.at[a];
          return distance < (reach - 0.5) * axis.spacing();
        });
        if (!crosses) continue;
        for (std::size_t f = 0; f < spec_.model.fields.size(); ++f) {
          const Expr field = graph_.field(spec_.model.fields[f]);
          const ModelWall& wall = spec_.model.walls[f][a][side];
          const bool reads = std::ranges::any_of(reachable({of}), [&](NodeId id) { return id == field.id(); });
          const bool is_mirrored = wall.value.is_constant(0.0) && (wall.rule == WallRule::slope || of.same_as(field));
          if (reads && !is_mirrored)
            throw InputError(term.expression.place,
                             fmt::format("weights: sinc reads '{}' by its mirror at the {} wall of {}, which takes "
                                         "{{slope: 0}} there, or {{value: 0}} and the state alone; linear weights do "
                                         "without",
                                         spec_.model.fields[f], side == 0 ? "lower" : "upper", axis.name));
        }
      }
  }

  void read_term(const TermText& term) {
    if (term.is_misfit()) return read_misfit(term);
    const TermKind& kind = term_kinds().find(term.kind);
    Scope scope = full_scope();
    if (kind.reads == TermKind::Reads::parameters) {
      scope.fields = spec_.model.parameter_fields;
      scope.scalars = spec_.model.scalars;
      scope.step = false;
      scope.random = Scope::Random::none;
    }
    const std::string text = kind.name + ": " + term.expression.text;
    const Expr e = expression(term.expression, scope);
    try {
      spec_.terms.push_back(kind.make(e, term.weight, text));
    } catch (const InputError& error) {
      throw InputError(term.expression.place, error.what());
    }
    if (kind.host_only) spec_.host_only.push_back({"the term '" + text + "'", term.expression.place});
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
    for (const EquationText& e : problem_.equations)
      for (std::size_t at; (at = quantity.text.find("dt(" + e.field + ")")) != std::string::npos;) {
        require_rate_is_known(e, until);
        if (e.is_constraint)
          throw InputError(until.place, "time.until: '" + e.field + "' has a constraint, " + e.name() + ", and no dt(" +
                                            e.field + ")");
        quantity.text.replace(at, e.field.size() + 4, rate_text(e));
      }
    stop.quantity = expression(quantity, full_scope());
    spec_.until = stop;
  }

  /// Where the equation alone, as it is written, says what the rate is.
  void require_rate_is_known(const EquationText& e, const Text& until) const {
    const std::string rate = "time.until: dt(" + e.field + ")";
    if (e.is_second_order)
      throw InputError(until.place, rate + " is for equations of first order, and this is " + e.name() +
                                        "; a condition on the state itself tells when waves are gone");
    const bool has_sources = std::ranges::find(problem_.sources, e.field, &SourceText::to) != problem_.sources.end();
    if (has_sources || problem_.absorb)
      throw InputError(until.place, rate + " stands for the right-hand side of its equation, without what " +
                                        (has_sources ? "sources add" : "absorb adds") +
                                        "; a condition on the state will do");
  }

  /// The rate that an equation gives its field, as one expression.
  static std::string rate_text(const EquationText& e) {
    std::string text = e.has_parts() ? "" : "(" + e.right_hand_side.text + ")";
    for (const auto* part : {&e.explicit_part, &e.implicit_part})
      if (*part) text += (text.empty() ? "(" : " + (") + (*part)->text + ")";
    return e.mass ? "((" + text + ")/(" + e.mass->text + "))" : "(" + text + ")";
  }

  void read_unknown(const UnknownText& u) {
    Unknown unknown{u.name, kind_of(u)};
    if (u.where) {
      unknown.where_place = u.where->place;
      unknown.where = condition_of_cells(u, unknown);
    }
    spec_.unknowns.push_back(unknown);
  }

  /// Where an unknown field is unknown, by the first values of all that it reads.
  Expr condition_of_cells(const UnknownText& u, const Unknown& unknown) {
    const SourcePlace& place = u.where->place;
    if (!unknown.is_field() || !problem_.grid)
      throw InputError(place, "where: '" + u.label() + "' is " +
                                  (unknown.kind == Unknown::Kind::series ? "a series" : "a number") +
                                  "; where tells cells of an unknown field on a grid, a parameter's or initial(...)");
    const Expr where = expression(*u.where, point_scope({}));
    const auto is_itself = [&](NodeId id) {
      return graph_[id].op == Op::field && graph_.fields()[graph_[id].symbol] == u.name;
    };
    if (std::ranges::any_of(reachable({where}), is_itself))
      throw InputError(place, "where: '" + u.name + "' cannot tell where it is unknown itself; allowed: coordinates, " +
                                  "scalar parameters, and parameter fields but this one");
    return where;
  }

  Unknown::Kind kind_of(const UnknownText& u) const {
    const auto is_it = [&](const auto& named) { return named.name == u.name; };
    const auto p = std::find_if(problem_.parameters.begin(), problem_.parameters.end(), is_it);
    const bool is_there = u.is_of_state() ? std::any_of(problem_.state.begin(), problem_.state.end(), is_it)
                                          : p != problem_.parameters.end();
    if (!is_there)
      throw InputError(u.place, "unknown '" + u.label() + "' is neither a parameter nor initial(state) or rate(state)");
    if (u.rate && !spec_.model.is_second_order)
      throw InputError(u.place,
                       "unknown 'rate(" + u.name + ")' needs an equation of second order, dtt(" + u.name + ")");
    if (u.initial && equation_of(u.name)->is_constraint)
      throw InputError(u.place, "'" + u.name + "' follows from the others by zero(" + u.name +
                                    "): its initial value cannot be unknown");
    if (u.initial) return Unknown::Kind::initial;
    if (u.rate) return Unknown::Kind::rate;
    if (p->kind == ParameterText::Kind::scalar) return Unknown::Kind::scalar;
    return p->kind == ParameterText::Kind::series ? Unknown::Kind::series : Unknown::Kind::field;
  }

  const ProblemText& problem_;
  SimulationSpec spec_;
  TermSpecs misfits_;  // after the integrals
  Graph& graph_;
  Stencils stencils_;
  std::map<std::string, UserFunction> functions_;
};

}  // namespace

SimulationSpec read_problem(const ProblemText& problem) {
  return ProblemReader(problem).read();
}

}  // namespace hindsight
