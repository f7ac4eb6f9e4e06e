#include "io/case/document.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>

#include "runtime/environment.hpp"
#include "runtime/nearest_name.hpp"
#include "solvers/equations/parser.hpp"

namespace hindsight {
namespace {

constexpr int deepest_nesting = 60;
constexpr const char* shot_mark = "{shot}";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// yaml-cpp recurses without a limit: refuse what would overflow its stack.
void check_nesting(const std::string& path, const std::string& text) {
  int depth = 0, line = 1, dashes = 0;
  bool at_start = true;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      dashes = 0;
      at_start = true;
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') depth = std::max(0, depth - 1);
    if (at_start && (c == '-' || c == '?' || c == ':')) ++dashes;
    if (c != '-' && c != ' ' && c != '?' && c != ':') at_start = false;
    if (depth > deepest_nesting || dashes > deepest_nesting)
      throw InputError({path, line, 0}, "lists and maps are nested too deeply (60 levels)");
  }
  std::size_t deepest_indent = 0, indent = 0;
  std::set<std::size_t> indents;
  at_start = true;
  for (const char c : text) {
    if (c == '\n') {
      indent = 0;
      at_start = true;
    } else if (at_start && c == ' ') {
      ++indent;
    } else if (at_start) {
      at_start = false;
      indents.insert(indent);
      deepest_indent = std::max(deepest_indent, indent);
    }
  }
  if (indents.size() > static_cast<std::size_t>(deepest_nesting) * 2)
    throw InputError({path, 0, 0}, "lists and maps are nested too deeply (60 levels)");
}

/// @throws InputError when one of the first lines is indented with a tab, which YAML takes for text.
void refuse_tabs(const std::string& path, const std::string& text, int lines) {
  std::istringstream stream(text);
  int number = 0;
  for (std::string line; ++number <= lines && std::getline(stream, line);) {
    const std::size_t tab = line.find('\t'), begin = line.find_first_not_of(" \t\r");
    if (tab < begin && begin != std::string::npos && line[begin] != '#')
      throw InputError({path, number, static_cast<int>(tab) + 1},
                       "a tab stands where YAML wants spaces: indent with spaces");
  }
}

/// "---" or "...", alone or before a space.
bool is_marker(const std::string& line, const char* marker) {
  return line.starts_with(marker) && (line.size() == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r');
}

/// @throws InputError where a second document begins, which yaml-cpp would not read: what it has for several documents
/// (LoadAll) does not end on some texts.
void refuse_second_document(const std::string& path, const std::string& text) {
  std::istringstream stream(text);
  bool has_begun = false, has_ended = false;
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#' || (!has_begun && line[begin] == '%')) continue;
    const bool is_end = is_marker(line, "...");
    if (has_begun && !is_end && (has_ended || is_marker(line, "---")))
      throw InputError({path, number, 0}, "a second YAML document begins here: a case is a single one");
    has_ended = has_ended || (is_end && has_begun);
    has_begun = has_begun || !is_end;
  }
}

YAML::Node load(const std::string& path, const std::string& text) {
  check_nesting(path, text);
  refuse_second_document(path, text);
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    refuse_tabs(path, text, error.mark.line + 1);
    const bool names_shots = text.find(shot_mark) != std::string::npos;
    throw InputError({path, error.mark.line + 1, error.mark.column + 1},
                     "not valid YAML: " + error.msg +
                         (names_shots ? "; within [] and {}, texts with {shot} need quotes around them" : ""));
  }
}

