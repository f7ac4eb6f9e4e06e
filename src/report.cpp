#include "src/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "adjoint/problem/unknown_places.hpp"
#include "io/results/misfits_file.hpp"
#include "runtime/error.hpp"
#include "runtime/host/compiler.hpp"
#include "src/verbs.hpp"

namespace hindsight {
namespace {

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

/// What a process wrote before it died in the middle of a line is removed.
void remove_torn_line(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return;
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::filesystem::resize_file(path, text.rfind('\n') + 1);  // none: npos + 1 is 0
}

}  // namespace

std::string run_path(const Options& options, const Case& c) {
  return !options.out.empty() ? options.out : "runs/" + c.name + "/" + options.verb;
}

Json status_of(const std::string& run, int group) {
  const std::string name = group == 0 ? "/status.json" : "/status-" + std::to_string(group) + ".json";
  Json status = Json::parse(std::ifstream(run + name), nullptr, false);
  return status.is_object() ? status : Json::object();
}

RunLog::RunLog(const RunFolder& folder, const std::string& verb, const Session& session) {
  const std::string path = folder.file("log.jsonl");
  folder.hold([&] {
    session.communicator().on_root([&] {
      if (folder.is_resumed()) remove_torn_line(path);
      file_.open(path, folder.is_resumed() ? std::ios::app : std::ios::trunc);
    });
  });
  Json details = {{"verb", verb},
                  {"case", session.source().name},
                  {"ranks", session.groups().world().size()},
                  {"steps", session.simulation().time().steps()}};
  if (session.has_shots()) details["groups"] = session.groups().count();
  if (session.has_gradients()) details["schedule"] = session.plan().kind->name;
  event(folder.is_resumed() ? "resumed" : "started", details);
}

void RunLog::event(const std::string& name, Json details) {
  if (!file_.is_open()) return;
  Json line = {{"time", utc_now()}, {"event", name}};
  line.update(details);
  file_ << line.dump() << std::endl;
}

namespace {

/// The times that are output, and the latest that can be: where the run ends, if nothing ends it sooner.
std::vector<double> output_times(const SimulationSpec& spec) {
  std::vector<double> times;
  if (!spec.outputs.empty()) times.push_back(spec.from);
  times.insert(times.end(), spec.outputs.begin(), spec.outputs.end());
  times.push_back(spec.to);
  return times;
}

std::vector<std::string> output_fields(const Case& c) {
  std::vector<std::string> names = c.output.fields;
  if (names.empty())
    for (const StateText& s : c.state) names.push_back(s.name);
  return names;
}

std::vector<std::size_t> indices_in_state(const std::vector<std::string>& names, const Case& c) {
  std::vector<std::size_t> indices;
  indices.reserve(names.size());
  for (const std::string& name : names)
    indices.push_back(static_cast<std::size_t>(
        std::find_if(c.state.begin(), c.state.end(), [&](const StateText& s) { return s.name == name; }) -
        c.state.begin()));
  return indices;
}

FieldWriter output_writer(const Session& session, const RunFolder& folder, std::int64_t most,
                          std::optional<OutputsWritten> written) {
  const Grid& grid = session.simulation().grid();
  std::vector<std::string> fields = output_fields(session.source());
  if (written) return {folder, grid, std::move(fields), most, *std::move(written)};
  return {folder, grid, std::move(fields), most};
}

}  // namespace

OutputObserver::OutputObserver(const Session& session, const RunFolder& folder, std::optional<OutputsWritten> written)
    : session_(session),
      shown_(indices_in_state(output_fields(session.source()), session.source())),
      times_(output_times(session.simulation().spec())),
      next_(written ? written->steps.size() : 0),
      last_(written && !written->steps.empty() ? written->steps.back() : -1),
      writer_(output_writer(session, folder, static_cast<std::int64_t>(times_.size()), std::move(written))) {}

StateObserver OutputObserver::observer() {
  return [this](std::int64_t k, double t, StateBlocks state) {
    if (k > last_) observe(k, t, state);
  };
}

void OutputObserver::observe(std::int64_t k, double t, StateBlocks state) {
  const TimeLine& time = session_.simulation().time();
  const std::int64_t landing = time.landing_at(k);
  for (; next_ < times_.size() && landing >= 0 && time.landing_of(times_[next_]) == landing; ++next_) {
    const double share = time.share_at(times_[next_]);
    write(k, share == 1.0 ? t : times_[next_], state, share);
  }
  if (k == time.steps() && k > last_) write(k, t, state, 1.0);
}

/// @param share of the state's level, the one before has the rest.
void OutputObserver::write(std::int64_t k, double t, StateBlocks state, double share) {
  last_ = k;
  const Grid& grid = session_.simulation().grid();
  const Element element = session_.simulation().element();
  std::vector<ConstCellArray> cells;
  for (const std::size_t f : shown_)
    cells.emplace_back(share == 1.0 ? grid.field_of(state.now, f, element) : between(state, f, share));
  writer_.write(k, t, cells);
}

/// A field between two states, as doubles.
CellArray OutputObserver::between(StateBlocks state, std::size_t f, double share) {
  const Simulation& simulation = session_.simulation();
  const Grid& grid = simulation.grid();
  const std::int64_t fields = std::ssize(session_.source().state);
  if (between_.size() == 0) between_ = Memory(grid.layout().field_stride * fields, simulation.machine());
  std::vector<double> now = unpadded(grid, grid.field_of(state.now, f, simulation.element()));
  const std::vector<double> before = unpadded(grid, grid.field_of(state.before, f, simulation.element()));
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = share * now[i] + (1.0 - share) * before[i];
  const CellArray cells = grid.field_of(between_.data(), f, Element::float64);
  unpack_cells(grid, now.data(), cells);
  return cells;
}

void OutputObserver::finish() {
  writer_.finish(session_.source().name);
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words((std::istreambuf_iterator<char>(file)), {});
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

namespace {

Json misfit_result(const Term::Residuals& misfit) {
  return {{"values", misfit.count},
          {"sum_of_squares", misfit.sum_of_squares},
          {"rms", std::sqrt(misfit.sum_of_squares / static_cast<double>(misfit.count))},
          {"noise", misfit.noise}};
}

/// With its values' place in misfits.h5. @param shot empty: the case has none.
Json misfit_results(const std::vector<Term::Residuals>& misfits, const std::string& shot) {
  Json all = Json::array();
  for (const Term::Residuals& misfit : misfits) {
    all.push_back(misfit_result(misfit));
    all.back()["dataset"] = "misfits.h5:" + MisfitsFile::group(shot, all.size() - 1);
  }
  return all;
}

/// In the order of the table.
Json shots_result(const Session& session) {
  Json all = Json::array();
  for (const ShotResult& shot : session.shot_results()) {
    Json one = {{"name", shot.name}, {"objective", shot.objective}, {"steps", shot.steps}, {"seconds", shot.seconds}};
    if (shot.weight != 1.0) one["weight"] = shot.weight;
    if (!shot.residuals.empty()) one["misfit"] = misfit_results(shot.residuals, shot.name);
    all.push_back(one);
  }
  return all;
}

}  // namespace

Json base_result(const std::string& verb, const Session& session, double objective) {
  const Simulation& simulation = session.simulation();
  Json json;
  json["case"] = session.source().name;
  json["verb"] = verb;
  json["precision"] = name_of(simulation.element());
  json["objective"] = objective;
  if (const std::vector<Term::Residuals> misfits = session.residuals(); session.has_shots())
    for (const Term::Residuals& misfit : misfits) json["misfit"].push_back(misfit_result(misfit));
  else if (!misfits.empty())
    json["misfit"] = misfit_results(misfits, "");
  if (session.has_shots()) json["shots"] = shots_result(session);
  for (const ExcludedShot& shot : session.excluded_shots())
    json["excluded_shots"].push_back({{"name", shot.name}, {"reason", shot.reason}});
  json["steps"]["forward"] = session.steps();
  if (simulation.time().tries_steps()) {
    json["steps"]["rejected"] = simulation.time().rejected();
    json["steps"]["shortest"] = simulation.time().shortest().step;
    json["steps"]["longest"] = simulation.time().longest().step;
  }
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  json["provenance"] = {{"program", "hindsight " + program_version()},
                        {"commit", build_commit()},
                        {"command", session.communicator().broadcast(command_line())},
                        {"date", utc_now()},
                        {"host", host},
                        {"ranks", session.groups().world().size()},
                        {"kernels", host::compiler_report()}};
  if (session.has_shots()) json["provenance"]["groups"] = session.groups().count();
  if (const auto solvers = simulation.stepper().solver_report().solvers; !solvers.empty())
    json["provenance"]["solvers"] = solvers;
  if (const Case& c = session.source(); !c.petsc.empty()) json["provenance"]["petsc"] = c.petsc.text();
  if (const Case& c = session.source(); !c.petsc_changes.empty())
    json["provenance"]["petsc_changed_at_resume"] = c.petsc_changes;
  return json;
}

namespace {

/// Counts and bytes of all ranks together, the longest stalls; rates in bytes per second of rank 0's transfers.
/// Collective.
Json traffic_result(const SlotTier& tier, const DriverCounts& counts, const Communicator& comm) {
  const TierTraffic& t = tier.traffic();
  std::vector<double> sums{static_cast<double>(t.bytes_written), static_cast<double>(t.bytes_read),
                           static_cast<double>(t.damaged), static_cast<double>(t.lost)};
  comm.sum(sums);
  const auto count = [&](std::size_t i) { return static_cast<std::int64_t>(sums[i]); };
  const auto rate = [](std::int64_t bytes, double seconds) {
    return seconds > 0 ? static_cast<double>(bytes) / seconds : 0.0;
  };
  return {{"where", tier.medium().description()},
          {"codec", tier.codec() != nullptr ? tier.codec()->name() : no_codec},
          {"ratio", t.bytes_written > 0
                        ? static_cast<double>(t.writes * tier.state_bytes()) / static_cast<double>(t.bytes_written)
                        : 1.0},
          {"differences", t.differences},
          {"bytes_written", count(0)},
          {"bytes_read", count(1)},
          {"write_rate", rate(t.bytes_written, t.write_busy)},
          {"read_rate", rate(t.bytes_read, t.read_busy)},
          {"write_stall_seconds", comm.max(t.write_stall)},
          {"read_stall_seconds", comm.max(t.read_stall)},
          {"queue", tier.settings().queue},
          {"longest_queue", t.longest_queue},
          {"prefetch", tier.settings().prefetch},
          {"read_ahead", t.ahead},
          {"damaged", count(2)},
          {"lost", count(3)},
          {"repaired", counts.repaired},
          {"repairing_steps", counts.repairing_steps}};
}

}  // namespace

double predicted_total(const Options& options, const Session& session, const OutputSeconds& output) {
  constexpr double end_over_start = 0.1;  // results reach the disk, MPI ends
  return session.gradients().checkpoints().ready_at() + session.planned().seconds + output.begin +
         output.written.value_or(0.0) + end_over_start * options.started;
}

Json counts_result(const Options& options, const Session& session, const DriverCounts& counts, double seconds,
                   const OutputSeconds& output) {
  const CheckpointPlan& plan = session.plan();
  const PlanInputs& inputs = session.plan_inputs();
  const std::int64_t n = session.steps();
  Json json;
  json["steps"] = {{"forward", n}, {"recomputed", counts.total() - n}, {"reversed", counts.reversed}};
  for (const Tier tier : tiers_in_use(inputs)) {
    const auto t = index_of(tier);
    json["memory"][to_text(tier)] = {
        {"budget", session.budget(tier)}, {"peak", session.peak_bytes(tier)},       {"working", inputs.working(tier)},
        {"slots", counts.peak[t]},        {"slot_bytes", unit_bytes(tier, inputs)}, {"writes", counts.writes[t]},
        {"reads", counts.reads[t]}};
  }
  if (!session.gradients().checkpoints().source_of_host_budget().empty())
    json["memory"]["host"]["budget_source"] = session.gradients().checkpoints().source_of_host_budget();
  for (const Tier tier : {Tier::host, Tier::disk})
    if (const SlotTier* slow = session.tiers()[tier])
      json["memory"][to_text(tier)].update(traffic_result(*slow, counts, session.communicator()));
  if (const auto& lossy = session.gradients().lossy_error())
    json["codec_error"] = {{"accepted", lossy->accepted},
                           {"predicted", lossy->predicted},
                           {"measured", lossy->measured},
                           {"tolerance", lossy->tolerance},
                           {"gradients", lossy->gradients}};
  if (const std::optional<double> drift = session.drift())
    json["walked_back"] = {{"steps", counts.retreated},
                           {"drift", *drift},
                           {"accepted", session.source().checkpoints.accept.value_or(0.0)}};
  const Session::Planned planned = session.planned();
  json["plan"] = {{"schedule", plan.kind->name},
                  {"content", plan.request.content == Content::record ? "record" : "state"},
                  {"actual",
                   {{"plain", counts.plain},
                    {"recorded", counts.recorded},
                    {"seconds", seconds},
                    {"memory_seconds", session.gradients().checkpoints().memory_seconds()}}}};
  if (plan.is_predicted())
    json["plan"]["predicted"] = {{"plain", planned.plain},
                                 {"recorded", planned.recorded},
                                 {"seconds", planned.seconds},
                                 {"memory_seconds", plan.memory_seconds},
                                 {"peak", inputs.working(Tier::host) + plan.checkpoint_bytes(Tier::host, inputs)}};
  if (plan.is_predicted() && output.written) json["plan"]["predicted"]["output_seconds"] = *output.written;
  if (plan.is_predicted() && !options.resume)  // of a process that has all to do
    json["plan"]["predicted"]["total_seconds"] = predicted_total(options, session, output);
  return json;
}

Json values_result(const Session& session, const RunFolder& folder, const std::string& file,
                   const UnknownValues& values) {
  const Simulation& simulation = session.simulation();
  const auto& unknowns = simulation.spec().unknowns;
  Json json = Json::object();
  const bool needs_file =
      std::any_of(unknowns.begin(), unknowns.end(), [](const Unknown& u) { return u.kind != Unknown::Kind::scalar; });
  std::optional<FieldFile> output;
  if (needs_file) output.emplace(folder, file, simulation.grid());
  for (std::size_t i = 0; i < unknowns.size(); ++i) {
    const Unknown& u = unknowns[i];
    if (u.kind == Unknown::Kind::scalar || (u.is_field() && simulation.grid().dimensions() == 0)) {
      json[u.label()] = values[i][0];
    } else {
      UnknownValues only(values.size());
      only[i] = values[i];
      json[u.label()] = {{"norm", std::sqrt(session.dot(only, only))}, {"dataset", file + ":/" + u.label()}};
    }
    if (u.is_field()) {
      output->write_field("/" + u.label(), values[i]);
    } else if (u.kind == Unknown::Kind::series) {
      output->write_numbers("/" + u.label(), values[i]);
    }
  }
  if (output) output->finish();
  return json;
}

void write_misfits(const Session& session, const RunFolder& folder) {
  std::optional<MisfitsFile> file;
  session.for_each_compared([&](std::size_t misfit, const Session::Compared& one) {
    if (!file) file.emplace(folder, session.simulation().grid().axes().size());
    file->write(MisfitsFile::group(one.shot, misfit),
                {one.residuals.name, *one.observations, one.residuals.noise, one.simulated, one.filter});
  });
  if (file) file->finish();
}

std::string walked_text(const Json& result) {
  if (!result.contains("walked_back")) return "";
  const Json& walked = result["walked_back"];
  return fmt::format("walked back {} steps; drift {:.2g}, accepted {:.2g}\n", walked["steps"].get<std::int64_t>(),
                     walked["drift"].get<double>(), walked["accepted"].get<double>());
}

Json resident_result(const Session& session) {
  const ResidentBytes resident = session.resident_bytes();
  return {{"start", resident.start}, {"peak", resident.peak}, {"growth", resident.growth}};
}

std::string shots_text(const Session& session) {
  if (!session.has_shots()) return "";
  constexpr std::size_t most = 24;
  const std::vector<ShotResult>& all = session.shot_results();
  std::string text = fmt::format("{:<16} {:>14} {:>8} {:>10} {:>9}\n", "shot", "objective", "weight", "steps", "time");
  for (const ShotResult& shot : all) {
    if (&shot - all.data() == most && all.size() > most + 1)
      return text + fmt::format("... and {} more, in result.json\n", all.size() - most);
    text += fmt::format("{:<16} {:>14.7g} {:>8.4g} {:>10} {:>9}\n", shot.name, shot.objective, shot.weight, shot.steps,
                        seconds_text(shot.seconds));
  }
  return text;
}

std::string misfit_text(const Session& session) {
  std::string text;
  const std::vector<Term::Residuals> all = session.residuals();
  double total = 0.0;
  for (const Term::Residuals& misfit : all) {
    const double squares = misfit.sum_of_squares;
    total += squares;
    text += fmt::format("{}: {} values, sum of squares {:.7g}, root mean square {:.4g}", misfit.name, misfit.count,
                        squares, std::sqrt(squares / static_cast<double>(misfit.count)));
    if (misfit.noise != 1.0) text += fmt::format(" (noise {:.4g})", misfit.noise);
    text += "\n";
  }
  if (all.size() > 1) text += fmt::format("sum of squares, all together: {:.7g}\n", total);
  return text;
}

namespace {

/// For the reason that errno gives.
ResourceError cannot_write(const std::string& path) {
  const int reason = errno;
  return ResourceError("cannot write '" + path + "'" +
                       (reason != 0 ? ": " + std::generic_category().message(reason) : ""));
}

}  // namespace

void write_json(const Options& options, const Communicator& comm, const Json& json) {
  if (options.json.empty()) return;
  if (options.json == "-") return print(comm, json.dump(2) + "\n");
  comm.on_root([&] {
    errno = 0;
    std::ofstream file(options.json);
    file << json.dump(2) << "\n";
    file.close();
    if (!file) throw cannot_write(options.json);
  });
}

void require_writable(const std::string& path, const std::string& run_folder, const Communicator& comm) {
  namespace fs = std::filesystem;
  if (path.empty() || path == "-") return;
  comm.on_root([&] {
    const auto named = [](const fs::path& folder) { return (fs::absolute(folder) / "").lexically_normal(); };
    const bool is_in_run = !run_folder.empty() && named(fs::absolute(path).parent_path()) == named(run_folder);
    if (is_in_run && !fs::exists(run_folder)) return;
    const bool is_new = !fs::exists(path);
    errno = 0;
    if (!std::ofstream(path, std::ios::app)) throw cannot_write(path);
    if (is_new) fs::remove(path);
  });
}

}  // namespace hindsight
