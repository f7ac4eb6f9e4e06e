// ranks: 1 3
// Checkpoints of a device (emulated where there is none): in its memory, in the host's and on disk, in any mix, give
// one gradient; budgets are kept.
#include "tests/support.hpp"

namespace hindsight {
namespace {

std::unique_ptr<Session> gray_scott(const std::vector<std::string>& set, bool on_device,
                                    const std::string& costs = "") {
  std::vector<std::string> all{"grid.x.cells=40", "grid.y.cells=36", "time.step=0.5", "time.to=30"};
  all.insert(all.end(), set.begin(), set.end());
  SessionOptions options;
  if (on_device) options.machine = test::device();
  options.costs = costs;
  options.disk.scratch = testing::TempDir() + "device-tiers";
  return std::make_unique<Session>(test::shipped_case("gray-scott", all), test::world(), Sensitivities::adjoint,
                                   options);
}

/// Of the host.
const Evaluation& expected() {
  static const Evaluation evaluation = gray_scott({}, false)->gradient({});
  return evaluation;
}

/// @returns the session after a gradient with the bits of the host's.
std::unique_ptr<Session> check(const std::vector<std::string>& set, const std::string& costs = "") {
  auto session = gray_scott(set, true, costs);
  for (int i = 0; i < 2; ++i) {
    const Evaluation here = session->gradient({});
    EXPECT_EQ(here.objective, expected().objective);
    EXPECT_EQ(here.gradient, expected().gradient);
    for (const Tier tier : {Tier::device, Tier::host}) EXPECT_LE(session->peak_bytes(tier), session->budget(tier));
  }
  return session;
}

TEST(DeviceTiers, MemoryAlone) {
  EXPECT_EQ(check({}, "forward=1e-3,reverse=3e-3")->plan().kind->name, "store-all");  // measured, it may be another
  const auto few = check({"checkpoints.device=6 slots", "checkpoints.host=2 slots"});
  EXPECT_LE(few->plan().schedule.predicted.peak[0], 6);
}

/// All tiers pay where transfers cost next to nothing, to a schedule that knows them all.
TEST(DeviceTiers, HostMemoryAndDisk) {
  const std::string costs = "host.write=1e-9,host.read=1e-9,disk.write=1e-9,disk.read=1e-9";
  for (const char* host : {"3 slots", "30 slots", "200 slots"}) {
    SCOPED_TRACE(host);
    const auto session =
        check({"checkpoints.schedule=hrevolve", "checkpoints.device=5 slots", std::string("checkpoints.host=") + host},
              costs);
    EXPECT_GT(session->plan().schedule.predicted.peak[1], 0);
  }
  const auto both = check({"checkpoints.schedule=hrevolve", "checkpoints.device=3 slots", "checkpoints.host=4 slots",
                           "checkpoints.disk=30 slots"},
                          costs);
  EXPECT_GT(both->plan().schedule.predicted.peak[2], 0);
}

TEST(DeviceTiers, EverySchedule) {
  for (const char* schedule : {"revolve", "uniform", "none", "cams", "hrevolve", "stride", "diskrevolve", "periodic",
                               "twolevel", "multistage", "online"}) {
    SCOPED_TRACE(schedule);
    check(
        {"checkpoints.device=24 slots", "checkpoints.host=59 slots", std::string("checkpoints.schedule=") + schedule});
  }
}

TEST(DeviceTiers, Codecs) {
  for (const char* codec : {"none", "lz4", "zstd"})
    for (const char* tier : {"host", "disk"}) {
      SCOPED_TRACE(std::string(codec) + " on " + tier);
      check(
          {"checkpoints.device=5 slots", std::string("checkpoints.") + tier + "={size: 40 MiB, codec: " + codec + "}"});
    }
}

/// Of words that the device makes: within the error asked for.
TEST(DeviceTiers, LossyCodecs) {
  for (const char* codec : {"float32", "quantised, tolerance: 1e-7", "bfloat16, then: zstd"}) {
    SCOPED_TRACE(codec);
    const auto session = gray_scott({"checkpoints.schedule=hrevolve", "checkpoints.device=3 slots",
                                     std::string("checkpoints.host={size: 40 MiB, codec: ") + codec + "}"},
                                    true, "host.write=1e-9,host.read=1e-9");
    const Evaluation here = session->gradient({});
    EXPECT_GT(session->plan().schedule.predicted.peak[1], 0);
    EXPECT_EQ(here.objective, expected().objective);
    EXPECT_NE(here.gradient, expected().gradient);
    for (std::size_t k = 0; k < here.gradient.size(); ++k) {
      double difference = 0.0, size = 0.0;
      for (std::size_t i = 0; i < here.gradient[k].size(); ++i) {
        difference = std::max(difference, std::fabs(here.gradient[k][i] - expected().gradient[k][i]));
        size = std::max(size, std::fabs(expected().gradient[k][i]));
      }
      EXPECT_LE(difference, (codec[0] == 'b' ? 0.1 : 1e-4) * size);
    }
    for (const Tier tier : {Tier::device, Tier::host}) EXPECT_LE(session->peak_bytes(tier), session->budget(tier));
  }
}

/// Blocks of 16, 16 and 15 cells on three ranks: the last one's states are coded as they are, the others' as words.
TEST(DeviceTiers, RanksWithAndWithoutWords) {
  const auto burgers = [](std::vector<std::string> set, SessionOptions options) {
    set.insert(set.end(), {"grid.x.cells=47", "time.step=0.002"});
    return std::make_unique<Session>(test::shipped_case("burgers", set), test::world(), Sensitivities::adjoint,
                                     options);
  };
  SessionOptions options;
  options.machine = test::device();
  options.costs = "host.write=1e-9,host.read=1e-9";
  const auto session = burgers(
      {"checkpoints.schedule=hrevolve", "checkpoints.device=3 slots", "checkpoints.host={size: 4 MiB, codec: float32}"},
      options);
  const auto host = burgers({}, {});
  const Evaluation a = session->gradient({}), b = host->gradient({});
  EXPECT_GT(session->plan().schedule.predicted.peak[1], 0);
  EXPECT_EQ(a.objective, b.objective);
  EXPECT_LE(host->relative_difference(a.gradient, b.gradient), 1e-4);
}

/// Each kind of shots has slots, and working memory, of its own, and none counts the other's.
TEST(DeviceTiers, ShotsOfTwoKinds) {
  const auto shots = [](const std::string& budgets, SessionOptions options) {
    return std::make_unique<Session>(test::text_case(R"yaml(
case: shared-device
grid: {x: {cells: 16, to: 1}, y: {cells: 12, to: 1}}
parameters: {D: 1e-4, g: 1}
state: {u: {initial: "0.5 + 0.4*x*(1 - y)"}}
equations: {dt(u): "D*lap(u) + g*u*(1 - u)*(u - 0.3)"}
time: {method: rk4, step: 0.1, to: 6}
objective: [{final: "u^2"}, {integral: "u^4"}]
shots: [{shot: a, parameters.g: 0.4}, {shot: b, time.to: 3}, {shot: c, parameters.g: 0.6, weight: 2}]
unknowns: {D: {}, initial(u): {}}
checkpoints: )yaml" + budgets),
                                     test::world(), Sensitivities::adjoint, options);
  };
  SessionOptions on_device;
  on_device.machine = test::device();
  const auto device = shots("{device: 4 slots, host: 30 slots}", on_device), host = shots("{}", {});
  std::vector<std::int64_t> working;
  device->experiments().for_each_kind([&](const Simulation&, const Gradients* own) {
    working.push_back(own->checkpoints().means().own_working[index_of(Tier::device)]);
  });
  ASSERT_EQ(working.size(), 2U);
  EXPECT_EQ(working[0], working[1]);
  for (int i = 0; i < 2; ++i) {
    const Evaluation a = device->gradient({}), b = host->gradient({});
    EXPECT_EQ(a.objective, b.objective);
    EXPECT_EQ(a.gradient, b.gradient);
    EXPECT_LE(device->peak_bytes(Tier::device), device->budget(Tier::device));
  }
}

TEST(DeviceTiers, TooLittleIsSaid) {
  EXPECT_THROW(gray_scott({"checkpoints.device=10 KiB"}, true), InputError);
  EXPECT_THROW(gray_scott({"checkpoints.device=1 TiB"}, true), ResourceError);
  EXPECT_THROW(gray_scott({"checkpoints.device=1 GiB"}, false), InputError);
}

}  // namespace
}  // namespace hindsight
