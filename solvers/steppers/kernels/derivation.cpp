#include "solvers/steppers/kernels/derivation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "solvers/steppers/reads.hpp"
#include "solvers/steppers/stage_names.hpp"
#include "solvers/steppers/wall_values.hpp"

namespace hindsight {
namespace {

bool is_same(const Adjoint& a, const Adjoint& b) {
  return std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), [](Expr x, Expr y) { return x.same_as(y); });
}

void append(KernelSpec& kernel, const std::vector<KernelSpec::Output>& outputs) {
  kernel.outputs.insert(kernel.outputs.end(), outputs.begin(), outputs.end());
}

/// The gather kernels of one request.
class GatherDerivation {
 public:
  GatherDerivation(const Model& model, const Active& active, const KernelRequest& request)
      : model_(model),
        active_(active),
        request_(request),
        states_(differentiated_states(model, active, request)),
        fields_(request.states.begin(), request.states.begin() + static_cast<std::ptrdiff_t>(states_)),
        scalars_(active.scalars) {
    for (std::size_t r = 0; r < request.expressions.size(); ++r) multipliers_.push_back(request.multiplier(r));
    fields_.insert(fields_.end(), request.before.begin(), request.before.end());
    fields_.insert(fields_.end(), active.parameter_fields.begin(), active.parameter_fields.end());
    for (const SeriesVariable& q : request.series) scalars_.push_back(q.name);
  }

  GatherKernels kernels() const {
    const Adjoint own = derivative({});
    GatherKernels made;
    made.main = main(request_.names.gather, own);
    if (!cross_walls(model_, request_.expressions)) return made;
    std::vector<Expr> arrays;
    for (const std::string& name : request_.multiplier_arrays) arrays.push_back(model_.graph->field(name));
    const Expr live = any_not_zero(arrays);
    const Adjoint near_walls = derivative({live});
    if (!is_same(own, near_walls)) made.border = main(request_.names.border, near_walls);
    put_walls(made, own, live);
    return made;
  }

 private:
  Adjoint derivative(const Mask& mask) const {
    return adjoint(request_.expressions, multipliers_, fields_, scalars_, mask);
  }
  Expr shared(Expr e) const { return request_.share.is_valid() ? request_.share * e : e; }
  std::size_t place_of_parameter(std::size_t k) const { return states_ + request_.before.size() + k; }
  bool is_held(std::size_t f) const { return f + request_.held >= request_.states.size(); }

  KernelSpec main(const std::string& name, const Adjoint& own) const {
    KernelSpec kernel{name, {}, {}};
    for (std::size_t f = 0; f < states_ && !is_held(f); ++f) append(kernel, request_.epilogue.gather(f, own.fields[f]));
    for (std::size_t f = 0; f < request_.before.size(); ++f)
      append(kernel, request_.epilogue.gather_before(f, own.fields[states_ + f]));
    for (std::size_t k = 0; k < active_.parameter_fields.size(); ++k) {
      const std::string bar = StageNames::bar(active_.parameter_fields[k]);
      const Expr gather = own.fields[place_of_parameter(k)];
      if (!gather.is_constant(0.0)) kernel.outputs.push_back({bar, model_.graph->field(bar) + shared(gather)});
    }
    put_sums(kernel, own);
    if (request_.repeats) set_repeats(kernel);
    return fused(kernel);
  }

  /// States are read from their trail; adjoints and what is added up for parameters are carried.
  void set_repeats(KernelSpec& kernel) const {
    for (std::size_t i = 0; i < kernel.outputs.size(); ++i) {
      const std::string& array = kernel.outputs[i].field;
      kernel.repeats.carried.emplace_back(array, i < request_.states.size() ? request_.multiplier_arrays[i] : array);
    }
    kernel.repeats.trail = request_.states;
  }

  void put_sums(KernelSpec& kernel, const Adjoint& own) const {
    const std::size_t scalars = active_.scalars.size();
    for (std::size_t p = 0; p < scalars; ++p)
      if (!own.scalars[p].is_constant(0.0)) kernel.sums.push_back({static_cast<int>(p), shared(own.scalars[p])});
    for (std::size_t q = 0; q < request_.series.size(); ++q) {
      const SeriesVariable& series = request_.series[q];
      const Expr summand = own.scalars[scalars + q];
      for (int knot = 0; knot < 2 && !summand.is_constant(0.0); ++knot)
        kernel.sums.push_back(
            {series.first_sum + knot, model_.graph->scalar(series.weights[knot == 0 ? 0 : 1]) * shared(summand)});
    }
  }

