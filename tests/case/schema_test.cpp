// The printed JSON Schema accepts every shipped case and every template, and refuses what the reader refuses.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "io/case/case.hpp"
#include "tests/places.hpp"

namespace hindsight {
namespace {

const char* const validate = R"py(
import json, pathlib, sys, jsonschema, yaml

class Loader(yaml.SafeLoader):
    pass

# YAML 1.2 numbers such as 1e-3, which the reader accepts.
Loader.add_implicit_resolver('tag:yaml.org,2002:float', __import__('re').compile(r'^[-+]?[0-9][0-9.]*[eE][-+]?[0-9]+$'),
                             list('-+0123456789'))
schema = json.load(open(sys.argv[1]))
validator = jsonschema.Draft202012Validator(schema)
for path in sys.argv[2:]:
    validator.validate(yaml.load(open(path), Loader))
bad = yaml.load(open(sys.argv[2]), Loader)
bad['tmie'] = {}
assert not validator.is_valid(bad)

name = jsonschema.Draft202012Validator(schema['properties']['case'])
for good, text in [(True, 'lynx-hare'), (True, 'Wärme 2.0'), (False, ''), (False, '../x'), (False, 'a/b'), (False, '.'),
                   (False, '.a'), (False, '-a'), (False, 'a\nb'), (False, 'a\x85')]:
    assert name.is_valid(text) == good, text

for part, value, is_good in [('parameters', {'a': '8/3'}, True), ('parameters', {'a': [1]}, False),
                             ('time', {'step': '2*pi/24', 'to': '3/2'}, True), ('time', {'step': -1, 'to': 1}, False),
                             ('time', {'step': 0.1, 'until': 'norm(u) < 1', 'at most': '2^4'}, True),
                             ('grid', {'x': {'cells': '2^5', 'from': '-pi', 'to': 'pi'}}, True),
                             ('grid', {'x': {'cells': 0}}, False), ('inversion', {'gradient': '1e-6/2'}, True),
                             ('inversion', {'stages': [{'iterations': 3, 'shots': ['a', 'b'], 'unknowns': ['k']}]}, True),
                             ('inversion', {'stages': [{'shots': {'every': 2, 'from': 1}, 'relative': 0.1}]}, True),
                             ('inversion', {'stages': [{'filter': {'lowpass': 3, 'misfits': [0]}}]}, True),
                             ('inversion', {'stages': [{'filter': {'misfits': [0]}}]}, False),
                             ('inversion', {'preconditioner': 'illumination'}, True),
                             ('inversion', {'history': 20}, True),
                             ('inversion', {'history': 0}, False),
                             ('inversion', {'stages': [{'shots': {'from': 1}}]}, False), ('inversion', {'stages': []}, False),
                             ('unknowns', {'a': {'where': 'y > 0.5'}}, True), ('unknowns', {'a': {'where': ['y']}}, False),
                             ('unknowns', {'a': {'bounds': ['1/2', 2], 'prior': {'mean': '5/2', 'sd': '1/8'}}}, True)]:
    case = {'case': 'c', 'state': {'u': {'initial': 1}}, 'equations': {'dt(u)': 0}, 'time': {'step': 0.1, 'to': 1}}
    case[part] = value
    assert validator.is_valid(case) == is_good, (part, value)

checkpoints = jsonschema.Draft202012Validator(schema['properties']['checkpoints'])
for good, keys in [(True, 'codec: zstd'), (True, 'codec: zfp, tolerance: 1e-6'), (True, 'codec: zfp, accept: 1e-5'),
                   (True, 'codec: quantised, tolerance: 1e-5, then: lz4'), (False, 'codec: quantised'),
                   (True, 'codec: float32, then: lz4, accept: 1e-5'), (False, 'codec: zip'), (False, 'codec: zfp'),
                   (True, 'codec: zstd, difference: neighbour'), (True, 'codec: zfp, accept: 1e-3, difference: none'),
                   (True, 'codec: float32, then: lz4, difference: neighbour'), (False, 'difference: neighbour'),
                   (False, 'codec: float32, difference: neighbour'), (False, 'codec: none, difference: neighbour'),
                   (False, 'codec: zstd, difference: true'), (True, 'codec: float32, difference: none'),
                   (False, 'tolerance: 1e-3'), (False, 'codec: zfp, tolerance: 0'), (False, 'codec: zstd, accept: 1e-3'),
                   (False, 'codec: float32, tolerance: 1e-3'), (False, 'codec: zfp, tolerance: 1e-3, then: zstd')]:
    for tier in ['host', 'disk']:
        assert checkpoints.is_valid({tier: yaml.load('{size: 1 GiB, ' + keys + '}', Loader)}) == good, keys

case = {'case': 'c', 'state': {'u': {'initial': 1}}, 'equations': {'dt(u)': 0}, 'time': {'step': 0.1, 'to': 1}}
for good, keys in [(True, ''), (True, ', filter: {lowpass: 5, order: 2, phase: zero}'),
                   (True, ', filter: {bandpass: [3, 10]}, window: {from: 0, taper: 0.1}, weight: "exp(-t)"'),
                   (False, ', filter: {}'), (False, ', filter: {lowpass: 5, highpass: 3}'),
                   (False, ', filter: {bandpass: [3]}'), (False, ', window: {until: 3}'),
                   (True, ', shape: {box: [0.1, 0]}'), (True, ', shape: {gaussian: 0.1}'), (False, ', shape: {}'),
                   (False, ', shape: {box: 1, gaussian: 1}')]:
    case['objective'] = yaml.load('[{misfit: {of: u, data: d.csv' + keys + '}}]', Loader)
    assert validator.is_valid(case) == good, keys
)py";

TEST(Schema, AcceptsTheShippedCases) {
  if (std::system("/usr/bin/python3 -c 'import jsonschema, yaml' 2> /dev/null") != 0) GTEST_SKIP() << "no jsonschema";
  const std::string folder = testing::TempDir() + "schema";
  ASSERT_EQ(std::system(("mkdir -p " + folder).c_str()), 0);
  std::ofstream(folder + "/schema.json") << case_schema();
  std::ofstream(folder + "/validate.py") << validate;
  std::ofstream(folder + "/ode.yaml") << case_template("ode");
  std::ofstream(folder + "/pde.yaml") << case_template("pde");
  EXPECT_EQ(
      std::system(("/usr/bin/python3 " + folder + "/validate.py " + folder + "/schema.json " + folder + "/*.yaml " +
                   test::source_folder() + "/cases/*.yaml " + std::string(test::source_folder()) + "/cases/data/*.yaml")
                      .c_str()),
      0);
}

TEST(Schema, TemplatesAreGoodCases) {
  for (const char* kind : {"ode", "pde"})
    EXPECT_NO_THROW(read_problem(parse_case("template.yaml", case_template(kind), {})));
  EXPECT_THROW(case_template("odd"), InputError);
}

}  // namespace
}  // namespace hindsight