bool is_index(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_axis(const std::string& text) {
  return text == "x" || text == "y" || text == "z";
}

void apply_override(YAML::Node root, const Override& given) {
  const SourcePlace& place = given.place;
  YAML::Node value = given.value();
  const std::vector<std::string> keys = split(given.key(), '.');
  YAML::Node node = root;
  for (std::size_t i = 0; i + 1 <= keys.size(); ++i) {
    const bool last = i + 1 == keys.size();
    YAML::Node child;
    if (node.IsSequence()) {
      if (!is_index(keys[i]) || keys[i].size() > 9 || std::stoul(keys[i]) >= node.size())
        throw InputError(place, given.key() + ": '" + keys[i] + "' is not an index of the list (0 to " +
                                    std::to_string(node.size() - 1) + ")" +
                                    (is_axis(keys[i]) ? "; a place can be written {x: ..., y: ...} in its stead" : ""));
      if (last) {
        node[std::stoul(keys[i])] = value;
        return;
      }
      child.reset(node[std::stoul(keys[i])]);
    } else if (node.IsMap() || node.IsNull()) {
      if (last) {
        node[keys[i]] = value;
        return;
      }
      if (!node[keys[i]]) node[keys[i]] = YAML::Node(YAML::NodeType::Map);
      child.reset(node[keys[i]]);
      if (child.IsScalar()) {  // the short form `k: 0.06` stands for `k: {value: 0.06}`
        YAML::Node map(YAML::NodeType::Map);
        map["value"] = YAML::Clone(child);
        node[keys[i]] = map;
        child.reset(node[keys[i]]);
      }
    } else {
      throw InputError(place, "'" + keys[i] + "' is not inside a map");
    }
    node.reset(child);
  }
}

/// Calls `visit` with every scalar below.
void for_each_scalar(YAML::Node node, const std::function<void(YAML::Node)>& visit) {
  if (node.IsScalar()) return visit(node);
  if (node.IsSequence())
    for (const YAML::Node& item : node) for_each_scalar(item, visit);
  if (node.IsMap())
    for (const auto& entry : node) for_each_scalar(entry.second, visit);
}

void name_shot(YAML::Node root, const std::string& name) {
  for_each_scalar(root, [&](YAML::Node scalar) {
    std::string text = scalar.Scalar();
    bool is_found = false;
    for (std::size_t at; (at = text.find(shot_mark)) != std::string::npos; is_found = true)
      text.replace(at, std::string_view(shot_mark).size(), name);
    if (is_found) scalar = text;
  });
}

YAML::Node document(const std::string& path, const std::string& text, const std::vector<Override>& overrides) {
  YAML::Node root = load(path, text);
  for (const Override& o : overrides) apply_override(root, o);
  return root;
}

}  // namespace

YAML::Node Override::value() const {
  try {
    return YAML::Load(text.substr(text.find('=') + 1));
  } catch (const YAML::Exception&) {
    throw InputError(place, "the value of '" + text + "' is not valid YAML");
  }
}

std::vector<Override> overrides_of(const std::vector<std::string>& words) {
  std::vector<Override> all;
  for (const std::string& word : words) {
    all.push_back({word, {"--set " + word, 0, 0}});
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) throw InputError(all.back().place, "write --set key.key=value");
  }
  return all;
}

Value::Value(std::shared_ptr<const CaseSource> source, YAML::Node node, std::string path)
    : source_(std::move(source)), node_(std::move(node)), path_(std::move(path)) {}

namespace {

/// `path` is `key` or something below it.
bool lies_in(const std::string& path, const std::string& key) {
  return path == key || (path.starts_with(key) && path[key.size()] == '.');
}

}  // namespace

/// What an override gave has no place in the file, nor has a map that an override made.
SourcePlace Value::place() const {
  for (auto o = source_->overrides.rbegin(); o != source_->overrides.rend(); ++o)
    if (lies_in(path_, o->key())) return o->place;
  const YAML::Mark mark = node_.Mark();
  if (!mark.is_null()) return {source_->path, mark.line + 1, mark.column + 1};
  for (const Override& o : source_->overrides)
    if (!path_.empty() && lies_in(o.key(), path_)) return o.place;
  return {source_->path, 0, 0};
}

void Value::fail(const std::string& message) const {
  throw InputError(place(), message);
}

void Value::require_map() const {
  if (!node_.IsMap()) fail((path_.empty() ? "the case" : path_) + " must be a map (key: value)");
}