  void put_walls(GatherKernels& made, const Adjoint& own, Expr live) const {
    const std::array<int, 3> depth = ring_depth(model_, request_.expressions);
    std::vector<std::pair<Side, Adjoint>> beyond;
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (int upper = 0; upper < 2 && depth[axis] > 0; ++upper) {
        const Side side{axis, upper};
        beyond.emplace_back(side, derivative({live, side}));
      }
    std::vector<std::string> arrays;  // that rings write
    std::vector<std::size_t> places;  // of these, in Adjoint::fields
    KernelSpec add{request_.names.add, {}, {}};
    for (std::size_t f = 0; f < states_; ++f) {
      if (!is_held(f) && request_.epilogue.gather(f, own.fields[f]).empty()) continue;
      arrays.push_back(StageNames::ghost(model_.fields[f]));
      places.push_back(f);
      const Expr found = doubles(arrays.back());
      if (!is_held(f)) append(add, request_.epilogue.add(f, found));
    }
    for (std::size_t k = 0; k < active_.parameter_fields.size(); ++k) {
      const std::size_t place = place_of_parameter(k);
      if (std::ranges::all_of(beyond, [&](const auto& one) { return one.second.fields[place].is_constant(0.0); }))
        continue;
      const std::string& name = active_.parameter_fields[k];
      const std::string bar = StageNames::bar(name);
      arrays.push_back(StageNames::ghost(name));
      places.push_back(place);
      add.outputs.push_back({bar, model_.graph->field(bar) + shared(doubles(arrays.back()))});
    }
    for (const auto& [side, gathers] : beyond) put_ring(made, side, gathers, arrays, places);
    if (!made.rings.empty()) made.add = fused(add);
  }

  void put_ring(GatherKernels& made, const Side& side, const Adjoint& gathers, const std::vector<std::string>& arrays,
                const std::vector<std::size_t>& places) const {
    KernelSpec ring{fmt::format("{}_{}{}", request_.names.ring, "xyz"[side.axis], side.upper), {}, {}};
    bool finds_something = false;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const Expr gather = gathers.fields[places[i]];
      finds_something = finds_something || !gather.is_constant(0.0);
      ring.outputs.push_back({arrays[i], gather});
    }
    if (finds_something) made.rings.push_back({side, fused(ring)});
  }

  Expr doubles(const std::string& array) const {
    const Expr read = model_.graph->field(array);
    model_.graph->set_kind(read.node().symbol, {});
    return read;
  }

  const Model& model_;
  const Active& active_;
  const KernelRequest& request_;
  std::size_t states_;  // that are differentiated
  std::vector<std::string> fields_, scalars_;
  std::vector<Expr> multipliers_;
};

/// How far from owned cells a ring reads along an axis. Of two sides' corner the ring of the higher axis has the cells.
int ghosts_read(const Side& side, const Offset& offset, std::size_t axis, int depth) {
  if (axis == side.axis) return depth + (side.upper != 0 ? offset[axis] : -offset[axis]);
  return std::abs(offset[axis]) + (axis < side.axis ? depth : 0);
}

}  // namespace

std::vector<const KernelSpec*> GatherKernels::all() const {
  std::vector<const KernelSpec*> all{&main, &border, &add};
  for (const Ring& ring : rings) all.push_back(&ring.spec);
  return all;
}

Reach GatherKernels::reach(const std::vector<int>& symbols, const std::array<int, 3>& ring_depth) const {
  Reach most = deepest({&main, &border, &add}, symbols);
  for (const Ring& ring : rings) {
    const Reach own = deepest({&ring.spec}, symbols);
    most.read = most.read || own.read;
    most.corners = most.corners || own.corners;
    for_reads(ring.spec, symbols, [&](const Offset& offset) {
      for (std::size_t a = 0; a < 3; ++a)
        most.depth[a] = std::max(most.depth[a], ghosts_read(ring.side, offset, a, ring_depth[a]));
    });
    if (symbols.empty()) most.depth = deeper(most.depth, ring_depth);  // written
  }
  return most;
}

std::vector<SeriesVariable> series_variables(const Active& active, int stage, int first_sum, SeriesReads reads) {
  std::vector<SeriesVariable> all;
  for (const bool is_rate : {false, true})
    for (std::size_t q = 0; q < active.series.size(); ++q) {
      if (is_rate && reads == SeriesReads::values) continue;
      const std::string name = is_rate ? StageNames::rate(active.series[q]) : active.series[q];
      all.push_back({q,
                     is_rate,
                     StageNames::stage(name, stage),
                     {StageNames::weight(name, stage, 0), StageNames::weight(name, stage, 1)},
                     first_sum});
      first_sum += 2;
    }
  return all;
}

