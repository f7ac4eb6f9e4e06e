#include "io/case/case.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "io/case/csv.hpp"
#include "io/case/document.hpp"
#include "io/case/sections.hpp"
#include "io/case/shots.hpp"
#include "io/case/text_file.hpp"
#include "runtime/nearest_name.hpp"
#include "solvers/equations/parser.hpp"
#include "solvers/steppers/methods.hpp"
#include "solvers/time/step_sources.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{4} << 20U;

bool is_name(const std::string& text) {
  if (text.empty() || (std::isalpha(static_cast<unsigned char>(text[0])) == 0 && text[0] != '_')) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

/// Every name stands for one thing, and for none that expressions know already.
class Names {
 public:
  /// Coordinates have a meaning on grids that have their axes.
  void add_axes(const GridText& grid) {
    for (const AxisText& axis : grid.axes) axes_.push_back(axis.name);
  }
  void add(const std::string& name, const std::string& what, const SourcePlace& place) {
    if (!is_name(name)) throw InputError(place, "'" + name + "' is not a name (letters, digits, _)");
    if (name == "t") throw InputError(place, "'t' is the time in every case: choose another name");
    if (has(axes_, name))
      throw InputError(place, "'" + name + "' is the coordinate of the grid's axis " + name + ": choose another name");
    if (has(reserved_names(), name))
      throw InputError(place, "'" + name + "' has a meaning of its own in expressions: choose another name");
    const auto [it, is_new] = known_.emplace(name, what);
    if (!is_new) throw InputError(place, "'" + name + "' is already the name of a " + it->second);
  }

 private:
  static bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  std::vector<std::string> axes_;
  std::map<std::string, std::string> known_;
};

/// "name(a, b)" taken apart.
struct Signature {
  std::string name;
  std::vector<std::string> arguments;
  bool has_parentheses = false;
};

Signature signature(const std::string& text, const SourcePlace& place) {
  const std::size_t open = text.find('(');
  if (open == std::string::npos) return {text, {}, false};
  if (text.back() != ')') throw InputError(place, "'" + text + "' lacks its closing parenthesis");
  if (text.find_first_of("()", open + 1) != text.size() - 1)
    throw InputError(place, "'" + text + "' has more than one pair of parentheses");
  std::vector<std::string> arguments;
  std::string current;
  for (const char c : text.substr(open + 1)) {
    if (c == ',' || c == ')') {
      if (!current.empty() || c == ',') arguments.push_back(current);
      current.clear();
    } else if (c != ' ') {
      current += c;
    }
  }
  return {text.substr(0, open), arguments, true};
}

/// Arguments may shadow the time, as they may coordinates; not what is written like a call, nor numbers and words.
bool can_be_argument(const std::string& name) {
  const std::vector<std::string>& reserved = reserved_names();
  return name == "t" || std::find(reserved.begin(), reserved.end(), name) == reserved.end();
}

void read_functions(Value functions, Case& result, Names& names) {
  for (const std::string& key : functions.keys()) {
    const SourcePlace place = functions.key_place(key);
    const auto [name, arguments, has_parentheses] = signature(key, place);
    if (!has_parentheses)
      throw InputError(place, "write functions as name(argument, ...), or name() without arguments, not '" + key + "'");
    names.add(name, "function", place);
    for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
      if (!is_name(*argument)) throw InputError(place, "'" + *argument + "' is not the name of an argument");
      if (*argument == "pi") throw InputError(place, "'pi' is a number and cannot be an argument");
      if (!can_be_argument(*argument))
        throw InputError(place, "'" + *argument + "' has a meaning of its own in expressions: choose another name");
      if (std::find(arguments.begin(), argument, *argument) != argument)
        throw InputError(place, "argument '" + *argument + "' appears twice in " + key);
    }
    result.functions.push_back({name, arguments, functions.at(key).expression()});
  }
  for (const FunctionText& f : result.functions)
    for (const FunctionText& other : result.functions)
      if (std::find(f.arguments.begin(), f.arguments.end(), other.name) != f.arguments.end())
        throw InputError(functions.place(),
                         "'" + other.name + "' is a function and cannot be an argument of " + f.name);
}

