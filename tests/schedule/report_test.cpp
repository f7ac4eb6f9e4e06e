// Tables, JSON, and the command line's slots and costs.
#include "adjoint/schedule/report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

struct Revolve {
  ScheduleRequest request{10, parse_slots("host=3"), Content::state};
  ScheduleCosts costs = parse_costs("forward=2,reverse=3,host.write=0.5,host.read=0.25");
  ScheduleCounts counts = simulate(schedules().find("revolve"), request);
};

TEST(Report, JsonHoldsEveryCount) {
  const Revolve revolve;
  const auto json = nlohmann::json::parse(counts_json("revolve", revolve.request, revolve.counts, revolve.costs));
  EXPECT_EQ(json.at("schedule"), "revolve");
  EXPECT_EQ(json.at("steps"), 10);
  EXPECT_EQ(json.at("slots").at("host"), 3);
  EXPECT_EQ(json.at("slots").at("disk"), 0);
  EXPECT_EQ(json.at("plain"), 15);
  EXPECT_EQ(json.at("recorded"), 10);
  EXPECT_EQ(json.at("reversed"), 10);
  EXPECT_EQ(json.at("total"), 25);
  EXPECT_EQ(json.at("peak").at("host"), 3);
  EXPECT_EQ(json.at("writes").at("host"), revolve.counts.writes[1]);
  EXPECT_EQ(json.at("reads").at("host"), revolve.counts.reads[1]);
  EXPECT_EQ(json.at("cost").get<double>(), 2 * 15 + 3 * 10 + 0.5 * static_cast<double>(revolve.counts.writes[1]) +
                                               0.25 * static_cast<double>(revolve.counts.reads[1]));
}

TEST(Report, UnlimitedSlotsAreNull) {
  const ScheduleRequest request{1, parse_slots("host=unlimited"), Content::state};
  EXPECT_TRUE(nlohmann::json::parse(counts_json("none", request, {}, {})).at("slots").at("host").is_null());
  EXPECT_NE(counts_table("none", request, {}, {}).find("unlimited"), std::string::npos);
}

TEST(Report, TableNamesTheTiersInUse) {
  const Revolve revolve;
  const std::string table = counts_table("revolve", revolve.request, revolve.counts, revolve.costs);
  EXPECT_NE(table.find("schedule revolve, 10 steps"), std::string::npos) << table;
  EXPECT_NE(table.find("plain steps"), std::string::npos) << table;
  EXPECT_NE(table.find("host"), std::string::npos) << table;
  EXPECT_EQ(table.find("disk"), std::string::npos) << table;
}

TEST(Slots, AreParsed) {
  const Capacities capacities = parse_slots("host=10,disk=20");
  EXPECT_EQ(capacities[Tier::device], 0);
  EXPECT_EQ(capacities[Tier::host], 10);
  EXPECT_EQ(capacities[Tier::disk], 20);
  EXPECT_EQ(parse_slots("")[Tier::host], 0);
  EXPECT_EQ(parse_slots("disk=9000000000")[Tier::disk], 9'000'000'000);
}

TEST(Slots, BadOnesAreNamed) {
  EXPECT_EQ(message_of([] { parse_slots("hosts=10"); }),
            "--slots 'hosts=10': unknown name 'hosts'; did you mean 'host'? (allowed: device, host, disk)");
  EXPECT_EQ(message_of([] { parse_slots("host=10,host=2"); }), "--slots 'host=10,host=2': 'host' is given twice");
  for (const char* text : {"host=-1", "host=1.5", "host=", "host=ten", "host=3x", "host=99999999999999999999"}) {
    EXPECT_NE(message_of([text] { parse_slots(text); }).find("allowed are whole numbers from 0"), std::string::npos);
  }
  for (const char* text : {"host", "host=1,", ",host=1", "10"}) {
    EXPECT_NE(message_of([text] { parse_slots(text); }).find("is not of the form name=number"), std::string::npos);
  }
}

TEST(Costs, AreParsedAndDefaultToSteps) {
  const ScheduleCosts costs = parse_costs("reverse=2,disk.write=5,disk.read=1e-1");
  EXPECT_EQ(costs.forward, 1);
  EXPECT_EQ(costs.reverse, 2);
  EXPECT_EQ(costs.write[2], 5);
  EXPECT_EQ(costs.read[2], 0.1);
  EXPECT_EQ(costs.write[1], 0);
  EXPECT_EQ(parse_costs("").reverse, 1);
}

TEST(Costs, BadOnesAreNamed) {
  EXPECT_NE(message_of([] { parse_costs("disk.wirte=5"); }).find("did you mean 'disk.write'?"), std::string::npos);
  for (const char* text : {"forward=-1", "forward=nan", "forward=inf", "forward=", "forward=1 2", "forward=1e999"}) {
    EXPECT_NE(message_of([text] { parse_costs(text); }).find("allowed are finite numbers from 0"), std::string::npos);
  }
}

}  // namespace
}  // namespace hindsight