std::vector<std::string> Value::keys() const {
  require_map();
  std::vector<std::string> all;
  std::set<std::string> known;
  for (const auto& entry : node_) {
    if (!entry.first.IsScalar()) Value(source_, entry.first, path_).fail("a key must be a name");
    const std::string key = entry.first.Scalar();
    if (!known.insert(key).second)
      Value(source_, entry.first, path_).fail("duplicate key '" + key + "'" + (path_.empty() ? "" : " in " + path_));
    all.push_back(key);
  }
  return all;
}

SourcePlace Value::key_place(const std::string& key) const {
  for (const auto& entry : node_)
    if (entry.first.Scalar() == key) {
      // Overridden keys have no place in the file.
      const Value found(source_, entry.first, (path_.empty() ? "" : path_ + ".") + key);
      return found.place();
    }
  return place();
}

std::optional<Value> Value::find(const std::string& key) {
  asked_->push_back(key);
  if (path_.empty() && !node_.IsMap()) require_map();
  keys();
  for (const auto& entry : node_)
    if (entry.first.Scalar() == key) {
      if (entry.second.IsNull()) return std::nullopt;
      return Value(source_, entry.second, (path_.empty() ? "" : path_ + ".") + key);
    }
  return std::nullopt;
}

bool Value::has(const std::string& key) const {
  const std::vector<std::string> all = keys();
  return std::find(all.begin(), all.end(), key) != all.end();
}

Value Value::at(const std::string& key) {
  std::optional<Value> found = find(key);
  if (found) return *found;
  std::vector<std::string> others = keys();
  std::erase_if(others,
                [&](const std::string& k) { return std::find(asked_->begin(), asked_->end(), k) != asked_->end(); });
  const std::string misspelt = nearest_name(key, others);
  const std::string missing = "missing key '" + key + "'" + (path_.empty() ? "" : " in " + path_);
  if (misspelt.empty()) fail(missing);
  throw InputError(key_place(misspelt), missing + "; is it meant by '" + misspelt + "'?");
}

void Value::finish() const {
  for (const std::string& key : keys()) {
    if (std::find(asked_->begin(), asked_->end(), key) != asked_->end()) continue;
    throw InputError(key_place(key), "unknown key '" + key + "'" + (path_.empty() ? "" : " in " + path_) +
                                         did_you_mean(key, *asked_) + "; allowed: " + join(*asked_));
  }
}

std::vector<Value> Value::items() const {
  if (!node_.IsSequence()) fail(path_ + " must be a list");
  std::vector<Value> all;
  for (std::size_t i = 0; i < node_.size(); ++i) all.emplace_back(source_, node_[i], path_ + "." + std::to_string(i));
  return all;
}

std::string Value::text() const {
  if (!node_.IsScalar()) fail(path_ + " must be a text");
  return node_.Scalar();
}

std::string Value::yaml() const {
  YAML::Emitter emitter;
  emitter.SetSeqFormat(YAML::Flow);
  emitter.SetMapFormat(YAML::Flow);
  emitter << node_;
  return emitter.c_str();
}

Text Value::expression() const {
  if (!node_.IsScalar()) fail(path_ + " must be an expression");
  Text result{node_.Scalar(), place()};
  if (result.place.line >= 1 && result.place.line <= static_cast<int>(source_->lines.size())) {
    const std::string& line = source_->lines[static_cast<std::size_t>(result.place.line - 1)];
    const auto column = static_cast<std::size_t>(result.place.column - 1);
    if (column < line.size()) {
      const char first = line[column];
      if (first == '"' || first == '\'') ++result.place.column;
      if (first == '|' || first == '>') result.place.column = 0;
    }
  }
  return result;
}

double Value::number_or_infinity() const {
  if (!node_.IsScalar() || node_.Scalar().empty()) fail(path_ + " must be a number");
  double value = 0.0;
  if (!YAML::convert<double>::decode(node_, value)) {
    try {
      value = parse_number(node_.Scalar());
    } catch (const InputError& error) {
      fail(path_ + " must be a number, not '" + node_.Scalar() + "': " + error.what());
    }
  }
  if (std::isnan(value)) fail(path_ + " is not a number");
  return value;
}

