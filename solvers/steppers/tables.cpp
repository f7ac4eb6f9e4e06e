#include "solvers/steppers/tables.hpp"

namespace hindsight {

Tables::Tables(const Graph& graph, const Grid& grid, int sums)
    : graph_(graph),
      grid_(grid),
      element_(graph.element()),
      fields_(graph.fields().size(), nullptr),
      scalars_(graph.scalars().size(), 0.0),
      sums_(static_cast<std::size_t>(sums), nullptr),
      lost_(1, 0.0),
      lost_sums_(static_cast<std::size_t>(sums), lost_.data()),
      strides_{{grid.layout().stride_y, grid.layout().stride_z}} {
  place_coordinates();
  place_walls();
  if (graph.noises().empty()) return;
  std::vector<NoiseField> fields;
  for (const Noise& noise : graph.noises()) {
    allocate({noise.symbol});
    fields.push_back({noise, field(noise.symbol)});
  }
  noise_ = std::make_unique<NoiseFields>(std::move(fields), grid);
}

void Tables::place_coordinates() {
  std::vector<double> all;
  std::array<std::int64_t, 3> origin{0, 0, 0};
  for (int axis = 0; axis < grid_.dimensions(); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t halo = grid_.layout().halo[a];
    origin[a] = static_cast<std::int64_t>(all.size()) + halo;
    all.insert(all.end(), grid_.coordinates(axis) - halo, grid_.coordinates(axis) + grid_.cells()[a] + halo);
  }
  wall_places_ = static_cast<std::int64_t>(all.size());
  for (const Axis& axis : grid_.axes()) all.insert(all.end(), {axis.from, axis.to});
  if (all.empty()) return;
  axes_ = Memory(static_cast<std::int64_t>(all.size()), grid_.machine());
  grid_.machine().copy(axes_.data(), all.data(), axes_.size());
  for (std::size_t a = 0; a < grid_.axes().size(); ++a) coordinates_[a] = axes_.data() + origin[a];
}

void Tables::place_walls() {
  for (int axis = 0; axis < 2; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    constexpr std::int64_t nowhere = std::int64_t{1} << 40U;
    within_walls_[a] = grid_.is_wall(axis, 0) ? 0 : -nowhere;
    within_walls_[2 + a] = grid_.is_wall(axis, 1) ? grid_.cells()[a] : nowhere;
  }
}

void Tables::allocate(const std::vector<int>& symbols) {
  if (symbols.empty()) return;
  const Layout& layout = grid_.layout();
  std::int64_t doubles = 0;
  for (const int symbol : symbols) doubles += doubles_of(graph_.kind(symbol).element, layout.field_stride);
  owned_.emplace_back(doubles, grid_.machine());
  bytes_ += owned_.back().size() * static_cast<std::int64_t>(sizeof(double));
  double* array = owned_.back().data();
  for (const int symbol : symbols) {
    const Element element = graph_.kind(symbol).element;
    bind(symbol, at_element(array, layout.origin, element));
    array += doubles_of(element, layout.field_stride);
  }
}

void Tables::copy_array(int symbol, const Tables& from, Machine& machine) const {
  const Element element = graph_.kind(symbol).element;
  const auto begin = [&](const Tables& of) { return at_element(of.field(symbol), -grid_.layout().origin, element); };
  machine.copy(begin(*this), begin(from), doubles_of(element, grid_.layout().size));
}

Launch Tables::launch_block(const Box& box) const {
  const bool rows_are_cells = grid_.dimensions() <= 1;
  return {.fields = fields_.data(),
          .scalars = scalars_.data(),
          .coordinates = coordinates_.data(),
          .sums = sums_.data(),
          .lo = {box.lo[0], box.lo[1], box.lo[2]},
          .hi = {box.hi[0], box.hi[1], box.hi[2]},
          .strides = strides_.data(),
          .row_y = rows_are_cells ? 0 : 1,
          .row_z = rows_are_cells ? 0 : grid_.cells()[1],
          .within_walls = within_walls_.data()};
}

void Tables::launch(const Kernel& kernel, const Box& box) const {
  if (box.is_empty()) return;
  kernel(launch_block(box));
}

void Tables::launch_beyond(const Kernel& kernel, const Box& box) const {
  if (box.is_empty()) return;
  Launch launch = launch_block(box);
  launch.sums = lost_sums_.data();
  launch.row_y = launch.row_z = 0;
  kernel(launch);
}

std::int64_t state_doubles(const Grid& grid, std::size_t fields, Element element) {
  return doubles_of(element, grid.layout().field_stride * static_cast<std::int64_t>(fields));
}

}  // namespace hindsight
