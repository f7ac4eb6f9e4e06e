// The YAML document behind a case: loading, overrides, and typed access with errors that name file, line and column.
#pragma once

#include <yaml-cpp/yaml.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/case/case.hpp"

namespace hindsight {

/// A value in place of one of the file: "a.b.0.c=VALUE", and where it is written.
struct Override {
  std::string text;
  SourcePlace place;

  std::string key() const { return text.substr(0, text.find('=')); }
  /// @throws InputError when it is no YAML.
  YAML::Node value() const;
};

/// Those after --set.
std::vector<Override> overrides_of(const std::vector<std::string>& words);

/// A case file's text and its path; shared by all values read from it.
struct CaseSource {
  std::string path;
  std::vector<std::string> lines;
  std::vector<Override> overrides;
};

/// A value somewhere in the document: knows where it is and what to call it in messages. Maps remember which keys were
/// asked for, so that finish() can refuse the others.
class Value {
 public:
  Value(std::shared_ptr<const CaseSource> source, YAML::Node node, std::string path);

  const std::string& path() const { return path_; }
  const YAML::Node& node() const { return node_; }
  SourcePlace place() const;
  [[noreturn]] void fail(const std::string& message) const;

  bool is_map() const { return node_.IsMap(); }
  bool is_null() const { return node_.IsNull(); }
  bool is_scalar() const { return node_.IsScalar(); }

  // Maps. Each refuses values that are no map, and duplicate keys.
  bool has(const std::string& key) const;
  Value at(const std::string& key);                   ///< required
  std::optional<Value> find(const std::string& key);  ///< optional; null counts as absent
  std::vector<std::string> keys() const;
  SourcePlace key_place(const std::string& key) const;
  /// Refuses keys that were never asked for, naming the allowed ones.
  void finish() const;

  std::vector<Value> items() const;  ///< of a list

  std::string text() const;  ///< a string
  std::string yaml() const;  ///< anything, in one line
  Text expression() const;   ///< a string or number, as written
  double number() const;     ///< finite; written as a number or an expression of numbers: 8/3, 2*pi/24
  double number_or_infinity() const;
  std::int64_t integer() const;
  bool boolean() const;
  std::string one_of(const std::vector<std::string>& allowed) const;

 private:
  void require_map() const;
  std::shared_ptr<const CaseSource> source_;
  YAML::Node node_;
  std::string path_;
  std::shared_ptr<std::vector<std::string>> asked_ = std::make_shared<std::vector<std::string>>();
};

/// Parses text as a case document with overrides applied. @param shot the name that stands for `{shot}` in its texts;
/// null: they stay as they are. @throws InputError.
Value load_document(const std::string& path, const std::string& text, const std::vector<Override>& overrides,
                    const std::string* shot = nullptr);

/// @throws InputError where a text holds `{shot}`.
void refuse_shot_names(const Value& document);

/// A path in a case is relative to the case file.
std::string resolve(const std::string& path, const std::string& case_path);
/// The same from the root.
std::string absolute_path(const std::string& path, const std::string& case_path);

/// The document as YAML again, its paths absolute. @param shots in place of the section `shots`; null: without.
std::string to_yaml(const Value& document, const std::string& path, const YAML::Node& shots);

}  // namespace hindsight
