#include "io/case/shots.hpp"

#include <algorithm>
#include <optional>
#include <regex>
#include <set>

#include "io/case/csv.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {
namespace {

constexpr const char* name_key = "shot";
constexpr const char* weight_key = "weight";

/// Sections in which shots may differ.
const std::vector<std::string> own_sections = {"parameters", "state",   "functions", "time",
                                               "events",     "sources", "objective"};

std::vector<std::string> keys_of(Value page, const std::string& section) {
  const auto found = page.find(section);
  return found && found->is_map() ? found->keys() : std::vector<std::string>();
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Columns that may be meant by one that is unknown.
std::vector<std::string> columns_of(const Value& page) {
  std::vector<std::string> all{name_key, weight_key};
  for (const std::string& p : keys_of(page, "parameters")) all.push_back("parameters." + p);
  for (const std::string& s : keys_of(page, "state")) all.push_back("state." + s + ".initial");
  return all;
}

[[noreturn]] void refuse_column(const std::string& key, const Value& page, const SourcePlace& place) {
  const std::string head = key.substr(0, key.find('.'));
  if (page.has(head) && !has(own_sections, head))
    throw InputError(place, "shots: '" + key + "': all shots have the case's " + head +
                                " in common; a shot may set keys in " + join(own_sections));
  const std::vector<std::string> columns = columns_of(page);
  const std::string meant =
      has(keys_of(page, "parameters"), key) ? "; did you mean 'parameters." + key + "'?" : did_you_mean(key, columns);
  throw InputError(place, "shots: unknown column '" + key + "'" + meant + "; allowed: shot, weight, and keys of the " +
                              "case in " + join(own_sections) + ", as --set takes them");
}

bool reads_name(const std::string& text, const std::string& name) {
  static const std::regex word("[A-Za-z_][A-Za-z0-9_]*");
  return std::any_of(std::sregex_iterator(text.begin(), text.end(), word), std::sregex_iterator(),
                     [&](const std::smatch& found) { return found.str() == name; });
}

/// Which cells of an unknown are unknown is the same in all shots: the names that its condition reads, as functions
/// may, too, are no shot's. @param name of a parameter or a function that a shot sets.
void require_no_condition_on(const std::string& name, const std::string& key, Value page, const SourcePlace& place) {
  std::set<std::string> names{name};  // whose values follow from it
  const auto reads_any = [&](const std::string& text) {
    return std::ranges::any_of(names, [&](const std::string& each) { return reads_name(text, each); });
  };
  auto functions = page.find("functions");
  for (std::size_t before = 0; functions && before < names.size();) {
    before = names.size();
    for (const std::string& call : functions->keys())
      if (const auto body = functions->find(call); body && reads_any(body->yaml()))
        names.insert(call.substr(0, call.find('(')));
  }
  for (const std::string& unknown : keys_of(page, "unknowns")) {
    auto settings = page.at("unknowns").find(unknown);
    const auto where = settings && settings->is_map() ? settings->find("where") : std::nullopt;
    if (where && reads_any(where->yaml()))
      throw InputError(place, "shots: '" + key + "': 'where' of " + unknown + " reads " + name +
                                  ", and the cells that are unknown are the same in all shots");
  }
}

/// @throws InputError unless shots may differ in the key and the page has it.
void require_settable(const std::string& key, const Value& page, const SourcePlace& place) {
  const std::size_t dot = key.find('.');
  const std::string head = key.substr(0, dot);
  if (!has(own_sections, head) || dot == std::string::npos) refuse_column(key, page, place);
  const std::string rest = key.substr(dot + 1);
  const std::string name = head == "functions" ? rest : rest.substr(0, rest.find('.'));
  const bool names_something = head == "parameters" || head == "state" || head == "functions";
  if (names_something && !has(keys_of(page, head), name)) refuse_column(key, page, place);
  const std::string unknown = head == "state" ? "initial(" + name + ")" : name;
  if (names_something && head != "functions" && has(keys_of(page, "unknowns"), unknown))
    throw InputError(place, "shots: '" + key + "': " + unknown + " is unknown, and unknowns are the same in all shots");
  if (head == "parameters" || head == "functions")
    require_no_condition_on(name.substr(0, name.find('(')), key, page, place);
}

/// The name of files and of columns in reports.
void require_name(const std::string& name, const SourcePlace& place) {
  static const std::regex allowed("[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}");
  if (!std::regex_match(name, allowed))
    throw InputError(place, "'" + name + "' is no name for a shot: up to 100 letters, digits, and _ . + - within");
}

double weight_of(const std::string& text, const SourcePlace& place) {
  Value value({}, YAML::Node(text), weight_key);
  try {
    const double weight = value.number();
    if (weight > 0) return weight;
  } catch (const InputError&) {
  }
  throw InputError(place, "shots: the weight of a shot is a positive number, not '" + text + "'");
}

/// An entry of a row.
void enter(ShotRow& row, const std::string& key, const std::string& text) {
  if (key == name_key) {
    row.name = text;
  } else if (key == weight_key) {
    row.weight = weight_of(text, row.place);
  } else {
    row.set.push_back({key + "=" + text, row.place});
  }
}

ShotTable from_file(const std::string& path, const Value& page) {
  const Table table(path);
  if (table.is_hdf5()) throw InputError({path, 0, 0}, "shots are a table of text, with commas between, and not HDF5");
  ShotTable result{path, false, {}};
  for (const std::string& column : table.names())
    if (column != name_key && column != weight_key) require_settable(column, page, {path, 0, 0});
  for (std::size_t r = 0; r < table.rows(); ++r) {
    ShotRow row{std::to_string(r + 1), 1.0, {}, table.place(r)};
    for (std::size_t c = 0; c < table.names().size(); ++c)
      if (!table.text(r, c).empty() || table.names()[c] == name_key) enter(row, table.names()[c], table.text(r, c));
    result.rows.push_back(row);
  }
  return result;
}

ShotTable from_page(const Value& list, const Value& page) {
  ShotTable result;
  for (Value item : list.items()) {
    ShotRow row{std::to_string(result.rows.size() + 1), 1.0, {}, item.place()};
    for (const std::string& key : item.keys()) {
      if (key != name_key && key != weight_key) require_settable(key, page, item.key_place(key));
      if (const auto value = item.find(key)) enter(row, key, value->yaml());
    }
    result.rows.push_back(row);
  }
  return result;
}

/// Whether it is the path of a file: objective.0.misfit.data, parameters.kappa.file.
bool is_path(const std::string& key) {
  if (key == "time.times") return true;
  const auto depth = std::ranges::count(key, '.');
  return depth >= 2 && (key.ends_with(".data") || key.ends_with(".file") || key.ends_with(".series"));
}

}  // namespace

std::vector<std::string> ShotTable::names() const {
  std::vector<std::string> names;
  for (const ShotRow& row : rows) names.push_back(row.name);
  return names;
}

const ShotRow& ShotTable::named(const std::string& name) const {
  for (const ShotRow& row : rows)
    if (row.name == name) return row;
  throw InputError("--shot: the case has no shot '" + name + "'" + did_you_mean(name, names()) +
                   "; shots: " + join(names()));
}

ShotTable read_shots(const Value& section, const Value& page, const std::string& case_path) {
  std::optional<Value> rows;  // Value is not assigned to: YAML's nodes are references
  bool excludes = false;
  if (Value map = section; map.is_map()) {
    rows.emplace(map.at("table"));
    if (const auto failing = map.find("failing")) excludes = failing->one_of({"stop", "exclude"}) == "exclude";
    map.finish();
  } else {
    rows.emplace(section);
  }
  const Value& shots = *rows;
  ShotTable table = shots.is_scalar() ? from_file(resolve(shots.text(), case_path), page) : from_page(shots, page);
  table.excludes_failing = excludes;
  if (table.rows.empty())
    throw InputError(table.file.empty() ? shots.place() : SourcePlace{table.file, 0, 0},
                     "shots: no rows: each is an experiment");
  std::set<std::string> taken;
  for (const ShotRow& row : table.rows) {
    require_name(row.name, row.place);
    if (!taken.insert(row.name).second) throw InputError(row.place, "shots: the name '" + row.name + "' stands twice");
  }
  return table;
}

YAML::Node to_node(const ShotTable& table, const std::string& case_path) {
  YAML::Node list(YAML::NodeType::Sequence);
  for (const ShotRow& row : table.rows) {
    YAML::Node entry(YAML::NodeType::Map);
    entry[name_key] = row.name;
    if (row.weight != 1.0) entry[weight_key] = row.weight;
    for (const Override& o : row.set) {
      YAML::Node value = o.value();
      if (is_path(o.key()) && value.IsScalar()) value = absolute_path(value.Scalar(), case_path);
      entry[o.key()] = value;
    }
    list.push_back(entry);
  }
  if (!table.excludes_failing) return list;
  YAML::Node section(YAML::NodeType::Map);
  section["table"] = list;
  section["failing"] = "exclude";
  return section;
}

}  // namespace hindsight
