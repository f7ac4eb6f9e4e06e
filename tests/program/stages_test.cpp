// Inversions in stages through the program: which shots and unknowns count when, what is said of it, and the same bits
// through groups, kills and resumed runs.
// starts: ranks
#include <hdf5.h>

#include <cmath>

#include "tests/program/resumed_run.hpp"

namespace hindsight {
namespace {

using namespace test;

class Stages : public Resume {
 protected:
  /// The upper half of `a` is unknown.
  static void write_stages(const std::string& stages, const std::string& more = "") {
    write_text("case.yaml", R"yaml(
case: waves
grid: {x: {cells: 32, to: 1}, y: {cells: 24, to: 1}}
parameters: {D: 1e-4, g: 1, edge: 0.5, a: {field: "1 + 0.3*sin(2*pi*x)"}}
state: {u: {initial: "0.5 + 0.4*sin(2*pi*x)*cos(2*pi*y)"}}
equations: {dt(u): "D*lap(u) + g*a*u*(1 - u)*(u - 0.3)"}
time: {method: rk4, step: 0.1, to: 20}
objective: [{final: "u^2"}, {integral: "u^4"}, {penalty: "1e-3*a^2"}]
unknowns: {D: {bounds: [1e-5, 1e-3]}, a: {bounds: [0.5, 1.5], where: "y > edge", prior: {mean: 1, sd: 10}}}
checkpoints: {host: 20 slots}
inversion: {iterations: 3, stages: )yaml" +
                                stages + "}\n" + more);
  }
  static constexpr const char* shots =
      "shots: [{shot: one, parameters.g: 0.5}, {shot: two}, {shot: three, parameters.g: 0.7}, "
      "{shot: four, parameters.g: 1.2, time.to: 30}]\n";
  static constexpr const char* three_stages =
      "[{shots: [one, four], unknowns: [a]}, {shots: {every: 2, from: 2}, iterations: 2}, {unknowns: [D]}]";

  /// Numbers of a dataset.
  static std::vector<double> numbers(const std::string& file, const std::string& dataset) {
    const hid_t opened = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t data = H5Dopen2(opened, dataset.c_str(), H5P_DEFAULT), space = H5Dget_space(data);
    std::vector<double> all(static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space))));
    EXPECT_GE(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()), 0) << file;
    H5Sclose(space);
    H5Dclose(data);
    H5Fclose(opened);
    return all;
  }
  /// Rows of convergence.csv, of numbers.
  static std::vector<std::vector<double>> rows(const std::string& run) {
    std::vector<std::vector<double>> all;
    std::ifstream file(run + "/convergence.csv");
    std::string line;
    for (std::getline(file, line); std::getline(file, line);) {
      all.emplace_back();
      std::istringstream entries(line);
      for (std::string entry; std::getline(entries, entry, ',');) all.back().push_back(std::stod(entry));
    }
    return all;
  }
};

TEST_F(Stages, CellsThatAreKnownRestInInversionsAndHaveNoGradient) {
  write_stages("[{}]");
  ASSERT_EQ(run("gradient case.yaml --out gradient"), 0) << output();
  ASSERT_EQ(run("invert case.yaml --out estimate"), 0) << output();
  const std::vector<double> gradient = numbers("gradient/gradient.h5", "/a");
  const std::vector<double> estimate = numbers("estimate/estimate.h5", "/a");
  ASSERT_EQ(gradient.size(), 32U * 24U);
  double squares = 0.0;
  for (std::size_t k = 0; k < gradient.size(); ++k) {
    const double first = 1 + 0.3 * std::sin(2 * M_PI * (static_cast<double>(k % 32) + 0.5) / 32);
    const bool moves = k / 32 >= 12;
    EXPECT_EQ(gradient[k] == 0.0, !moves) << k;
    if (moves)
      EXPECT_NE(estimate[k], first) << k;
    else
      EXPECT_DOUBLE_EQ(estimate[k], first) << k;
    squares += gradient[k] * gradient[k];
  }
  EXPECT_NEAR(json("gradient/result.json")["gradient"]["a"]["norm"].get<double>(), std::sqrt(squares), 1e-12);
  EXPECT_EQ(run("check case.yaml --out check"), 0) << output();
}

/// Two stages are two inversions, of which the second begins with the estimate of the first.
TEST_F(Stages, AreInversionsOneAfterTheOther) {
  write_stages("[{unknowns: [a]}, {unknowns: [D], iterations: 2}]");
  ASSERT_EQ(run("invert case.yaml --out both"), 0) << output();
  ASSERT_EQ(run("invert case.yaml --set 'inversion.stages=[{unknowns: [a]}]' --out first"), 0) << output();
  EXPECT_EQ(json("first/result.json")["estimate"]["D"], 1e-4);
  ASSERT_EQ(run("invert case.yaml --set 'inversion.stages=[{unknowns: [D]}]' inversion.iterations=2 "
                "'parameters.a={file: first/estimate.h5, dataset: /a}' --out second"),
            0)
      << output();
  const nlohmann::json both = json("both/result.json"), first = json("first/result.json"),
                       second = json("second/result.json");
  EXPECT_EQ(both["estimate"]["D"], second["estimate"]["D"]);
  EXPECT_EQ(both["objective"], second["objective"]);
  EXPECT_EQ(numbers("both/estimate.h5", "/a"), numbers("first/estimate.h5", "/a"));
  const nlohmann::json& stages = both["inversion"]["stages"];
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0], first["inversion"]["stages"][0]);
  nlohmann::json last = second["inversion"]["stages"][0];
  last["stage"] = 2;
  EXPECT_EQ(stages[1], last);
  EXPECT_EQ(both["inversion"]["iterations"].get<int>(), 5);
}