void read_state(Value state, Case& result, Names& names) {
  for (const std::string& key : state.keys()) {
    names.add(key, "state", state.key_place(key));
    if (key == "times" || key == "steps")
      throw InputError(state.key_place(key),
                       "fields.h5 keeps the outputs' " + key + " as '" + key + "': choose another name");
    StateText s;
    s.name = key;
    s.place = state.key_place(key);
    auto entry = state.find(key);
    if (entry && !entry->keys().empty()) {  // what a constraint fixes may have nothing
      s.initial = entry->at("initial").expression();
      if (auto rate = entry->find("rate")) s.rate = rate->expression();
      entry->finish();
    }
    result.state.push_back(s);
  }
  if (result.state.empty()) state.fail("state must name at least one field");
}

/// The field whose derivative in time was meant by a key like d(u)/dt or u'; empty: none.
std::string field_meant(const std::string& key, const std::vector<std::string>& fields) {
  std::string bare = key;
  std::erase(bare, ' ');
  for (const std::string& f : fields)
    for (const std::string& way : {"d(" + f + ")/dt", "d" + f + "/dt", "d/dt(" + f + ")", "d" + f + "dt", f + "'", f,
                                   "d" + f, "ddt(" + f + ")", f + "_t", "dot(" + f + ")", "d_t(" + f + ")"})
      if (bare == way) return f;
  return "";
}

/// One that is written as a map: what is not one expression, or has a mass.
void read_equation_parts(Value parts, EquationText& equation) {
  const auto optional = [&](const char* key) -> std::optional<Text> {
    if (auto text = parts.find(key)) return text->expression();
    return {};
  };
  const std::optional<Text> whole = optional("rhs");
  if (equation.is_constraint) {
    if (auto balance = parts.find("balance")) equation.is_balanced = balance->boolean();
  } else {
    equation.mass = optional("mass");
    equation.explicit_part = optional("explicit");
    equation.implicit_part = optional("implicit");
  }
  parts.finish();
  if (whole.has_value() == equation.has_parts())
    parts.fail(equation.is_constraint
                   ? equation.name() + " needs rhs: \"...\", the expression that is zero"
                   : equation.name() + " needs either rhs: \"...\", or explicit: \"...\" and implicit: \"...\"");
  if (whole) equation.right_hand_side = *whole;
}

/// @param kind dt, dtt or zero.
EquationText read_equation(Value value, const std::string& field, const std::string& kind) {
  EquationText equation;
  equation.field = field;
  equation.is_constraint = kind == "zero";
  equation.is_second_order = kind == "dtt";
  if (value.is_map() && !equation.is_second_order)
    read_equation_parts(value, equation);
  else
    equation.right_hand_side = value.expression();
  return equation;
}

/// Every state has one equation, and its initial value unless a constraint fixes it.
void require_complete(Case& result) {
  for (StateText& s : result.state) {
    const auto equation = std::ranges::find(result.equations, s.name, &EquationText::field);
    if (equation == result.equations.end())
      throw InputError(s.place, "state '" + s.name + "' has no equation dt(" + s.name + ") or zero(" + s.name + ")");
    if (s.initial.text.empty() && !equation->is_constraint)
      throw InputError(s.place, "missing key 'initial' in state." + s.name);
    if (s.initial.text.empty()) s.initial = {"0", s.place};
  }
}

void read_equations(Value equations, Case& result) {
  std::vector<std::string> fields;
  for (const StateText& s : result.state) fields.push_back(s.name);
  for (const std::string& key : equations.keys()) {
    const SourcePlace place = equations.key_place(key);
    const std::string wrong =
        "an equation is written dt(field): \"...\", dtt(field): \"...\" for one of second order, or zero(field): "
        "\"...\" for a constraint, not '" +
        key + "'";
    if (const std::string f = field_meant(key, fields); !f.empty())
      throw InputError(place, wrong + "; did you mean 'dt(" + f + ")'?");
    const auto [kind, arguments, has_parentheses] = signature(key, place);
    if ((kind != "dt" && kind != "dtt" && kind != "zero") || arguments.size() != 1) throw InputError(place, wrong);
    const std::string& field = arguments[0];
    if (std::ranges::find(fields, field) == fields.end())
      throw InputError(place,
                       "'" + field + "' is not a state" + did_you_mean(field, fields) + "; states: " + join(fields));
    if (std::ranges::find(result.equations, field, &EquationText::field) != result.equations.end())
      throw InputError(place, "'" + field + "' has two equations: it takes one of dt(" + field + "), dtt(" + field +
                                  ") and zero(" + field + ")");
    result.equations.push_back(read_equation(equations.at(key), field, kind));
  }
  require_complete(result);
}

