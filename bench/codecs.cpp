// Codecs on three flows: how small, how fast, and what they do to the gradient. Usage: bench.codecs [JSON]
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>

#include "bench/lossy_cases.hpp"
#include "bench/measure.hpp"
#include "src/session.hpp"

namespace hindsight::bench {
namespace {

constexpr int cells = 96;

void measure_codec(Report& report, const LossyProblem& problem, const std::string& codec, double accepted,
                   const UnknownValues& exact) {
  const std::string accept = accepted > 0 ? fmt::format(", accept: {:g}", accepted) : "";
  Session session(lossy_case(problem, cells,
                             {fmt::format("checkpoints={{host: 7 slots, schedule: stride, period: 8, disk: {{size: 200 "
                                          "MiB, codec: {}{}}}}}",
                                          codec, accept)}),
                  Communicator(MPI_COMM_SELF), Sensitivities::adjoint);
  const Evaluation e = session.gradient({});
  const SlotTier& disk = *session.tiers()[Tier::disk];
  const TierTraffic& t = disk.traffic();
  const double raw = static_cast<double>(disk.state_bytes());
  const std::string name = fmt::format("{}, {}{}", problem.name, codec, accept);
  const double error = session.relative_difference(e.gradient, exact);
  const bool is_smooth = problem.name.starts_with("smooth");
  report.add(name + ": ratio", raw * static_cast<double>(t.writes) / static_cast<double>(t.bytes_written), "",
             !is_smooth         ? ""
             : accepted == 1e-3 ? "at least 10"
             : accepted == 1e-7 ? "at least 3"
                                : "");
  report.add("    coded and written", raw * static_cast<double>(t.writes) / t.write_busy / 1e6, "MB/s");
  report.add("    decoded and read", raw * static_cast<double>(t.reads) / std::max(t.read_busy, 1e-9) / 1e6, "MB/s");
  report.add("    error of the gradient over the accepted one", accepted > 0 ? error / accepted : error, "",
             accepted > 0 ? "0.1 to 1" : "0");
}

}  // namespace

void measure(int argc, char** argv) {
  Report report(fmt::format("Codecs, {0} x {0} cells, stride 8, one core and the transfer threads", cells));
  for (const LossyProblem& problem : lossy_problems()) {
    Session everything(lossy_case(problem, cells, {"checkpoints.host=2 GiB"}), Communicator(MPI_COMM_SELF),
                       Sensitivities::adjoint);
    const UnknownValues exact = everything.gradient({}).gradient;
    for (const char* codec : {"lz4", "zstd"}) measure_codec(report, problem, codec, 0.0, exact);
    measure_codec(report, problem, "zstd, difference: neighbour", 0.0, exact);
    for (const char* codec : {"zfp, difference: neighbour", "quantised, difference: neighbour"})
      measure_codec(report, problem, codec, 1e-5, exact);
    for (const char* codec : {"zfp", "quantised"})
      for (const double accepted : {1e-3, 1e-5, 1e-7}) measure_codec(report, problem, codec, accepted, exact);
  }
  report.finish(argc, argv);
}

}  // namespace hindsight::bench