std::vector<Seed> wall_seeds(const Active& active, const KernelRequest& request) {
  std::vector<Seed> seeds;
  for (const std::string& name : active.scalars) seeds.push_back({false, name, StageNames::dot(name)});
  for (const SeriesVariable& q : request.series) seeds.push_back({false, q.name, StageNames::dot(q.name)});
  return seeds;
}

bool walls_change(const Model& model, const Active& active, const KernelRequest& request, std::size_t from,
                  std::size_t to) {
  const std::vector<Seed> seeds = wall_seeds(active, request);
  const WallExpressions changes = wall_expressions(model, request.stage, &seeds);
  const auto is_fixed = [&](std::size_t f) {
    return std::ranges::all_of(changes[f], [](const auto& sides) {
      return std::ranges::all_of(sides, [](Expr change) { return !change.is_valid() || change.is_constant(0.0); });
    });
  };
  for (std::size_t f = from; f < to; ++f)
    if (!is_fixed(f)) return true;
  return false;
}

std::size_t differentiated_states(const Model& model, const Active& active, const KernelRequest& request) {
  const std::size_t all = request.states.size(), own = all - request.held;
  if (own == all || !cross_walls(model, request.expressions)) return own;
  return walls_change(model, active, request, own, all) ? all : own;
}

bool cross_walls(const Model& model, const std::vector<Expr>& expressions) {
  return ring_depth(model, expressions) != std::array<int, 3>{0, 0, 0};
}

KernelRequest request_at_sources(const KernelRequest& request) {
  KernelRequest around = request;
  around.expressions = request.at_sources;
  around.names.value += "_at_sources";
  around.names.tangent += "_at_sources";
  return around;
}

KernelSpec source_adjoint_kernel(const Model& model, const KernelRequest& request) {
  std::vector<Expr> multipliers;
  for (std::size_t r = 0; r < request.at_sources.size(); ++r) multipliers.push_back(request.multiplier(r));
  const Adjoint own = adjoint(request.at_sources, multipliers, request.source_arrays, {});
  KernelSpec kernel{request.names.gather + "_of_sources", {}, {}};
  for (std::size_t s = 0; s < request.source_arrays.size(); ++s) {
    const std::string bar = StageNames::bar(request.source_arrays[s]);
    model.graph->field(bar);
    kernel.outputs.push_back({bar, request.share.is_valid() ? request.share * own.fields[s] : own.fields[s]});
  }
  return fused(kernel);
}

KernelSpec value_kernel(const KernelRequest& request) {
  KernelSpec kernel{request.names.value, {}, {}};
  request.epilogue.values(kernel, request.expressions);
  for (std::size_t f = 0; f < request.states.size() && request.repeats; ++f)
    kernel.repeats.carried.emplace_back(kernel.outputs[f].field, request.states[f]);
  return fused(kernel);
}

KernelSpec trail_kernel(const KernelRequest& request) {
  if (!request.repeats) return {};
  KernelSpec kernel = value_kernel(request);
  kernel.name = request.names.trail;
  kernel.repeats.trail = request.states;
  return kernel;
}

KernelSpec tangent_kernel(const Model& model, const Active& active, const KernelRequest& request) {
  std::vector<Seed> seeds;
  const auto seed = [&](bool is_field, const std::string& name) {
    seeds.push_back({is_field, name, StageNames::dot(name)});
  };
  for (std::size_t f = 0; f < differentiated_states(model, active, request); ++f) seed(true, request.states[f]);
  for (const std::string& name : request.before) seed(true, name);
  for (const std::string& name : request.source_arrays) seed(true, name);
  for (const std::string& name : active.parameter_fields) seed(true, name);
  for (const std::string& name : active.scalars) seed(false, name);
  for (const SeriesVariable& q : request.series) seed(false, q.name);
  KernelSpec kernel{request.names.tangent, {}, {}};
  request.epilogue.tangents(kernel, tangent(request.expressions, seeds));
  return fused(kernel);
}

GatherKernels gather_kernels(const Model& model, const Active& active, const KernelRequest& request) {
  return GatherDerivation(model, active, request).kernels();
}

}  // namespace hindsight