void read_unknowns(Value unknowns, Case& result) {
  std::vector<std::string> known;
  for (const ParameterText& p : result.parameters) known.push_back(p.name);
  for (const StateText& s : result.state) known.push_back("initial(" + s.name + ")");
  for (const EquationText& e : result.equations)
    if (e.is_second_order) known.push_back("rate(" + e.field + ")");
  for (const std::string& key : unknowns.keys()) {
    UnknownText u;
    Assumptions assumed;
    u.place = unknowns.key_place(key);
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw InputError(u.place, "unknown '" + key + "' is neither a parameter nor initial(state) or rate(state)" +
                                    did_you_mean(key, known) + "; possible: " + join(known));
    u.initial = key.starts_with("initial(");
    u.rate = key.starts_with("rate(");
    const std::size_t open = key.find('(');
    u.name = u.is_of_state() ? key.substr(open + 1, key.size() - open - 2) : key;
    if (auto entry = unknowns.find(key)) {
      if (auto where = entry->find("where")) u.where = where->expression();
      assumed = read_assumptions(*entry);
    }
    const auto parameter = std::find_if(result.parameters.begin(), result.parameters.end(),
                                        [&](const ParameterText& p) { return p.name == u.name; });
    if (!u.is_of_state() && parameter->kind == ParameterText::Kind::scalar) {
      const double value = parameter->value;
      if (assumed.log_scale && !(value > 0)) throw InputError(u.place, "scale: log needs a positive value of " + key);
      if ((assumed.lower && value < *assumed.lower) || (assumed.upper && value > *assumed.upper))
        throw InputError(u.place, "the value of " + key + " lies outside its bounds");
    }
    result.unknowns.push_back(u);
    result.assumptions.push_back(assumed);
  }
}

void read_output(Value output, Case& result) {
  if (auto every = output.find("every")) {
    double& time = result.time.land_every;
    time = every->number();
    if (!(time > 0)) every->fail("output.every must be positive (a time)");
    if ((result.time.to - result.time.from) / time > 1e7)
      every->fail("output.every gives more than ten million outputs");
  }
  std::vector<std::string> fields;
  for (const StateText& s : result.state) fields.push_back(s.name);
  if (auto list = output.find("fields"))
    for (const Value& item : list->items()) result.output.fields.push_back(item.one_of(fields));
  if (auto estimates = output.find("estimates")) {
    constexpr std::int64_t most = 1'000'000;
    result.output.estimates = estimates->integer();
    if (result.output.estimates < 1) estimates->fail("output.estimates must be at least 1 iteration");
    if (iterations_of(stages_of(result)) / result.output.estimates > most)
      estimates->fail("output.estimates gives more than a million estimates");
  }
  output.finish();
}

/// Where a control character begins in UTF-8: U+0000 to U+001F, U+007F to U+009F; npos: nowhere.
std::size_t find_control(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0xff);
    if (byte < 0x20 || byte == 0x7f || (byte == 0xc2 && next < 0xa0)) return i;
  }
  return std::string::npos;
}

/// The folder of the case's runs has this name.
std::string read_name(const Value& value) {
  constexpr std::size_t longest = 255;  // bytes of a name in a file system
  const std::string name = value.text();
  const std::size_t control = find_control(name);
  const std::string why = name.empty()                                 ? "it is empty"
                          : name.size() > longest                      ? "it is too long"
                          : control != std::string::npos               ? "it has a control character"
                          : name.find('/') != std::string::npos        ? "it has a '/'"
                          : name.front() == '.' || name.front() == '-' ? "it begins with '.' or '-'"
                                                                       : "";
  if (why.empty()) return name;
  value.fail("case: '" + name.substr(0, std::min(control, longest)) + "' cannot name the folder of its runs, for " +
             why + "; allowed: 1 to 255 bytes, no '/', no control characters, neither '.' nor '-' in front");
}

