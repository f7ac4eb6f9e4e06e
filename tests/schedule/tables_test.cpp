// Every schedule against published and proven optima, row by row (tests/data/*.csv; conventions in each header there).
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "adjoint/schedule/schedule.hpp"
#include "adjoint/schedule/simulated_machine.hpp"
#include "tests/places.hpp"

namespace hindsight {
namespace {

using TableRow = std::map<std::string, std::string>;

std::int64_t integer(const TableRow& row, const std::string& name) {
  return std::stoll(row.at(name));
}
double number(const TableRow& row, const std::string& name) {
  return std::stod(row.at(name));
}

void for_each_row(const std::string& table, int expected, const std::function<void(const TableRow&)>& check) {
  std::ifstream file(std::string(test::source_folder()) + "/tests/data/" + table);
  ASSERT_TRUE(file) << table;
  std::vector<std::string> names;
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    if (names.empty()) {
      names = cells;
      continue;
    }
    TableRow row;
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = cells.at(i);
    SCOPED_TRACE(line);
    check(row);
    ++rows;
  }
  EXPECT_EQ(rows, expected);
}

ScheduleRequest request(const TableRow& row, PerTier slots) {
  ScheduleRequest r{integer(row, "n"), {slots}};
  if (row.count("uf")) r.costs = {number(row, "uf"), number(row, "ub"), {}, {}};
  if (row.count("wd")) {
    r.costs.write[2] = number(row, "wd");
    r.costs.read[2] = number(row, "rd");
  }
  return r;
}

double cost(const char* kind, const ScheduleRequest& r) {
  return total_cost(simulate(schedules().find(kind), r), r.costs);
}

TEST(Tables, Revolve) {
  for_each_row("revolve.csv", 44, [](const TableRow& row) {
    const ScheduleRequest r = request(row, {0, integer(row, "s"), 0});
    EXPECT_EQ(schedules().find("revolve").make(r).predicted.plain, integer(row, "plain"));
    EXPECT_EQ(simulate(schedules().find("multistage"), r).plain, integer(row, "plain"));
  });
}

/// The same plain steps, and no more traffic with the disk than the better of the table's two trajectories.
TEST(Tables, Multistage) {
  std::map<std::string, std::int64_t> best;
  for_each_row("multistage.csv", 110, [&](const TableRow& row) {
    const std::string key = row.at("n") + "," + row.at("s_ram") + "," + row.at("s_disk");
    const std::int64_t traffic = integer(row, "w_disk") + integer(row, "r_disk");
    if (!best.count(key) || traffic < best[key]) best[key] = traffic;
  });
  for_each_row("multistage.csv", 110, [&](const TableRow& row) {
    const ScheduleCounts counts =
        simulate(schedules().find("multistage"), request(row, {0, integer(row, "s_ram"), integer(row, "s_disk")}));
    EXPECT_EQ(counts.plain, integer(row, "plain"));
    EXPECT_LE(counts.writes[2] + counts.reads[2], best[row.at("n") + "," + row.at("s_ram") + "," + row.at("s_disk")]);
  });
}

TEST(Tables, TwoLevel) {
  for_each_row("twolevel.csv", 30, [](const TableRow& row) {
    ScheduleRequest r = request(row, {0, integer(row, "s_ram"), -1});
    r.period = integer(row, "period");
    const ScheduleCounts counts = simulate(schedules().find("twolevel"), r);
    EXPECT_EQ(counts.plain, integer(row, "plain"));
    EXPECT_EQ(counts.writes[2], integer(row, "disk_writes"));
    EXPECT_LE(counts.reads[2], integer(row, "disk_reads"));
  });
}

TEST(Tables, HRevolve) {
  for_each_row("hrevolve.csv", 224, [](const TableRow& row) {
    const ScheduleRequest r = request(row, {0, integer(row, "s_host"), integer(row, "s_disk")});
    EXPECT_NEAR(cost("hrevolve", r), number(row, "opt_cost"), 1e-9 * number(row, "opt_cost"));
  });
}

TEST(Tables, HRevolveWithThreeTiers) {
  for_each_row("hrevolve_3tier.csv", 90, [](const TableRow& row) {
    ScheduleRequest r = request(row, {integer(row, "s_dev"), integer(row, "s_host"), integer(row, "s_disk")});
    r.costs.write = {number(row, "w_dev"), number(row, "w_host"), number(row, "w_disk")};
    r.costs.read = {number(row, "r_dev"), number(row, "r_host"), number(row, "r_disk")};
    EXPECT_NEAR(cost("hrevolve", r), number(row, "opt_cost"), 1e-9 * number(row, "opt_cost"));
  });
}

TEST(Tables, DiskRevolve) {
  for_each_row("diskrevolve.csv", 160, [](const TableRow& row) {
    const ScheduleRequest r = request(row, {0, integer(row, "s_host"), -1});
    EXPECT_NEAR(cost("diskrevolve", r), number(row, "cost_many_reads"), 1e-9 * number(row, "cost_many_reads"));
    EXPECT_NEAR(cost("diskrevolve-once", r), number(row, "cost_one_read"), 1e-9 * number(row, "cost_one_read"));
    EXPECT_GE(cost("periodic", r), number(row, "cost_one_read") * (1 - 1e-12));
  });
}

TEST(Tables, Mixed) {
  for_each_row("mixed.csv", 44, [](const TableRow& row) {
    EXPECT_EQ(simulate(schedules().find("mixed"), request(row, {0, integer(row, "s"), 0})).total(),
              integer(row, "total"));
  });
}

TEST(Tables, Cams) {
  for_each_row("cams.csv", 560, [](const TableRow& row) {
    ScheduleRequest r = request(row, {0, integer(row, "units"), 0});
    r.record_units = integer(row, "stages");
    r.record_gives_state = row.at("stiffly_accurate") == "1";
    EXPECT_EQ(simulate(schedules().find("cams"), r).total(), integer(row, "total"));
  });
}

}  // namespace
}  // namespace hindsight