double Value::number() const {
  const double value = number_or_infinity();
  if (!std::isfinite(value)) fail(path_ + " must be finite");
  return value;
}

std::int64_t Value::integer() const {
  const double value = number();
  if (value != std::nearbyint(value) || std::fabs(value) > 9e15) fail(path_ + " must be a whole number");
  return static_cast<std::int64_t>(value);
}

bool Value::boolean() const {
  const std::string value = text();
  if (value == "true") return true;
  if (value == "false") return false;
  fail(path_ + " must be true or false, not '" + value + "'");
}

std::string Value::one_of(const std::vector<std::string>& allowed) const {
  std::string value = text();
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
    fail(path_ + " cannot be '" + value + "'" + did_you_mean(value, allowed) + "; allowed: " + join(allowed));
  return value;
}

Value load_document(const std::string& path, const std::string& text, const std::vector<Override>& overrides,
                    const std::string* shot) {
  auto source = std::make_shared<CaseSource>();
  source->path = path;
  source->lines = split(text, '\n');
  source->overrides = overrides;
  YAML::Node root = document(path, text, overrides);
  if (shot != nullptr) name_shot(root, *shot);
  return {source, root, ""};
}

void refuse_shot_names(const Value& document) {
  for_each_scalar(document.node(), [&](const YAML::Node& scalar) {
    if (scalar.Scalar().find(shot_mark) == std::string::npos) return;
    const SourcePlace place = document.place();
    const YAML::Mark mark = scalar.Mark();
    throw InputError(mark.is_null() ? place : SourcePlace{place.file, mark.line + 1, mark.column + 1},
                     "'" + scalar.Scalar() + "': {shot} stands for the names of shots, and the case has no shots");
  });
}

namespace {

void make_absolute(YAML::Node path, const std::string& case_path) {
  if (path.IsDefined() && path.IsScalar()) path = absolute_path(path.Scalar(), case_path);
}

/// The paths of a case, as they are from any folder.
void make_paths_absolute(YAML::Node root, const std::string& case_path) {
  if (root["time"] && root["time"].IsMap() && root["time"]["times"]) make_absolute(root["time"]["times"], case_path);
  if (YAML::Node parameters = root["parameters"]; parameters.IsMap())
    for (auto parameter : parameters)
      if (parameter.second.IsMap())
        for (const char* key : {"file", "series"})
          if (parameter.second[key]) make_absolute(parameter.second[key], case_path);
  if (YAML::Node objective = root["objective"]; objective.IsSequence())
    for (auto term : objective)
      if (term["misfit"]) make_absolute(term["misfit"]["data"], case_path);
  if (YAML::Node checkpoints = root["checkpoints"]; checkpoints.IsMap() && checkpoints["disk"].IsMap())
    if (YAML::Node folder = checkpoints["disk"]["directory"]; folder.IsDefined() && folder.IsScalar())
      if (!begins_with_variable(folder.Scalar())) make_absolute(folder, case_path);
}

void remove_shots(YAML::Node root) {
  root.remove("shots");
  if (YAML::Node inversion = root["inversion"]; inversion.IsMap() && inversion["stages"].IsSequence())
    for (auto stage : inversion["stages"])
      if (stage.IsMap()) stage.remove("shots");
}

}  // namespace

std::string resolve(const std::string& path, const std::string& case_path) {
  const std::filesystem::path p(path);
  return p.is_absolute() ? path : (std::filesystem::path(case_path).parent_path() / p).lexically_normal().string();
}

std::string absolute_path(const std::string& path, const std::string& case_path) {
  return std::filesystem::absolute(resolve(path, case_path)).lexically_normal().string();
}

std::string to_yaml(const Value& document, const std::string& path, const YAML::Node& shots) {
  YAML::Node root = YAML::Clone(document.node());
  make_paths_absolute(root, path);
  if (shots.IsNull())
    remove_shots(root);
  else
    root["shots"] = shots;
  YAML::Emitter emitter;
  emitter << root;
  return std::string(emitter.c_str()) + "\n";
}

}  // namespace hindsight
