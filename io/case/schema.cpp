#include <nlohmann/json.hpp>

#include "adjoint/objective/term_kinds.hpp"
#include "adjoint/store/codecs/codecs.hpp"
#include "io/case/case.hpp"
#include "solvers/steppers/methods.hpp"
#include "solvers/time/step_sources.hpp"

namespace hindsight {
namespace {

using Json = nlohmann::ordered_json;

Json object(const Json& properties, const std::vector<std::string>& required = {}) {
  Json json = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) json["required"] = required;
  return json;
}

Json map_of(const Json& value) {
  return {{"type", "object"}, {"additionalProperties", value}};
}
Json either(const std::vector<Json>& kinds) {
  return {{"anyOf", kinds}};
}
Json reference(const std::string& name) {
  return {{"$ref", "#/$defs/" + name}};
}
Json choice(const std::vector<std::string>& names) {
  return {{"enum", names}};
}

const Json text = {{"type", "string"}};
const Json expression = {{"type", {"string", "number"}}};
/// One component of a path; the rule of the reader but for the length in bytes.
const Json folder_name = {
    {"type", "string"},
    {"pattern", R"(^[^\u0000-\u001f\u007f-\u009f/.\-][^\u0000-\u001f\u007f-\u009f/]*$)"},
};
const Json size = {{"type", {"string", "number"}}};

/// A number, or a text with an expression of numbers: 8/3. Bounds hold for those that are written as numbers.
Json number(const Json& bounds = Json::object()) {
  Json json = {{"type", {"number", "string"}}};
  json.update(bounds);
  return json;
}
Json whole(const Json& bounds) {
  Json json = {{"type", {"integer", "string"}}};
  json.update(bounds);
  return json;
}
const Json positive = number({{"exclusiveMinimum", 0}});
const Json not_negative = number({{"minimum", 0}});
const Json counting = whole({{"minimum", 1}});
const Json depth = whole({{"minimum", 0}, {"maximum", 64}});

Json with_codec(const std::vector<std::string>& codecs) {
  return {{"properties", {{"codec", choice(codecs)}}}, {"required", {"codec"}}};
}
Json only_with(const std::string& key, const std::vector<std::string>& codecs) {
  return {{"if", {{"required", {key}}}}, {"then", with_codec(codecs)}};
}

/// A slow tier's size and codec, and keys of its own.
Json tier(const Json& own = Json::object()) {
  Json keys = {{"size", size},
               {"codec", choice(codecs().names())},
               {"tolerance", number({{"exclusiveMinimum", 0}, {"exclusiveMaximum", 1}})},
               {"accept", positive},
               {"then", choice(compressor_names())},
               {"difference", choice({"none", "neighbour"})}};
  keys.update(own);
  Json json = object(keys, {"size"});
  json["allOf"] = {only_with("tolerance", codec_names(&CodecKind::has_tolerance)),
                   only_with("accept", codec_names(&CodecKind::is_lossy)),
                   only_with("then", codec_names(&CodecKind::may_be_followed)),
                   only_with("difference", codec_names(&CodecKind::takes_difference)),
                   {{"if",
                     {{"properties",
                       {{"codec", choice(codec_names(&CodecKind::needs_then_for_difference))},
                        {"difference", choice({"neighbour"})}}},
                      {"required", {"codec", "difference"}}}},
                    {"then", {{"required", {"then"}}}}},
                   {{"if", with_codec(codec_names(&CodecKind::has_tolerance))},
                    {"then", either({{{"required", {"tolerance"}}}, {{"required", {"accept"}}}})}}};
  return json;
}

Json shape() {
  const Json sizes = either({positive, {{"type", "array"}, {"items", not_negative}, {"minItems", 1}, {"maxItems", 3}}});
  return either({object({{"box", sizes}}, {"box"}), object({{"gaussian", sizes}}, {"gaussian"})});
}

/// @param own further keys.
Json filter(const Json& own = Json::object()) {
  Json keys = {{"lowpass", positive},
               {"highpass", positive},
               {"bandpass", {{"type", "array"}, {"items", positive}, {"minItems", 2}, {"maxItems", 2}}},
               {"order", whole({{"minimum", 1}, {"maximum", 16}})},
               {"phase", choice({"causal", "zero"})}};
  keys.update(own);
  Json json = object(keys);
  for (const char* kind : {"lowpass", "highpass", "bandpass"}) json["oneOf"].push_back({{"required", {kind}}});
  return json;
}

Json definitions() {
  const Json rule = either({object({{"value", expression}}, {"value"}), object({{"slope", expression}}, {"slope"})});
  const Json side = object({{"value", expression}, {"slope", expression}, {"fields", map_of(rule)}});
  Json both_sides = side;
  both_sides["properties"]["lower"] = side;
  both_sides["properties"]["upper"] = side;
  const Json axis = object({{"cells", counting},
                            {"from", number()},
                            {"to", number()},
                            {"boundary", either({choice({"periodic"}), both_sides})}},
                           {"cells"});
  const Json series = either({text, object({{"times", {{"type", "array"}, {"items", number()}}},
                                            {"values", {{"type", "array"}, {"items", number()}}}},
                                           {"times", "values"})});
  const Json parameter = either({number(), object({{"value", number()},
                                                   {"field", expression},
                                                   {"file", text},
                                                   {"dataset", text},
                                                   {"series", series},
                                                   {"time", text}})});
  const Json window = object({{"from", number()}, {"to", number()}, {"taper", not_negative}});
  const Json misfit = object({{"of", text},
                              {"data", text},
                              {"noise", either({positive, text})},
                              {"weights", choice({"linear", "sinc"})},
                              {"shape", shape()},
                              {"log", {{"type", "boolean"}}},
                              {"time", text},
                              {"value", text},
                              {"at", text},
                              {"every", positive},
                              {"dataset", text},
                              {"weight", expression},
                              {"window", window},
                              {"filter", filter()},
                              {"x", text},
                              {"y", text},
                              {"z", text}},
                             {"of", "data"});
  Json term_keys = {{"misfit", misfit}, {"weight", not_negative}};
  for (const std::string& kind : term_kinds().names()) term_keys[kind] = expression;
  const Json unknown =
      either({{{"type", "null"}},
              object({{"bounds", {{"type", "array"}, {"items", number()}, {"minItems", 2}, {"maxItems", 2}}},
                      {"scale", choice({"linear", "log"})},
                      {"where", expression},
                      {"prior", object({{"mean", number()}, {"sd", positive}}, {"mean", "sd"})}})});
  const Json shots = either({text, {{"type", "array"}, {"items", map_of(Json::object())}, {"minItems", 1}}});
  return {
      {"axis", axis}, {"parameter", parameter}, {"term", object(term_keys)}, {"shots", shots}, {"unknown", unknown}};
}

Json inversion() {
  const Json names = {{"type", "array"}, {"items", text}, {"minItems", 1}};
  const Json limits = {{"iterations", counting}, {"gradient", not_negative}, {"relative", not_negative}};
  Json stage = limits, all = limits;
  stage["unknowns"] = names;
  stage["filter"] = filter({{"misfits", {{"type", "array"}, {"items", whole({{"minimum", 0}})}, {"minItems", 1}}}});
  stage["shots"] = either({names, object({{"every", counting}, {"from", counting}}, {"every"})});
  all["method"] = choice({"lbfgs", "blmvm", "bqnls", "bncg"});
  all["history"] = whole({{"minimum", 1}, {"maximum", 1000}});
  all["preconditioner"] = choice({"none", "illumination"});
  all["stages"] = {{"type", "array"}, {"items", object(stage)}, {"minItems", 1}};
  return object(all);
}

}  // namespace

