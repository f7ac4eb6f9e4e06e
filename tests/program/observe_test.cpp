// observe writes what misfits read: twin experiments of values in rows and of traces, of shots, with noise.
// starts: ranks
#include <cmath>

#include "tests/program/observed_wave.hpp"

namespace hindsight {
namespace {

using namespace test;

class Observe : public ObservedWave {
 protected:
  double objective(const std::string& arguments) {
    EXPECT_EQ(run("run wave.yaml --overwrite --out run " + arguments), 0) << output();
    return json("run/result.json")["objective"].get<double>();
  }
};

TEST_F(Observe, WritesWhatMisfitsRead) {
  write_wave();
  ASSERT_EQ(run("observe wave.yaml --set parameters.c=0.9 --overwrite"), 0) << output();
  EXPECT_NE(output().find("shot right: 56 values"), std::string::npos) << output();
  EXPECT_LT(objective("--set parameters.c=0.9"), 1e-20);
  EXPECT_GT(objective(""), 1e-3);
  ASSERT_EQ(run("observe wave.yaml --overwrite --set parameters.c=0.9 --noise 0.01 --seed 4", 2), 0) << output();
  EXPECT_NEAR(objective("--set parameters.c=0.9"), 54, 35);  // half the number of traces' values, about
  const std::string once = contents("left.csv");
  ASSERT_EQ(run("observe wave.yaml --overwrite --set parameters.c=0.9 --noise 0.01 --seed 4"), 0) << output();
  EXPECT_EQ(contents("left.csv"), once);
  ASSERT_EQ(run("observe wave.yaml --overwrite --set parameters.c=0.9 --noise 0.01 --seed 5"), 0) << output();
  EXPECT_NE(contents("left.csv"), once);
}

/// Rows in HDF5 are those of text; other columns of both stay as they are.
TEST_F(Observe, ReadsAndWritesRowsOfBothFormats) {
  write_wave();
  const std::string alone = "--shot left --set 'objective=[{misfit: {of: u, data: rows, noise: sd, weight: w}}]' ";
  write_text("rows", "label,time,x,y,sd,w\n\"a, b\",0.51,0.61,0.2,0.2,0.5\nlast,0.33,0.5,0.5,0.1,2\n");
  ASSERT_EQ(run("observe wave.yaml --overwrite --set parameters.c=0.9 " + alone), 0) << output();
  const std::string text = contents("rows");
  EXPECT_EQ(text.find("label,time,x,y,sd,w,value\n\"a, b\",0.51,0.61,0.2,0.2,0.5,"), 0U) << text;
  EXPECT_LT(objective("--set parameters.c=0.9 " + alone), 1e-20);
  const double expected = objective(alone);
  write_columns("rows", {{"time", {0.51, 0.33}},
                         {"x", {0.61, 0.5}},
                         {"y", {0.2, 0.5}},
                         {"sd", {0.2, 0.1}},
                         {"w", {0.5, 2}},
                         {"other", {7, 8}}});
  ASSERT_EQ(run("observe wave.yaml --overwrite --set parameters.c=0.9 " + alone), 0) << output();
  EXPECT_EQ(numbers("rows", "other"), (std::vector<double>{7, 8}));
  EXPECT_EQ(numbers("rows", "time"), (std::vector<double>{0.51, 0.33}));
  EXPECT_EQ(objective(alone), expected);
  const auto refusal = [&](const std::string& column, const std::vector<double>& numbers) {
    std::map<std::string, std::vector<double>> columns{{"time", {0.51, 0.33}}, {"x", {0.61, 0.5}}, {"y", {0.2, 0.5}},
                                                       {"sd", {1, 1}},         {"w", {1, 1}},      {"value", {0, 0}}};
    columns[column] = numbers;
    if (numbers.empty()) columns.erase(column);
    write_columns("rows", columns);
    EXPECT_EQ(run("run wave.yaml --out refused " + alone), 2) << output();
    return output();
  };
  EXPECT_NE(refusal("value", {1, NAN}).find("rows, row 1: column 'value': 'nan' is not a finite number"),
            std::string::npos)
      << output();
  EXPECT_NE(refusal("y", {}).find("no column 'y'"), std::string::npos) << output();
  EXPECT_NE(refusal("y", {0.5, 1.5}).find("rows, row 1: the observation's y lies outside the grid"), std::string::npos)
      << output();
  EXPECT_NE(refusal("time", {1.5, 0.5}).find("rows, row 0: the observation's time lies outside the run"),
            std::string::npos)
      << output();
  EXPECT_NE(refusal("sd", {1, 0}).find("rows, row 1: noise must be positive"), std::string::npos) << output();
  EXPECT_NE(refusal("y", {0.5, 0.5, 0.5}).find("the column 'y' has 3 entries, 'sd' has 2"), std::string::npos)
      << output();
}

/// Fifty steps of 0.017 are 0.8500000000000001: rows that pass the end by rounding keep their order.
TEST_F(Observe, RowsThatPassTheEndByRoundingGetTheirOwnValues) {
  write_wave();
  const std::string alone = "--shot left --set 'objective=[{misfit: {of: u, data: rows}}]' ";
  write_text("rows", "time,x,y\n0.8500000000000001,0.61,0.2\n0.85,0.5,0.5\n0.4,0.5,0.5\n");
  ASSERT_EQ(run("observe wave.yaml --overwrite --set parameters.c=0.9 " + alone), 0) << output();
  EXPECT_LT(objective("--set parameters.c=0.9 " + alone), 1e-20);
  EXPECT_GT(objective(alone), 1e-6);
}

TEST_F(Observe, TracesOfAnotherSurveyAreRefused) {
  write_wave();
  ASSERT_EQ(run("observe wave.yaml --overwrite"), 0) << output();
  EXPECT_EQ(numbers("right.h5", "values.sources"), (std::vector<double>{0.7, 0.4, 0}));
  EXPECT_EQ(run("run wave.yaml --set sources.0.at.y=0.41"), 2);
  EXPECT_NE(output().find("'left.h5' is of another survey: its sources (dataset 'values.sources')"), std::string::npos)
      << output();
  write_text("receivers.csv", "x,y\n0.21,0.5\n0.5,0.52\n0.8,0.04\n");
  EXPECT_EQ(run("run wave.yaml"), 2);
  EXPECT_NE(output().find("its places"), std::string::npos) << output();
}

TEST_F(Observe, WritesAllTablesOrNone) {
  write_wave();
  ASSERT_EQ(run("observe wave.yaml --overwrite"), 0) << output();
  const std::string before = contents("left.csv");
  EXPECT_EQ(run("observe wave.yaml --overwrite --set 'unknowns={}' parameters.c=0.7 "
                "'shots=[{shot: left}, {shot: right, parameters.c: 9}]'"),
            3);
  EXPECT_NE(output().find("shot 'right': a step of 0.017 is unstable"), std::string::npos) << output();
  EXPECT_EQ(contents("left.csv"), before);
}

TEST_F(Observe, SaysWhatItCannotDo) {
  write_wave();
  EXPECT_EQ(run("run wave.yaml --out run"), 2);
  EXPECT_NE(output().find("left.h5"), std::string::npos) << output();
  EXPECT_EQ(run("observe wave.yaml"), 2);
  EXPECT_NE(output().find("left.csv' is there already; --overwrite gives it up"), std::string::npos) << output();
  EXPECT_EQ(run("observe wave.yaml --overwrite --set objective.0.misfit.data=same.h5"), 2);
  EXPECT_NE(output().find("two misfits have the same table"), std::string::npos) << output();
  ASSERT_EQ(run("observe wave.yaml --overwrite"), 0) << output();
  EXPECT_EQ(run("run wave.yaml --out run --set objective.0.misfit.every=0.1"), 2);
  EXPECT_NE(output().find("it holds 18 x 3 numbers, and 9 x 3 are needed"), std::string::npos) << output();
  EXPECT_EQ(run("observe wave.yaml --overwrite --set \"objective=[{final: u}]\""), 2);
  EXPECT_NE(output().find("nothing to observe"), std::string::npos) << output();
  for (const char* const words : {"--groups 2", "--noise -1", "--noise nan", "--noise 1 --seed -1", "--seed 2"}) {
    EXPECT_EQ(run(std::string("observe wave.yaml --overwrite ") + words), 2) << words << output();
    EXPECT_LT(output().size(), 200U) << output();
  }
}

}  // namespace
}  // namespace hindsight
