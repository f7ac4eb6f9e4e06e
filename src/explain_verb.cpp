// explain: what is derived from a case, as text: equations, kernels, memory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "runtime/backends.hpp"
#include "solvers/equations/emit_device.hpp"
#include "solvers/equations/print.hpp"
#include "solvers/steppers/reads.hpp"
#include "src/report.hpp"
#include "src/same_start.hpp"
#include "src/session.hpp"
#include "src/step_roofline.hpp"
#include "src/verbs.hpp"

namespace hindsight {
namespace {

std::string kernel_text(const Stepper::Described& described) {
  const KernelSpec& kernel = *described.kernel;
  const auto [read, written] = traffic(kernel);
  std::string text = fmt::format("{} kernel {}: {} flops, {} bytes read and {} written per cell\n", described.role,
                                 kernel.name, flops(kernel.roots()), read, written);
  for (const KernelSpec::Output& o : kernel.outputs) text += fmt::format("  {} = {}\n", o.field, to_text(o.value));
  for (const KernelSpec::Sum& s : kernel.sums) text += fmt::format("  sum {} += {}\n", s.accumulator, to_text(s.value));
  return text;
}

Json kernel_json(const Stepper::Described& described) {
  const KernelSpec& kernel = *described.kernel;
  const auto [read, written] = traffic(kernel);
  return {{"role", described.role},
          {"name", kernel.name},
          {"flops", flops(kernel.roots())},
          {"bytes_read", read},
          {"bytes_written", written}};
}

std::string times_text(const Jump& jump) {
  return fmt::format("at t = {:.10g}", fmt::join(jump.times, ", "));
}

/// What is differentiated, and against what.
struct Directions {
  std::vector<std::string> fields, scalars;  ///< the states first, then parameter fields; parameters and series
  std::vector<Seed> seeds;
  std::vector<Expr> lambdas;  ///< one per state
};

Directions directions(const Model& model, const Active& active) {
  Directions all{model.fields, active.scalars, {}, {}};
  std::ranges::copy(active.parameter_fields, std::back_inserter(all.fields));
  std::ranges::copy(active.series, std::back_inserter(all.scalars));
  for (const std::string& name : all.fields) all.seeds.push_back({true, name, "d_" + name});
  for (const std::string& name : all.scalars) all.seeds.push_back({false, name, "d_" + name});
  for (const std::string& name : model.fields) all.lambdas.push_back(model.graph->field("lambda_" + name));
  return all;
}

/// Of a jump, with multipliers of the state after it.
Adjoint adjoint_of(const Jump& jump, const Model& model, const Directions& all) {
  std::vector<Expr> after;
  for (const std::string& name : model.fields) after.push_back(model.graph->field(name));
  for (const Jump::Assignment& assignment : jump.set) after[assignment.field] = assignment.value;
  return adjoint(after, all.lambdas, all.fields, all.scalars);
}

std::string jumps_text(const std::vector<Jump>& jumps, const Model& model) {
  std::string text;
  for (const Jump& jump : jumps)
    for (const Jump::Assignment& assignment : jump.set)
      text +=
          fmt::format("  {}: {} = {}\n", times_text(jump), model.fields[assignment.field], to_text(assignment.value));
  return text;
}

std::string tangents_text(const std::vector<Jump>& jumps, const Model& model, const Directions& all) {
  std::string text;
  for (const Jump& jump : jumps)
    for (const Jump::Assignment& assignment : jump.set)
      text += fmt::format("  {}: d_{} = {}\n", times_text(jump), model.fields[assignment.field],
                          to_text(tangent({assignment.value}, all.seeds).front()));
  return text;
}

/// Multipliers that a jump changes. The last of one time is the first to be reversed.
std::string adjoints_text(const std::vector<Jump>& jumps, const Model& model, const Directions& all) {
  std::string text;
  for (auto jump = jumps.rbegin(); jump != jumps.rend(); ++jump) {
    const Adjoint own = adjoint_of(*jump, model, all);
    for (std::size_t f = 0; f < model.fields.size(); ++f)
      if (!own.fields[f].same_as(all.lambdas[f]))
        text += fmt::format("  {}: lambda_{} = {}\n", times_text(*jump), model.fields[f], to_text(own.fields[f]));
  }
  return text;
}

/// One derivative: what equations and jumps give to it. @param share of a jump's adjoint.
template <class Share>
std::string derivative_text(const std::string& name, const std::string& sum, Expr of_equations,
                            const std::vector<std::pair<std::string, Adjoint>>& jumps, const std::string& sum_of_jumps,
                            bool is_read_by_walls, const std::string& at_sources, Share share) {
  std::vector<std::string> parts;
  for (const auto& [times, own] : jumps)
    if (const Expr found = share(own); !found.is_constant(0))
      parts.push_back(fmt::format("{} {} of {}", sum_of_jumps, times, to_text(found)));
  if (is_read_by_walls) parts.push_back("what the walls that read it give");
  if (!at_sources.empty()) parts.push_back(at_sources);
  if (parts.empty() || !of_equations.is_constant(0))
    parts.insert(parts.begin(), fmt::format("{} of {}", sum, to_text(of_equations)));
  return fmt::format("  dJ/d{} = {}\n", name, fmt::join(parts, ", and "));
}

bool walls_read(const Model& model, const std::string& name) {
  const std::vector<Expr> values = wall_values(model);
  const Graph& graph = *model.graph;
  return std::ranges::any_of(reachable(values), [&](NodeId id) {
    const Node& node = graph[id];
    return (node.op == Op::scalar && graph.scalars()[static_cast<std::size_t>(node.symbol)] == name) ||
           (node.op == Op::field && graph.fields()[static_cast<std::size_t>(node.symbol)] == name);
  });
}

/// What falls on a series that sources add to equations; empty: none does.
std::string sources_share_text(const Model& model, const std::string& name) {
  std::vector<std::string> fields;
  for (const PointSource& source : model.sources)
    if (model.series[source.series] == name) fields.push_back("lambda_" + model.fields[source.field]);
  return fields.empty() ? "" : fmt::format("{} at its sources", fmt::join(fields, " and "));
}

std::string derivatives_text(const std::vector<Jump>& jumps, const Model& model, const Directions& all,
                             const Adjoint& own) {
  std::vector<std::pair<std::string, Adjoint>> of_jumps;
  for (const Jump& jump : jumps) of_jumps.emplace_back(times_text(jump), adjoint_of(jump, model, all));
  std::string text;
  for (std::size_t k = model.fields.size(); k < all.fields.size(); ++k)
    text += derivative_text(all.fields[k], "integral over time", own.fields[k], of_jumps, "values",
                            walls_read(model, all.fields[k]), "", [k](const Adjoint& jump) { return jump.fields[k]; });
  for (std::size_t p = 0; p < all.scalars.size(); ++p)
    text += derivative_text(all.scalars[p], "sum over cells and time", own.scalars[p], of_jumps, "sum over cells",
                            walls_read(model, all.scalars[p]), sources_share_text(model, all.scalars[p]),
                            [p](const Adjoint& jump) { return jump.scalars[p]; });
  return text;
}

std::string equations_text(const SimulationSpec& spec, const Active& active) {
  const Model& model = spec.model;
  std::vector<Jump> jumps = spec.jumps;
  std::erase_if(jumps, [](const Jump& jump) { return jump.set.empty(); });
  const Directions all = directions(model, active);
  const bool is_second = model.is_second_order;
  const auto left = [&](std::size_t f, const char* sign, const char* prefix) {
    if (model.is_constrained(f)) return std::string("0");
    return is_second ? fmt::format("{}d2({}{})/dt2", sign, prefix, model.fields[f])
                     : fmt::format("{}d({}{})/dt", sign, prefix, model.fields[f]);
  };
  const auto damping = [&](std::size_t f, const char* before, const char* prefix) {
    if (!is_second || model.damping[f].is_constant(0)) return std::string();
    return fmt::format("{}({})*d({}{})/dt", before, to_text(model.damping[f]), prefix, model.fields[f]);
  };
  std::string text = "Equations, discretised (u[x+1] is the neighbour above in x)\n";
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    text += fmt::format("  {} = {}{}\n", left(f, "", ""), to_text(model.right_hand_sides[f]), damping(f, " + ", ""));
  for (const PointSource& source : model.sources)
    text += fmt::format("  and {} gets {}(t)*delta(x - place) of a source\n", left(source.field, "", ""),
                        model.series[source.series]);
  text += jumps_text(jumps, model);
  std::vector<Expr> whole = model.right_hand_sides;  // rates are data to them
  for (std::size_t f = 0; f < whole.size() && is_second; ++f)
    whole[f] = whole[f] + model.damping[f] * model.graph->field(Model::rate(model.fields[f]));
  const std::vector<Expr> tangents = tangent(whole, all.seeds);
  const Adjoint own = adjoint(whole, all.lambdas, all.fields, all.scalars);
  text += "\nTangent (d_ marks a direction)\n";
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    text += fmt::format("  {} = {}{}\n", left(f, "", "d_"), to_text(tangents[f]), damping(f, " + ", "d_"));
  text += tangents_text(jumps, model, all);
  text += fmt::format("\nAdjoint, as gathers (lambda_ marks a multiplier{})\n",
                      jumps.empty() ? "" : "; at events, right-hand sides read states before and multipliers after");
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    text += fmt::format("  {} = {}{}\n", left(f, is_second ? "" : "-", "lambda_"), to_text(own.fields[f]),
                        damping(f, " - ", "lambda_"));
  return text + adjoints_text(jumps, model, all) + derivatives_text(jumps, model, all, own);
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
                        fmt::format("{} + {} per cell", k.traffic.first, k.traffic.second));
  return text;
}

Json json_of(const DeviceKernel& k, const std::string& architecture) {
  return {{"name", k.resources.name},
          {"architecture", architecture},
          {"registers", k.resources.registers},
          {"bytes_spilled", k.resources.spilled_bytes},
          {"bytes_shared", k.resources.shared_bytes},
          {"threads_per_block", k.threads},
          {"bytes_read", k.traffic.first},
          {"bytes_written", k.traffic.second}};
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
  const std::string precision = name_of(session.simulation().element());
  Json json = {
      {"case", session.source().name}, {"method", spec.method}, {"precision", precision}, {"equations", equations}};
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
  const std::optional<StepRoofline> roofline = step_roofline(session);
  if (roofline)
    json["step"] = {{"bytes_read", roofline->read},
                    {"bytes_written", roofline->written},
                    {"seconds_per_cell", roofline->measured},
                    {"bytes_per_second_of_a_copy", roofline->bandwidth}};
  write_json(options, comm, json);
  if (options.json == "-") return ExitCode::done;
  print(comm, session.source().name + ", " + spec.method + ", " + precision + "\n\n" + equations + "\nKernels\n" +
                  kernels + for_devices + memory_text(session) + (roofline ? to_text(*roofline) : "") +
                  noise_text(*spec.model.graph));
  return ExitCode::done;
}

}  // namespace hindsight