std::string case_schema() {
  const Json axis = reference("axis");
  const Json rate = either({expression, object({{"rhs", expression}, {"mass", expression}}, {"rhs"}),
                            object({{"explicit", expression}, {"implicit", expression}, {"mass", expression}})});
  const Json constraint =
      either({expression, object({{"rhs", expression}, {"balance", {{"type", "boolean"}}}}, {"rhs"})});
  Json schema = object(
      {{"case", folder_name},
       {"description", text},
       {"grid", object({{"x", axis},
                        {"y", axis},
                        {"z", axis},
                        {"order", {{"enum", {2, 4, 6, 8}}}},
                        {"means", choice({"arithmetic", "harmonic"})}},
                       {"x"})},
       {"precision", choice({name_of(Element::float64), name_of(Element::float32)})},
       {"parameters", map_of(reference("parameter"))},
       {"state", map_of(either({object({{"initial", expression}, {"rate", expression}}), {{"type", "null"}}}))},
       {"functions", map_of(expression)},
       {"equations",
        {{"type", "object"},
         {"patternProperties",
          {{"^dt\\(\\w+\\)$", rate}, {"^dtt\\(\\w+\\)$", expression}, {"^zero\\(\\w+\\)$", constraint}}},
         {"additionalProperties", false}}},
       {"time", object({{"method", choice(methods().names())},
                        {"theta", positive},
                        {"steps", choice(step_sources().names())},
                        {"from", number()},
                        {"step", positive},
                        {"tolerance", either({positive, object({{"relative", positive},
                                                                {"absolute", either({positive, map_of(positive)})}},
                                                               {"relative", "absolute"})})},
                        {"least", positive},
                        {"most", positive},
                        {"times", text},
                        {"to", number()},
                        {"until", text},
                        {"at most", counting},
                        {"switches", {{"type", "array"}, {"items", number()}}}})},
       {"events",
        {{"type", "array"},
         {"items", object({{"at", either({number(), {{"type", "array"}, {"items", number()}, {"minItems", 1}}})},
                           {"set", map_of(expression)}},
                          {"at", "set"})}}},
       {"absorb",
        either({object({{"sponge", counting}, {"strength", positive}, {"sides", {{"type", "array"}, {"items", text}}}},
                       {"sponge", "strength"}),
                object({{"pml", whole({{"minimum", 2}})},
                        {"speed", positive},
                        {"sides", {{"type", "array"}, {"items", text}}}},
                       {"pml"})})},
       {"sources",
        {{"type", "array"},
         {"items", object({{"to", text},
                           {"signal", text},
                           {"at", either({{{"type", "array"}, {"items", number()}},
                                          object({{"x", number()}, {"y", number()}, {"z", number()}})})},
                           {"table", text},
                           {"factor", number()},
                           {"weights", choice({"linear", "sinc"})},
                           {"shape", shape()}},
                          {"to", "signal"})}}},
       {"objective", {{"type", "array"}, {"items", reference("term")}}},
       {"shots",
        either({reference("shots"),
                object({{"table", reference("shots")}, {"failing", choice({"stop", "exclude"})}}, {"table"})})},
       {"unknowns", map_of(reference("unknown"))},
       {"checkpoints",
        object({{"schedule", choice(checkpoint_schedules())},
                {"period", counting},
                {"accept", positive},
                {"host", either({size, tier()})},
                {"device", size},
                {"disk", either({size, tier({{"directory", text}, {"queue", depth}, {"prefetch", depth}})})}})},
       {"petsc", text},
       {"inversion", inversion()},
       {"output",
        object({{"every", positive}, {"fields", {{"type", "array"}, {"items", text}}}, {"estimates", counting}})}},
      {"case", "state", "equations", "time"});
  Json document = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "A Hindsight case"}};
  document.update(schema);
  Json& ways = document["properties"]["time"]["anyOf"];  // to say which steps are taken
  for (const char* key : {"step", "tolerance", "times"}) ways.push_back({{"required", {key}}});
  document["$defs"] = definitions();
  return document.dump(2) + "\n";
}

}  // namespace hindsight
