#include "solvers/steppers/leapfrog/matched_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/error.hpp"
#include "solvers/steppers/reads.hpp"

namespace hindsight {

MatchedLayers::Layer::Layer(const Model& model, const Active& active, const LeapfrogKernels& scheme, std::size_t i,
                            const Derivatives& wanted)
    : layer(model.layers[i]), kernels(model, active, scheme, i), specs{kernels.value()} {
  if (wanted.tangent) specs.push_back(kernels.tangent());
  if (wanted.adjoint) specs.push_back(kernels.adjoint());
  specs.push_back(kernels.speed());
  specs_of_left = {kernels.leaving(), kernels.retreat()};
  if (wanted.adjoint) specs_of_left.push_back(kernels.adjoint_of_left());
  Graph& graph = *model.graph;
  const auto symbol = [&](const std::string& array) { return int{graph.field(array).node().symbol}; };
  for (const std::string& memory : kernels.memories()) {
    const std::string next = LeapfrogNames::next(memory);
    symbols.now.push_back(symbol(memory));
    symbols.next.push_back(symbol(next));
    symbols.direction.push_back(symbol(StageNames::dot(memory)));
    symbols.next_direction.push_back(symbol(StageNames::dot(next)));
    symbols.lambda.push_back(symbol(StageNames::lambda(memory)));
    symbols.lambda_next.push_back(symbol(LeapfrogNames::lambda_next(memory)));
  }
  for (const std::string& array : kernels.left_behind()) symbols.left.push_back(symbol(array));
  damping = graph.scalar(kernels.damping()).node().symbol;
  shift = graph.scalar(kernels.shift()).node().symbol;
}

MatchedLayers::MatchedLayers(const Model& model, const Active& active, const LeapfrogKernels& scheme,
                             const Derivatives& wanted)
    : model_(model), wanted_(wanted) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    layers_.push_back(std::make_unique<Layer>(model, active, scheme, i, wanted));
    const int axis = model.layers[i].axis;
    const auto same =
        std::ranges::find_if(axes_, [&](const Axis& one) { return model.layers[one.layers.front()].axis == axis; });
    if (same != axes_.end()) {
      same->layers.push_back(i);
      continue;
    }
    axes_.push_back({{i}, nullptr, {}});
    if (!wanted.adjoint) continue;
    Axis& made = axes_.back();
    made.roots = std::make_unique<KernelSet>(model, active, "pml_" + std::to_string(axis) + "_");
    const KernelRequest request = layers_.back()->kernels.roots();
    for (const std::string& array : request.multiplier_arrays)
      made.multipliers.push_back(model.graph->field(array).node().symbol);
    made.roots->add(request);
    made.roots->derive({.adjoint = true});
  }
}

std::array<int, 3> MatchedLayers::halo() const {
  std::array<int, 3> halo{0, 0, 0};
  for (const auto& layer : layers_) halo = deeper(halo, deepest(pointers(layer->specs), {}).depth);
  for (const Axis& axis : axes_)
    if (axis.roots) halo = deeper(halo, axis.roots->halo());
  return halo;
}

std::array<int, 3> MatchedLayers::reads() const {
  std::array<int, 3> reads{0, 0, 0};
  for (const auto& layer : layers_) reads = deeper(reads, deepest({&layer->specs.front()}, {}).depth);
  return reads;
}

std::vector<Stepper::Described> MatchedLayers::describe() const {
  std::vector<Stepper::Described> all;
  for (const auto& layer : layers_)
    for (const KernelSpec& spec : layer->specs)
      if (&spec != &layer->specs.back()) all.push_back({"in a layer", &spec});
  for (const Axis& axis : axes_)
    if (axis.roots)
      for (Stepper::Described described : axis.roots->describe()) {
        described.role += ", beside layers";
        all.push_back(described);
      }
  return all;
}

std::vector<const KernelLibrary*> MatchedLayers::libraries() const {
  std::vector<const KernelLibrary*> all;
  for (const auto& layer : layers_)
    for (const KernelLibrary* library : {&layer->library, &layer->library_of_left}) all.push_back(library);
  for (const Axis& axis : axes_)
    if (axis.roots)
      for (const KernelLibrary* library : axis.roots->libraries()) all.push_back(library);
  return all;
}

/// In global indices.
Box MatchedLayers::box_of(const MatchedLayer& layer, const Grid& grid) {
  Box box{{0, 0, 0}, grid.global_cells()};
  const auto a = static_cast<std::size_t>(layer.axis);
  if (layer.side == 0) {
    box.hi[a] = layer.cells;
  } else {
    box.lo[a] = box.hi[a] - layer.cells;
  }
  return box;
}

void MatchedLayers::add_arrays(StateShape& shape, const Grid& grid) const {
  for (const auto& layer : layers_)
    for (std::size_t m = 0; m < layer->symbols.now.size(); ++m)
      add_array(shape, model_.graph->element(), box_of(layer->layer, grid), grid);
}

