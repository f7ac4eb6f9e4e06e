// explain: what is derived from a case, as text: equations, kernels, memory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/backends.hpp"
#include "solvers/equations/emit_device.hpp"
#include "solvers/equations/print.hpp"
#include "solvers/steppers/reads.hpp"
#include "src/report.hpp"
#include "src/same_start.hpp"
#include "src/session.hpp"
#include "src/verbs.hpp"

namespace hindsight {
namespace {

std::string kernel_text(const Stepper::Described& described) {
  const KernelSpec& kernel = *described.kernel;
  const auto [reads, writes] = traffic(kernel);
  std::string text = fmt::format("{} kernel {}: {} flops, {} bytes read and {} written per cell\n", described.role,
                                 kernel.name, flops(kernel.roots()), 8 * reads, 8 * writes);
  for (const KernelSpec::Output& o : kernel.outputs) text += fmt::format("  {} = {}\n", o.field, to_text(o.value));
  for (const KernelSpec::Sum& s : kernel.sums) text += fmt::format("  sum {} += {}\n", s.accumulator, to_text(s.value));
  return text;
}

Json kernel_json(const Stepper::Described& described) {
  const KernelSpec& kernel = *described.kernel;
  const auto [reads, writes] = traffic(kernel);
  return {{"role", described.role},
          {"name", kernel.name},
          {"flops", flops(kernel.roots())},
          {"bytes_read", 8 * reads},
          {"bytes_written", 8 * writes}};
}

std::string equations_text(const SimulationSpec& spec, const Active& active) {
  const Model& model = spec.model;
  Graph& graph = *model.graph;
  std::string text = "Equations, discretised (u[x+1] is the neighbour above in x)\n";
  std::vector<Expr> lambdas;
  std::vector<Seed> seeds;
  for (std::size_t f = 0; f < model.fields.size(); ++f) {
    const std::string left = model.is_constrained(f) ? "0" : "d(" + model.fields[f] + ")/dt";
    text += fmt::format("  {} = {}\n", left, to_text(model.right_hand_sides[f]));
    lambdas.push_back(graph.field("lambda_" + model.fields[f]));
    seeds.push_back({true, model.fields[f], "d_" + model.fields[f]});
  }
  for (const Jump& jump : spec.jumps)
    for (const Jump::Assignment& assignment : jump.set)
      text += fmt::format("  at t = {:.10g}: {} = {}\n", fmt::join(jump.times, ", "), model.fields[assignment.field],
                          to_text(assignment.value));
  std::vector<std::string> fields = model.fields;
  for (const std::string& name : active.parameter_fields) {
    fields.push_back(name);
    seeds.push_back({true, name, "d_" + name});
  }
  std::vector<std::string> scalars = active.scalars;
  scalars.insert(scalars.end(), active.series.begin(), active.series.end());
  for (const std::string& name : scalars) seeds.push_back({false, name, "d_" + name});
  const std::vector<Expr> tangents = tangent(model.right_hand_sides, seeds);
  const Adjoint own = adjoint(model.right_hand_sides, lambdas, fields, scalars);
  text += "\nTangent (d_ marks a direction)\n";
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    text += fmt::format("  {} = {}\n", model.is_constrained(f) ? "0" : "d(d_" + model.fields[f] + ")/dt",
                        to_text(tangents[f]));
  text += "\nAdjoint, as gathers (lambda_ marks a multiplier)\n";
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    text += fmt::format("  {} = {}\n", model.is_constrained(f) ? "0" : "-d(lambda_" + model.fields[f] + ")/dt",
                        to_text(own.fields[f]));
  for (std::size_t k = model.fields.size(); k < fields.size(); ++k)
    text += fmt::format("  dJ/d{} = integral over time of {}\n", fields[k], to_text(own.fields[k]));
  for (std::size_t p = 0; p < scalars.size(); ++p)
    text += fmt::format("  dJ/d{} = sum over cells and time of {}\n", scalars[p], to_text(own.scalars[p]));
  return text;
}

std::string noise_text(const Graph& graph) {
  std::string text;
  for (const Noise& noise : graph.noises())
    text += fmt::format("  random numbers {}: one array, filled {}\n",
                        graph.fields()[static_cast<std::size_t>(noise.symbol)],
                        noise.changes_with_step ? "once per step in which a kernel reads it" : "once");
  return text;
}

std::string memory_text(const Session& session) {
  const Simulation& s = session.simulation();
  const Stepper& stepper = s.stepper();
  const auto& halo = s.grid().layout().halo;
  return fmt::format(
      "\nMemory plan (per rank, ghosts included; halo {} x {} x {})\n"
      "  stored per checkpoint of a state     {}\n"
      "  stored per checkpoint of a record    {}  (the state and {} stage inputs)\n"
      "  working memory of a gradient         {}  (states in flight, one record, two adjoints, scratch)\n"
      "  {}\n"
      "  shared: a checkpoint and the live state are one buffer until the next step is taken\n",
      halo[0], halo[1], halo[2], bytes_text(s.state_bytes()), bytes_text(s.record_bytes()), stepper.record_states(),
      bytes_text(s.working_bytes().machine), stepper.describe_memory());
}

/// A kernel as a backend's compiler made it.
struct DeviceKernel {
  device::KernelResources resources;
  int threads = 0;  ///< per block
  std::pair<int, int> traffic;
};

struct DeviceKernels {
  std::string architecture, compiler;
  std::vector<DeviceKernel> all;
};

/// Nothing when the backend's kernels are not programs for devices.
std::optional<DeviceKernels> compile_for_devices(const Simulation& simulation, const Backend& backend) {
  DeviceKernels made;
  for (const KernelLibrary* library : simulation.libraries()) {
    const DeviceSource source = emit_device(library->specs(), library->boxes());
    const std::optional<CompiledKernels> compiled = backend.compile(source.text);
    if (!compiled) return std::nullopt;
    made.architecture = compiled->architecture;
    made.compiler = compiled->compiler;
    for (std::size_t i = 0; i < source.kernels.size(); ++i) {
      const auto found = std::find_if(compiled->kernels.begin(), compiled->kernels.end(),
                                      [&](const auto& kernel) { return kernel.name == source.kernels[i].name; });
      if (found != compiled->kernels.end())
        made.all.push_back({*found, source.kernels[i].threads, traffic(library->specs()[i])});
    }
  }
  return made;
}

std::string text_of(const DeviceKernels& kernels, const std::string& title) {
  std::string text = fmt::format("Kernels for {} devices ({}, {})\n{:<20} {:>9} {:>13} {:>12} {:>13} {:>20}\n", title,
                                 kernels.architecture, kernels.compiler, "kernel", "registers", "bytes spilled",
                                 "bytes shared", "threads/block", "bytes read + written");
  for (const DeviceKernel& k : kernels.all)
    text += fmt::format("{:<20} {:>9} {:>13} {:>12} {:>13} {:>20}\n", k.resources.name, k.resources.registers,
                        k.resources.spilled_bytes, k.resources.shared_bytes, k.threads,
                        fmt::format("{} + {} per cell", 8 * k.traffic.first, 8 * k.traffic.second));
  return text;
}

Json json_of(const DeviceKernel& k, const std::string& architecture) {
  return {{"name", k.resources.name},
          {"architecture", architecture},
          {"registers", k.resources.registers},
          {"bytes_spilled", k.resources.spilled_bytes},
          {"bytes_shared", k.resources.shared_bytes},
          {"threads_per_block", k.threads},
          {"bytes_read", 8 * k.traffic.first},
          {"bytes_written", 8 * k.traffic.second}};
}

}  // namespace

ExitCode explain_verb(const Options& options, const Communicator& comm) {
  const Session session(read_same_case(options, comm), comm, Sensitivities::adjoint_and_tangent);
  const SimulationSpec& spec = session.simulation().spec();
  Active active;
  for (const Unknown& u : spec.unknowns) {
    if (u.kind == Unknown::Kind::scalar) active.scalars.push_back(u.name);
    if (u.kind == Unknown::Kind::series) active.series.push_back(u.name);
    if (u.kind == Unknown::Kind::field) active.parameter_fields.push_back(u.name);
  }
  const std::string equations = equations_text(spec, active);
  std::string kernels;
  Json json = {{"case", session.source().name}, {"method", spec.method}, {"equations", equations}};
  for (const Stepper::Described& d : session.simulation().stepper().describe()) {
    kernels += kernel_text(d);
    json["kernels"].push_back(kernel_json(d));
  }
  std::string for_devices;
  const Backend& backend = chosen_backend(options);
  if (const std::optional<DeviceKernels> made = compile_for_devices(session.simulation(), backend)) {
    const std::optional<BackendReport> report = backend.report();
    for_devices = "\n" + text_of(*made, report ? report->title : backend.name());
    for (const DeviceKernel& kernel : made->all)
      json[backend.name() + "_kernels"].push_back(json_of(kernel, made->architecture));
  }
  write_json(options, comm, json);
  if (options.json == "-") return ExitCode::done;
  print(comm, session.source().name + ", " + spec.method + "\n\n" + equations + "\nKernels\n" + kernels + for_devices +
                  memory_text(session) + noise_text(*spec.model.graph));
  return ExitCode::done;
}

}  // namespace hindsight