/// A document with the values of one experiment.
Case read_page(Value root, const std::string& path, bool is_to_be_observed) {
  Case result;
  result.is_to_be_observed = is_to_be_observed;
  Names names;
  result.file = path;
  result.name = read_name(root.at("case"));
  if (auto v = root.find("description")) v->text();
  root.find("shots");  // is read before, and makes the document what it is
  if (auto grid = root.find("grid")) result.grid = read_grid(*grid);
  if (result.grid) names.add_axes(*result.grid);
  if (auto precision = root.find("precision")) {
    const std::string single = name_of(Element::float32);
    result.precision_place = precision->place();
    if (precision->one_of({name_of(Element::float64), single}) == single) result.precision = Element::float32;
  }
  if (auto parameters = root.find("parameters"))
    for (const std::string& key : parameters->keys()) {
      names.add(key, "parameter", parameters->key_place(key));
      result.parameters.push_back(read_parameter(parameters->at(key), key, path));
    }
  read_state(root.at("state"), result, names);
  if (auto functions = root.find("functions")) read_functions(*functions, result, names);
  read_equations(root.at("equations"), result);
  read_time(root.at("time"), result);
  if (auto events = root.find("events")) result.events = read_events(*events, result.parameters);
  if (auto absorb = root.find("absorb")) result.absorb = read_absorb(*absorb, result.grid);
  if (auto sources = root.find("sources")) result.sources = read_sources(*sources, result);
  if (auto objective = root.find("objective"))
    for (const Value& item : objective->items()) result.objective.push_back(read_term(item, result));
  if (auto unknowns = root.find("unknowns")) read_unknowns(*unknowns, result);
  if (auto checkpoints = root.find("checkpoints")) read_checkpoints(*checkpoints, result);
  if (auto inversion = root.find("inversion"))
    result.inversion = read_inversion(*inversion, result.unknowns, result.equations, result.objective);
  if (auto petsc = root.find("petsc")) result.petsc = {petsc->text(), petsc->place()};
  if (auto output = root.find("output")) read_output(*output, result);
  root.finish();
  if (result.grid) {
    std::vector<std::string> fields;
    for (const StateText& s : result.state) fields.push_back(s.name);
    for (const AxisText& axis : result.grid->axes)
      for (const auto& side : axis.field_sides)
        for (const auto& [field, rule] : side)
          if (std::find(fields.begin(), fields.end(), field) == fields.end())
            throw InputError(axis.place, "boundary of axis " + axis.name + ": '" + field + "' is not a state" +
                                             did_you_mean(field, fields));
  }
  for (const ParameterText& p : result.parameters)
    if (!result.grid && (p.kind == ParameterText::Kind::field || p.kind == ParameterText::Kind::field_file))
      throw InputError(p.place, "parameter '" + p.name + "' is a field, but the case has no grid");
  if (!result.unknowns.empty() && result.objective.empty())
    throw InputError(result.unknowns[0].place, "unknowns need an objective");
  if (result.inversion && result.unknowns.empty()) throw InputError({path, 0, 0}, "an inversion needs unknowns");
  return result;
}

/// The cases of the rows; those that are not the first give the case their problems.
class Shots {
 public:
  Shots(const std::string& path, const std::string& text, const std::vector<Override>& overrides,
        bool is_to_be_observed)
      : path_(path), text_(text), overrides_(overrides), is_to_be_observed_(is_to_be_observed) {}

  Case one(const ShotRow& row) const {
    std::vector<Override> all = overrides_;
    all.insert(all.end(), row.set.begin(), row.set.end());
    const Value root = load_document(path_, text_, all, &row.name);
    Case c = read_page(root, path_, is_to_be_observed_);
    c.resolved = to_yaml(root, path_, {});
    return c;
  }