void MatchedLayers::place(Layer& layer, std::size_t first_array, const StateShape& shape, Tables& tables) {
  const Grid& grid = tables.grid();
  const StateArray& first = shape.arrays[first_array];
  for (std::size_t a = 0; a < 3; ++a) {
    layer.box.lo[a] = first.first[a] - grid.first()[a];
    layer.box.hi[a] = layer.box.lo[a] + first.cells[a];
  }
  const int layout = tables.add_layout({first.stride_y, first.stride_z});
  const Symbols& s = layer.symbols;
  for (const std::vector<int>* all :
       {&s.now, &s.next, &s.direction, &s.next_direction, &s.lambda, &s.lambda_next, &s.left})
    for (const int symbol : *all) model_.graph->set_kind(symbol, {first.element, layout});
  for (std::size_t m = 0; m < s.now.size(); ++m)
    layer.origins.push_back(origin_in(layer, shape.arrays[first_array + m]));
}

std::int64_t MatchedLayers::origin_in(const Layer& layer, const StateArray& array) {
  const Index3& lo = layer.box.lo;
  return array.origin - lo[0] - array.stride_y * lo[1] - array.stride_z * lo[2];
}

StateShape MatchedLayers::left_behind(const Grid& grid) const {
  StateShape shape;
  for (const auto& layer : layers_)
    for (std::size_t t = 0; t < layer->symbols.left.size(); ++t)
      add_array(shape, model_.graph->element(), box_of(layer->layer, grid), grid);
  return shape;
}

void MatchedLayers::prepare_left_behind(const Grid& grid) {
  const StateShape shape = left_behind(grid);
  std::size_t array = 0;
  for (const auto& layer : layers_) {
    layer->origins_of_left.clear();
    for (std::size_t t = 0; t < layer->symbols.left.size(); ++t)
      layer->origins_of_left.push_back(origin_in(*layer, shape.arrays[array++]));
    layer->library_of_left = KernelLibrary(layer->specs_of_left, boxes_of(grid.dimensions()), grid.communicator(),
                                           grid.machine(), longest_compiled);
  }
}

/// The cells that roots in the layers of an axis are read in, each once; those of other ranks and ghosts among them.
std::vector<Box> MatchedLayers::around(const Axis& axis, const Grid& grid) const {
  const auto a = static_cast<std::size_t>(layers_[axis.layers.front()]->layer.axis);
  const std::int64_t reach = axis.roots->halo()[a];
  std::vector<Box> boxes;
  for (const std::size_t i : axis.layers) {
    Box box = box_of(layers_[i]->layer, grid);
    for (std::size_t b = 0; b < 3; ++b) {
      box.lo[b] -= grid.first()[b];
      box.hi[b] -= grid.first()[b];
    }
    box.lo[a] -= reach;
    box.hi[a] += reach;
    if (!boxes.empty() && box.lo[a] < boxes.front().hi[a]) {  // the lower layer's cells come first
      boxes.front().hi[a] = box.hi[a];
    } else {
      boxes.push_back(box);
    }
  }
  return boxes;
}

void MatchedLayers::prepare(const StateShape& shape, Tables& tables, const std::vector<std::size_t>& knots) {
  if (!are_any()) return;
  const Grid& grid = tables.grid();
  std::size_t array = model_.fields.size();
  for (const auto& layer : layers_) {
    place(*layer, array, shape, tables);
    array += layer->symbols.now.size();
  }
  std::vector<int> multipliers;
  for (const Axis& axis : axes_)
    for (const int symbol : axis.multipliers)
      if (std::ranges::count(multipliers, symbol) == 0) multipliers.push_back(symbol);
  grid.communicator().together([&] {
    tables.allocate(multipliers);
    grid.operations().reserve_largest();
  });
  for (const auto& layer : layers_) {
    layer->library =
        KernelLibrary(layer->specs, boxes_of(grid.dimensions()), grid.communicator(), grid.machine(), longest_compiled);
    std::size_t next = 0;
    layer->value = layer->library[next++];
    if (wanted_.tangent) layer->tangent = layer->library[next++];
    if (wanted_.adjoint) layer->adjoint = layer->library[next++];
    layer->speed = layer->library[next];
  }
  for (const Axis& axis : axes_) {
    if (!axis.roots) continue;
    const std::vector<Box> boxes = around(axis, grid);
    axis.roots->prepare(grid, tables, knots, KernelSet::Libraries::one, longest_compiled, nullptr, &boxes);
  }
}

bool MatchedLayers::have_speeds_to_find() const {
  return std::ranges::any_of(layers_, [](const auto& layer) { return !layer->layer.speed; });
}

/// @throws InputError
void MatchedLayers::require_speed(double speed, const MatchedLayer& layer, const Grid& grid) {
  if (speed > 0.0 && std::isfinite(speed)) return;
  throw InputError(layer.place, fmt::format("the speed of waves in the pml along {}.{} is {}: name it, absorb.speed",
                                            grid.axes()[static_cast<std::size_t>(layer.axis)].name,
                                            layer.side == 0 ? "lower" : "upper",
                                            speed > 0.0 ? "too large for a number" : "not a positive number"));
}

