#include <algorithm>

#include "io/case/sections.hpp"
#include "runtime/nearest_name.hpp"

namespace hindsight {
namespace {

/// What sides are called: "x.lower".
std::string side_name(const AxisText& axis, std::size_t side) {
  return axis.name + (side == 0 ? ".lower" : ".upper");
}

/// Those that are named, or all that are walls.
void read_sides(Value absorb, const GridText& grid, AbsorbText& into) {
  const auto sides = absorb.find("sides");
  std::vector<std::string> names;
  for (const AxisText& axis : grid.axes)
    for (std::size_t side = 0; side < 2; ++side) names.push_back(side_name(axis, side));
  for (std::size_t a = 0; a < grid.axes.size(); ++a)
    for (std::size_t side = 0; side < 2 && !sides; ++side) into.sides[a][side] = !grid.axes[a].periodic;
  if (!sides) return;
  for (const Value& item : sides->items()) {
    const std::string name = item.one_of(names);
    const auto at = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    const AxisText& axis = grid.axes[at / 2];
    if (axis.periodic) item.fail("'" + name + "' is periodic: nothing leaves the grid there");
    if (into.sides[at / 2][at % 2]) item.fail("'" + name + "' is named again");
    into.sides[at / 2][at % 2] = true;
  }
}

double read_positive(const Value& value, const std::string& what) {
  const double number = value.number();
  if (!(number > 0)) value.fail(what + " must be positive");
  return number;
}

}  // namespace

AbsorbText read_absorb(Value absorb, const std::optional<GridText>& grid) {
  AbsorbText result;
  result.place = absorb.place();
  if (!grid) absorb.fail("layers that absorb lie along sides of a grid, and the case has none");
  const auto sponge = absorb.find("sponge"), pml = absorb.find("pml");
  if (sponge.has_value() == pml.has_value())
    absorb.fail("absorb needs either sponge or pml: the number of cells of its layers");
  const Value cells = sponge ? *sponge : *pml;
  result.kind = sponge ? AbsorbText::Kind::sponge : AbsorbText::Kind::pml;
  result.cells = cells.integer();
  if (sponge) {
    result.strength = read_positive(absorb.at("strength"), "absorb.strength, the largest damping per time,");
  } else if (const auto speed = absorb.find("speed")) {
    result.speed = read_positive(*speed, "absorb.speed");
  }
  read_sides(absorb, *grid, result);
  absorb.finish();
  if (sponge && result.cells < 1) cells.fail("a sponge has at least one cell");
  if (pml && result.cells < 2) cells.fail("a pml has at least two cells");
  bool is_any = false;
  for (std::size_t a = 0; a < grid->axes.size(); ++a) {
    const std::int64_t layers = (result.sides[a][0] ? 1 : 0) + (result.sides[a][1] ? 1 : 0);
    is_any = is_any || layers > 0;
    if (layers * result.cells >= grid->axes[a].cells)
      cells.fail("layers of " + std::to_string(result.cells) + " cells leave none of the " +
                 std::to_string(grid->axes[a].cells) + " along " + grid->axes[a].name);
  }
  if (!is_any) absorb.fail("absorb: there is no side to absorb at; all are periodic, or none is named");
  return result;
}

}  // namespace hindsight