TEST_F(Stages, AreToldOf) {
  write_stages(three_stages, shots);
  ASSERT_EQ(run("invert case.yaml --out run"), 0) << output();
  EXPECT_NE(output().find("stage 1 of 3: 2 of 4 shots; a is unknown"), std::string::npos) << output();
  EXPECT_NE(output().find("stage 3 of 3: 4 of 4 shots; D is unknown"), std::string::npos) << output();
  EXPECT_EQ(contents("run/convergence.csv").find("iteration,objective,gradient_norm,step,evaluations,stage\n"), 0U);
  const std::vector<std::vector<double>> table = rows("run");
  const nlohmann::json inversion = json("run/result.json")["inversion"];
  for (std::size_t i = 1; i < table.size(); ++i) {
    const bool begins = table[i][5] != table[i - 1][5];
    EXPECT_EQ(table[i][0], table[i - 1][0] + (begins ? 0 : 1));
    EXPECT_GT(table[i][4], table[i - 1][4]);
  }
  EXPECT_EQ(table.back()[5], 3.0);
  EXPECT_EQ(inversion["evaluations"].get<double>(), table.back()[4]);
  std::int64_t evaluations = 0, iterations = 0;
  for (const auto& stage : inversion["stages"]) {
    evaluations += stage["evaluations"].get<std::int64_t>();
    iterations += stage["iterations"].get<std::int64_t>();
    EXPECT_LT(stage["objective"]["last"], stage["objective"]["first"]);
  }
  EXPECT_EQ(inversion["evaluations"], evaluations);
  EXPECT_EQ(inversion["iterations"], iterations);
  std::ifstream log("run/log.jsonl");
  std::vector<std::size_t> begun;
  for (std::string line; std::getline(log, line);) {
    const nlohmann::json event = nlohmann::json::parse(line);
    if (event["event"] == "stage") begun.push_back(event["stage"]);
    if (event["event"] != "iteration") continue;
    EXPECT_EQ(event["stage"], begun.size());
    EXPECT_EQ(event["shots"].size(), begun.size() == 3 ? 4U : 2U) << line;
    EXPECT_EQ(event["shots"].contains("one"), begun.size() != 2) << line;
  }
  EXPECT_EQ(begun, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_EQ(json("run/result.json")["shots"].size(), 4U) << "the estimate is looked at with all shots";
  ASSERT_EQ(run("invert case.yaml --shot two --out alone"), 0) << output();
  ASSERT_EQ(run("invert alone/case.yaml --out again"), 0) << output();
  EXPECT_EQ(answer("again"), answer("alone"));
}

TEST_F(Stages, GoOnAfterKillsInGroups) {
  write_stages(three_stages, shots);
  const std::string words = "invert case.yaml --set time.to=80";
  ASSERT_EQ(run(words + " --out whole"), 0) << output();
  ASSERT_EQ(run(words + " --groups 2 --out groups", 2), 0) << output();
  EXPECT_EQ(answer("groups"), answer("whole"));
  EXPECT_EQ(contents("groups/estimate.h5"), contents("whole/estimate.h5"));
  for (const int evaluations : {2, 5, 9}) {  // of stages 1, 2 and 3
    std::filesystem::remove_all("killed");
    ASSERT_EQ(run_and_signal(words + " --epoch 0.01s --out killed", 1, SIGKILL, "killed", "evaluations", evaluations),
              -1)
        << output();
    EXPECT_EQ(json("killed/status.json")["stage"]["count"].get<int>(), 3);
    ASSERT_EQ(run("status killed"), 0);
    EXPECT_NE(output().find(evaluations == 2 ? "stage 1 of 3" : " of 3\n"), std::string::npos) << output();
    const bool in_groups = evaluations == 5;
    EXPECT_EQ(run(in_groups ? "resume killed --ranks 2 --groups 2" : "resume killed", in_groups ? 2 : 1), 0)
        << output();
    EXPECT_EQ(answer("killed"), answer("whole"));
    EXPECT_EQ(contents("killed/estimate.h5"), contents("whole/estimate.h5"));
  }
}

/// Of each second iteration, counted on from stage to stage; the last stage ends before its iterations are used up.
TEST_F(Stages, KeepEstimatesOfIterations) {
  write_stages("[{unknowns: [a]}, {unknowns: [D], iterations: 6, relative: 0.5}]", shots);
  const std::string words = "invert case.yaml --set time.to=80 output.estimates=2";
  ASSERT_EQ(run(words + " --out whole"), 0) << output();
  const std::string file = "whole/estimates.h5";
  const std::size_t last = json("whole/result.json")["inversion"]["iterations"], count = last / 2 + 1;
  ASSERT_LT(last, 9U);
  std::vector<double> iterations;
  for (std::size_t i = 0; i < count; ++i) iterations.push_back(2.0 * static_cast<double>(i));
  EXPECT_EQ(numbers(file, "/iterations"), iterations);
  const std::vector<double> a = numbers(file, "/a"), D = numbers(file, "/D");
  constexpr std::size_t cells = 32 * 24;
  ASSERT_EQ(a.size(), count * cells);
  ASSERT_EQ(D.size(), count);
  EXPECT_EQ(D[0], 1e-4);
  EXPECT_EQ(D[1], 1e-4) << "it rests in the first stage";
  const auto begin = a.begin();
  for (const std::size_t k : {1, 2}) EXPECT_FALSE(std::equal(begin, begin + cells, begin + k * cells)) << k;
  for (std::size_t k = 0; k < cells / 2; ++k) EXPECT_EQ(a[k], a[2 * cells + k]) << "what rests";
  ASSERT_EQ(run(words + " inversion.stages.1.iterations=1 --out until"), 0) << output();
  EXPECT_EQ(numbers("until/estimates.h5", "/iterations"), (std::vector<double>{0, 2, 4}));
  EXPECT_EQ(numbers("until/estimates.h5", "/D").back(), json("until/result.json")["estimate"]["D"].get<double>());
  const std::vector<double> kept = numbers("until/estimates.h5", "/a");
  EXPECT_EQ(std::vector<double>(kept.end() - cells, kept.end()), numbers("until/estimate.h5", "/a"));
}

TEST_F(Stages, EstimatesSurviveKillsAndShowNoGroups) {
  write_stages("[{unknowns: [a]}, {unknowns: [D], iterations: 6, relative: 0.5}]", shots);
  const std::string words = "invert case.yaml --set time.to=80 output.estimates=1";
  ASSERT_EQ(run(words + " --out whole"), 0) << output();
  ASSERT_EQ(run(words + " --groups 2 --out groups", 2), 0) << output();
  EXPECT_EQ(contents("groups/estimates.h5"), contents("whole/estimates.h5"));
  for (const int evaluations : {3, 6}) {
    std::filesystem::remove_all("killed");
    ASSERT_EQ(run_and_signal(words + " --epoch 0.01s --out killed", 1, SIGKILL, "killed", "evaluations", evaluations),
              -1)
        << output();
    const std::vector<double> iterations = numbers("killed/estimates.h5.partial", "/iterations");
    EXPECT_EQ(iterations[0], 0.0);
    EXPECT_EQ(iterations.size(), 10U);
    EXPECT_EQ(iterations.back(), -1.0);
    const std::vector<double> whole = numbers("whole/estimates.h5", "/a"),
                              part = numbers("killed/estimates.h5.partial", "/a");
    EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + 32 * 24, part.begin()));
    ASSERT_EQ(run("resume killed"), 0) << output();
    EXPECT_EQ(contents("killed/estimates.h5"), contents("whole/estimates.h5"));
    for (const auto& entry : std::filesystem::directory_iterator("killed"))
      EXPECT_EQ(entry.path().filename().string().find("estimates.h5."), std::string::npos) << entry.path();
  }
}