void MatchedLayers::find_speeds(Tables& tables, double* state) {
  const Grid& grid = tables.grid();
  for (const auto& layer : layers_) {
    double speed = layer->layer.speed.value_or(0.0);
    if (!layer->layer.speed) {
      const int symbol = model_.graph->field_index(layer->specs.back().outputs.front().field);
      tables.bind_state({symbol}, state);
      tables.launch(layer->speed, layer->box);
      double squared = 0.0;
      if (!layer->box.is_empty())
        squared = grid.operations().largest(layer->box.extent(), grid.block(layer->box, tables.cells(symbol)));
      speed = std::sqrt(grid.communicator().max(squared));
    }
    require_speed(speed, layer->layer, grid);
    tables.scalar(layer->damping) = layer->layer.largest_damping(speed);
    tables.scalar(layer->shift) = layer->layer.shift(speed);
  }
}

void MatchedLayers::clear_memories(const Grid& grid, double* state) const {
  const Element element = model_.graph->element();
  for (const auto& layer : layers_)
    for (const std::int64_t origin : layer->origins) {
      const Index3 count = layer->box.extent(), &lo = layer->box.lo;
      if (layer->box.is_empty()) continue;
      double* const first = at_element(state, origin + lo[0] + count[0] * (lo[1] + count[1] * lo[2]), element);
      grid.operations().zero(count, CellOperations::packed(count, first, element));
    }
}

void MatchedLayers::bind(Tables& tables, const std::vector<std::int64_t>& origins, const std::vector<int>& symbols,
                         double* block) const {
  const Element element = model_.graph->element();
  for (std::size_t m = 0; m < symbols.size(); ++m)
    tables.bind_other(symbols[m], at_element(block, origins[m], element));
}

void MatchedLayers::step(Tables& tables, double* u, double* next) const {
  for (const auto& layer : layers_) {
    bind(tables, layer->origins, layer->symbols.now, u);
    bind(tables, layer->origins, layer->symbols.next, next);
    if (left_ != nullptr) bind(tables, layer->origins_of_left, layer->symbols.left, left_);
    tables.launch(left_ != nullptr ? layer->library_of_left[0] : layer->value, layer->box);
  }
}

void MatchedLayers::step_in(Tables& tables, double* u, double* next, const Box& cells) const {
  for (const auto& layer : layers_) {
    const Box box = common(layer->box, cells);
    if (box.is_empty()) continue;
    bind(tables, layer->origins, layer->symbols.now, u);
    bind(tables, layer->origins, layer->symbols.next, next);
    tables.launch(layer->value, box);
  }
}

void MatchedLayers::retreat(Tables& tables) const {
  for (const auto& layer : layers_) {
    bind(tables, layer->origins_of_left, layer->symbols.left, left_);
    tables.launch(layer->library_of_left[1], layer->box);
  }
}

void MatchedLayers::tangent(Tables& tables, double* u, double* du, double* dnext) const {
  for (const auto& layer : layers_) {
    bind(tables, layer->origins, layer->symbols.now, u);
    bind(tables, layer->origins, layer->symbols.direction, du);
    bind(tables, layer->origins, layer->symbols.next_direction, dnext);
    tables.launch(layer->tangent, layer->box);
  }
}

void MatchedLayers::reverse(Tables& tables, double* u, double* lambda, double* lambda_next,
                            const std::vector<Series::Place>& places) {
  const Grid& grid = tables.grid();
  for (const Axis& axis : axes_) {
    for (const std::size_t i : axis.layers) {
      const Layer& layer = *layers_[i];
      if (left_ != nullptr) {
        bind(tables, layer.origins_of_left, layer.symbols.left, left_);
      } else {
        bind(tables, layer.origins, layer.symbols.now, u);
      }
      bind(tables, layer.origins, layer.symbols.lambda, lambda);
      bind(tables, layer.origins, layer.symbols.lambda_next, lambda_next);
      tables.launch(left_ != nullptr ? layer.library_of_left[2] : layer.adjoint, layer.box);
    }
    axis.roots->run_gather(0, tables, places);
    for (const std::size_t i : axis.layers)
      for (const int symbol : axis.multipliers) {
        const Box& box = layers_[i]->box;
        if (!box.is_empty()) grid.operations().zero(box.extent(), grid.block(box, tables.cells(symbol)));
      }
  }
}

void MatchedLayers::clear_sums() {
  for (const Axis& axis : axes_)
    if (axis.roots) axis.roots->clear_sums();
}

void MatchedLayers::save_sums(BlockWriter& to) const {
  for (const Axis& axis : axes_)
    if (axis.roots) axis.roots->save_sums(to);
}

void MatchedLayers::restore_sums(BlockReader& from) {
  for (const Axis& axis : axes_)
    if (axis.roots) axis.roots->restore_sums(from);
}

void MatchedLayers::add_sums(std::vector<double>& scalars, std::vector<std::vector<double>>& knots) const {
  for (const Axis& axis : axes_)
    if (axis.roots) axis.roots->add_sums(scalars, knots);
}

}  // namespace hindsight
