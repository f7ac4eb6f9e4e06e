// The table of shots in a case: what rows set, what is refused, and what of it goes into a run's folder.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/case/case.hpp"

namespace hindsight {
namespace {

std::string folder() {
  static const std::string path = [] {
    const std::string p = testing::TempDir() + "shots-of-cases";
    std::filesystem::create_directories(p + "/data");
    const auto write = [&](const std::string& name, const std::string& text) { std::ofstream(p + "/" + name) << text; };
    for (const char* shot : {"hot", "cold", "3"})
      write(std::string("data/") + shot + ".csv", "time,value\n0.5,1\n1," + std::to_string(shot[0]) + "\n");
    write("shots.csv", "shot,parameters.k,weight,state.c.initial\nhot,2,,\ncold,0.5,3,2*k\n");
    write("twice.csv", "shot,parameters.k\nhot,2\nhot,3\n");
    write("empty.csv", "shot,parameters.k\n");
    write("column.csv", "shot,parameters.q\nhot,2\n");
    write("number.csv", "shot,parameters.k\nhot,much\n");
    return p;
  }();
  return path;
}

/// @param section what stands for `shots`.
std::string page(const std::string& section, const std::string& data = "\"data/{shot}.csv\"") {
  return "case: kinetics\nparameters: {k: 1, a: 0.3}\nstate: {c: {initial: 1}}\nequations: {dt(c): \"-k*a*c\"}\n"
         "time: {method: rk4, step: 0.1, to: 1}\nobjective: [{misfit: {of: c, data: " +
         data + "}}]\nunknowns: {a: {}}\nshots: " + section + "\n";
}

Case read(const std::string& section, const std::string& shot = "", const std::vector<std::string>& set = {}) {
  return parse_case(folder() + "/case.yaml", page(section), set, shot);
}

double value_of(const ProblemText& problem, const std::string& name) {
  for (const ParameterText& p : problem.parameters)
    if (p.name == name) return p.value;
  return -1.0;
}

TEST(Shots, AreRowsOfATable) {
  const Case c = read("shots.csv");
  ASSERT_EQ(c.shots.size(), 2U);
  EXPECT_EQ(c.shots[0].name, "hot");
  EXPECT_EQ(c.shots[0].weight, 1.0);
  EXPECT_EQ(c.shots[1].weight, 3.0);
  EXPECT_EQ(value_of(c.shots[0].problem, "k"), 2.0);
  EXPECT_EQ(value_of(c.shots[1].problem, "k"), 0.5);
  EXPECT_EQ(c.shots[0].problem.state[0].initial.text, "1");
  EXPECT_EQ(c.shots[1].problem.state[0].initial.text, "2*k");
  EXPECT_EQ(c.shots[0].problem.objective[0].observations[1].value, 'h');
  EXPECT_EQ(c.shots[1].problem.objective[0].observations[1].value, 'c');
  EXPECT_EQ(value_of(c, "k"), 2.0) << "the case is its first shot";
  EXPECT_EQ(c.shots[1].place.text(), folder() + "/shots.csv:3");
}

TEST(Shots, AreRowsInThePage) {
  const Case c = read("[{shot: hot, parameters.k: 4}, {shot: cold, weight: 2}, {time.to: 2}]");
  ASSERT_EQ(c.shots.size(), 3U);
  EXPECT_EQ(value_of(c.shots[0].problem, "k"), 4.0);
  EXPECT_EQ(value_of(c.shots[1].problem, "k"), 1.0);
  EXPECT_EQ(c.shots[2].name, "3") << "rows without a name have numbers";
  EXPECT_EQ(c.shots[2].problem.time.to, 2.0);
}

TEST(Shots, OneAloneIsACaseOfItsOwn) {
  const Case c = read("shots.csv", "cold", {"parameters.a=0.7"});
  EXPECT_TRUE(c.shots.empty());
  EXPECT_EQ(value_of(c, "k"), 0.5);
  EXPECT_EQ(value_of(c, "a"), 0.7);
  EXPECT_NE(c.resolved.find(folder() + "/data/cold.csv"), std::string::npos) << c.resolved;
  EXPECT_EQ(c.resolved.find("\nshots"), std::string::npos) << c.resolved;
}

TEST(Shots, AreReadAgainFromARunsFolder) {
  const std::string elsewhere = testing::TempDir() + "shots-elsewhere";
  std::filesystem::create_directories(elsewhere);
  for (const char* section : {"shots.csv", "[{shot: hot, objective.0.misfit.data: data/3.csv}, {shot: cold}]"}) {
    const Case c = read(section);
    const Case again = parse_case(elsewhere + "/case.yaml", c.resolved, {});
    ASSERT_EQ(again.shots.size(), c.shots.size());
    for (std::size_t i = 0; i < c.shots.size(); ++i) {
      EXPECT_EQ(again.shots[i].name, c.shots[i].name);
      EXPECT_EQ(again.shots[i].weight, c.shots[i].weight);
      EXPECT_EQ(again.shots[i].problem.objective[0].data, c.shots[i].problem.objective[0].data);
      EXPECT_EQ(value_of(again.shots[i].problem, "k"), value_of(c.shots[i].problem, "k"));
    }
    EXPECT_EQ(again.resolved, c.resolved);
  }
}

TEST(Shots, HaveAllFilesAmongTheInputs) {
  const std::vector<std::string> inputs = read("shots.csv").inputs();
  for (const char* file : {"/case.yaml", "/shots.csv", "/data/hot.csv", "/data/cold.csv"})
    EXPECT_EQ(std::ranges::count(inputs, folder() + file), 1) << file;
}

std::string refusal(const std::string& section, const std::string& shot = "") {
  try {
    read(section, shot);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Shots, AreRefusedWithTheirPlace) {
  const auto expect = [](const std::string& section, const std::vector<std::string>& parts,
                         const std::string& shot = "") {
    const std::string text = refusal(section, shot);
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << section << ": " << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  };
  expect("twice.csv", {"twice.csv:3", "'hot' stands twice"});
  expect("empty.csv", {"empty.csv", "no rows"});
  expect("[]", {"case.yaml:8", "no rows"});
  expect("nowhere.csv", {"nowhere.csv"});
  expect("column.csv", {"column.csv", "unknown column 'parameters.q'", "did you mean 'parameters."});
  expect("number.csv", {"number.csv:2", "parameters.k must be a number, not 'much'"});
  expect("[{shot: hot, k: 1}]", {"case.yaml:8:21", "did you mean 'parameters.k'"});
  expect("[{shot: hot, parameters.a: 1}]", {"case.yaml:8", "a is unknown", "the same in all shots"});
  expect("[{shot: hot, case: other}]", {"case.yaml:8", "in common"});
  expect("[{shot: hot, unknowns.a.scale: log}]", {"have the case's unknowns in common"});
  expect("[{shot: hot, objective.4.weight: 1}]", {"case.yaml:8", "'4' is not an index"});
  expect("[{shot: hot, weight: 0}]", {"case.yaml:8", "a positive number, not '0'"});
  expect("[{shot: a/b}]", {"case.yaml:8", "no name for a shot"});
  expect("[{shot: missing}]", {"missing.csv"});
  expect("shots.csv", {"no shot 'hut'", "did you mean 'hot'", "hot, cold"}, "hut");
}

TEST(Shots, AreChosenByStages) {
  const auto read_with = [](const std::string& stages) {
    return parse_case(folder() + "/case.yaml", page("[{shot: a}, {shot: b}, {shot: c}, {shot: d}]", "data/3.csv"),
                      {"inversion={iterations: 7, relative: 0.5, stages: " + stages + "}"});
  };
  const Case c = read_with("[{shots: [d, b]}, {shots: {every: 3}, iterations: 2}, {shots: {every: 2, from: 2}}, {}]");
  const std::vector<InversionStage>& stages = c.inversion->stages;
  ASSERT_EQ(stages.size(), 4U);
  EXPECT_EQ(stages[0].shots, (std::vector<std::string>{"d", "b"}));
  EXPECT_EQ(stages[1].shots, (std::vector<std::string>{"a", "d"}));
  EXPECT_EQ(stages[2].shots, (std::vector<std::string>{"b", "d"}));
  EXPECT_TRUE(stages[3].shots.empty());
  EXPECT_EQ(stages[0].iterations, 7);
  EXPECT_EQ(stages[1].iterations, 2);
  EXPECT_EQ(stages[3].relative, 0.5);
  EXPECT_EQ(stages[3].unknowns, std::vector<std::size_t>{0});
  for (const auto& [wrong, what] : {std::pair("[{shots: [a, e]}]", "inversion.stages.0.shots.1 cannot be 'e'"),
                                    {"[{}, {shots: [a, a]}]", "inversion.stages.1.shots: 'a' stands twice"},
                                    {"[{shots: []}]", "inversion.stages.0.shots names none"},
                                    {"[{shots: {from: 2}}]", "missing key 'every' in inversion.stages.0.shots"},
                                    {"[{shots: {every: 0}}]", "every must lie between 1 and 4, the number of shots"},
                                    {"[{shots: {every: 2, from: 5}}]", "from must lie between 1 and 4"},
                                    {"[{shots: {every: 2, form: 2}}]", "did you mean 'from'?"},
                                    {"[{shots: a}]", "inversion.stages.0.shots must be a list"}}) {
    try {
      read_with(wrong);
      ADD_FAILURE() << wrong;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  }
}

/// Which cells of a field are unknown is the same in all shots, however that is said.
TEST(Shots, DoNotChangeTheCellsThatAreUnknown) {
  const auto read_with = [](const std::string& shots) {
    return parse_case(folder() + "/case.yaml",
                      "case: field\ngrid: {x: {cells: 8, to: 1}}\n"
                      "parameters: {k: 1, edge: 0.5, q: 2, a: {field: x}}\nstate: {c: {initial: 1}}\n"
                      "functions: {far(z): \"z > limit()\", limit(): \"edge^2\"}\n"
                      "equations: {dt(c): \"-k*a*c\"}\ntime: {method: rk4, step: 0.1, to: 1}\nobjective: [final: c]\n"
                      "unknowns: {a: {where: \"far(q*x)\"}, k: }\nshots: [{" +
                          shots + "}]\n",
                      {});
  };
  EXPECT_EQ(read_with("state.c.initial: 2").shots.size(), 1U);
  for (const auto& [key, name] :
       {std::pair("parameters.edge", "edge"), {"parameters.q.value", "q"}, {"functions.limit()", "limit"}}) {
    try {
      read_with(std::string(key) + ": 3");
      ADD_FAILURE() << key;
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()), folder() + "/case.yaml:10:10: shots: '" + key + "': 'where' of a reads " +
                                               name + ", and the cells that are unknown are the same in all shots");
    }
  }
}

TEST(Shots, NeedTheSection) {
  const std::string text = page("x");
  const std::string without = text.substr(0, text.find("shots:"));
  try {
    parse_case(folder() + "/case.yaml", without, {});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("the case has no shots"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("case.yaml:6"), std::string::npos) << error.what();
  }
  const std::string unquoted = page("shots.csv", "data/{shot}.csv");
  try {
    parse_case(folder() + "/case.yaml", unquoted, {});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("need quotes"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hindsight