  Case all(const ShotTable& table) const {
    std::optional<Case> result;
    std::vector<ExcludedShot> excluded;
    for (const ShotRow& row : table.rows) {
      try {
        Case own = one(row);
        if (!result) result = own;
        result->shots.push_back({row.name, row.weight, std::move(static_cast<ProblemText&>(own)), row.place});
      } catch (const MissingFile& missing) {
        if (!table.excludes_failing) throw InputError(row.place, "shot '" + row.name + "': " + missing.what());
        excluded.push_back({row.name, missing.what()});
      } catch (const InputError& error) {
        const bool is_of_row = result || fault_of_page(row) != error.what();
        throw InputError((is_of_row ? row.place.prefix() + "shot '" + row.name + "': " : "") + error.what());
      }
    }
    if (!result)
      throw InputError(table.rows.front().place, "shots: none is left, all are excluded; '" + excluded.front().name +
                                                     "' because of this: " + excluded.front().reason);
    result->shot_table = table.file;
    result->excludes_failing_shots = table.excludes_failing;
    result->excluded_shots = std::move(excluded);
    return *std::move(result);
  }

 private:
  /// Without the row's values; empty: there is none.
  std::string fault_of_page(const ShotRow& row) const {
    try {
      one({row.name, row.weight, {}, row.place});
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  const std::string& path_;
  const std::string& text_;
  const std::vector<Override>& overrides_;
  bool is_to_be_observed_;
};

}  // namespace

Case parse_case(const std::string& path, const std::string& given, const std::vector<std::string>& words,
                const std::string& shot, bool is_to_be_observed) {
  const std::string text = utf8_text(path, given);
  const std::vector<Override> overrides = overrides_of(words);
  Value root = load_document(path, text, overrides);
  const auto section = root.find("shots");
  if (!section) {
    if (!shot.empty()) throw InputError({path, 0, 0}, "--shot " + shot + ": the case has no shots");
    refuse_shot_names(root);
    Case result = read_page(root, path, is_to_be_observed);
    choose_shots(root, {}, result);
    result.resolved = to_yaml(root, path, {});
    return result;
  }
  const ShotTable table = read_shots(*section, root, path);
  const Shots shots(path, text, overrides, is_to_be_observed);
  if (!shot.empty()) return shots.one(table.named(shot));
  Case result = shots.all(table);
  choose_shots(root, table.names(), result);
  result.resolved = to_yaml(root, path, to_node(table, path));
  return result;
}

namespace {

/// @param are_written data of misfits are, and are read only where they are tables of places.
void add_inputs(const ProblemText& problem, bool are_written, std::vector<std::string>& all) {
  const auto add = [&](const std::string& file) {
    if (!file.empty() && std::ranges::find(all, file) == all.end()) all.push_back(file);
  };
  for (const ParameterText& p : problem.parameters) add(p.file);
  for (const TermText& term : problem.objective) {
    if (!are_written || term.places_file.empty()) add(term.data);
    add(term.places_file);
  }
  for (const SourceText& source : problem.sources) add(source.file);
  add(problem.time.table);
}

}  // namespace

bool has_stages(const Case& c) {
  return c.inversion && !c.inversion->stages.empty();
}

std::vector<InversionStage> stages_of(const Case& c) {
  if (has_stages(c)) return c.inversion->stages;
  InversionStage whole{c.inversion.value_or(CaseInversion{}), {}, {}};
  for (std::size_t i = 0; i < c.unknowns.size(); ++i) whole.unknowns.push_back(i);
  return {whole};
}

std::int64_t iterations_of(const std::vector<InversionStage>& stages) {
  std::int64_t sum = 0;
  for (const InversionStage& stage : stages) sum += stage.iterations;
  return sum;
}

std::vector<std::string> Case::inputs() const {
  std::vector<std::string> all{file};
  add_inputs(*this, is_to_be_observed, all);
  for (const Shot& s : shots) add_inputs(s.problem, is_to_be_observed, all);
  if (!shot_table.empty()) all.push_back(shot_table);
  return all;
}

Case read_case(const std::string& path, const std::vector<std::string>& overrides, const std::string& shot,
               bool is_to_be_observed) {
  return parse_case(path, read_regular_file(path, "a case", most_bytes), overrides, shot, is_to_be_observed);
}

}  // namespace hindsight