/// Each rank its rows; numbers once.
TEST_F(Stages, EstimatesAreWrittenBySeveralRanks) {
  write_stages("[{}]");
  ASSERT_EQ(run("invert case.yaml --set output.estimates=3 --out run", 2), 0) << output();
  const std::vector<double> kept = numbers("run/estimates.h5", "/a");
  ASSERT_EQ(kept.size(), 2U * 32 * 24);
  EXPECT_EQ(std::vector<double>(kept.begin() + 32 * 24, kept.end()), numbers("run/estimate.h5", "/a"));
  EXPECT_EQ(numbers("run/estimates.h5", "/D")[1], json("run/result.json")["estimate"]["D"].get<double>());
}

/// In the first evaluation that is of them.
TEST_F(Stages, ShotsThatFailAreExcludedWhenTheyAreTried) {
  write_stages("[{shots: [one, three]}, {shots: [two, three], iterations: 1}, {iterations: 1}]",
               "shots: {failing: exclude, table: [{shot: one, parameters.g: 0.5}, {shot: two, parameters.g: 1e9}, "
               "{shot: three}]}\n");
  ASSERT_EQ(run("invert case.yaml --out run"), 0) << output();
  const nlohmann::json result = json("run/result.json");
  ASSERT_EQ(result["excluded_shots"].size(), 1U);
  EXPECT_EQ(result["excluded_shots"][0]["name"], "two");
  EXPECT_EQ(result["shots"].size(), 2U);
  EXPECT_EQ(run("invert case.yaml --set 'inversion.stages=[{shots: [one]}, {shots: [two]}]' --out none"), 2);
  EXPECT_NE(output().find("stage 2 of 2: none of its shots is left, all are excluded; 'two' because of this"),
            std::string::npos)
      << output();
}

}  // namespace
}  // namespace hindsight
