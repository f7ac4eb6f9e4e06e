#include "adjoint/problem/unknown_places.hpp"

#include <algorithm>

#include "solvers/steppers/stage_names.hpp"

namespace hindsight {
namespace {

class ScalarPlace final : public UnknownPlace {
 public:
  ScalarPlace(const std::string& name, ParameterMemory& memory)
      : tables_(memory.problem.tables()),
        first_(memory.problem.spec().scalar_values[place_of(memory.problem.model().scalars, name)]),
        active_(place_of(memory.problem.active().scalars, name)),
        symbol_(memory.problem.model().graph->scalar_index(name)),
        dot_(memory.problem.model().graph->scalar_index(StageNames::dot(name))) {}
  std::vector<double> first_values() override { return {first_}; }
  void set(const std::vector<double>& values) override { write(symbol_, values); }
  void set_direction(const std::vector<double>& direction) override { write(dot_, direction); }
  std::vector<double> derivative(const DerivativeSums& sums) const override { return {sums.scalars[active_]}; }

 private:
  void write(int symbol, const std::vector<double>& values) {
    if (symbol >= 0) tables_.scalar(symbol) = values[0];  // nothing may read it
  }
  Tables& tables_;
  double first_;
  std::size_t active_;
  int symbol_, dot_;
};

class SeriesPlace final : public UnknownPlace {
 public:
  SeriesPlace(const std::string& name, ParameterMemory& memory)
      : memory_(memory),
        series_(place_of(memory.problem.model().series, name)),
        active_(place_of(memory.problem.active().series, name)) {}
  std::vector<double> first_values() override { return memory_.problem.spec().series[series_].values; }
  void set(const std::vector<double>& values) override { memory_.problem.set_series(series_, values); }
  void set_direction(const std::vector<double>& direction) override { memory_.directions[active_].values = direction; }
  std::vector<double> derivative(const DerivativeSums& sums) const override { return sums.knots[active_]; }

 private:
  ParameterMemory& memory_;
  std::size_t series_, active_;
};

class FieldPlace final : public UnknownPlace {
 public:
  FieldPlace(const std::string& name, ParameterMemory& memory, MovingCells moving)
      : UnknownPlace(std::move(moving)),
        memory_(memory),
        field_(place_of(memory.problem.model().parameter_fields, name)),
        active_(place_of(memory.problem.active().parameter_fields, name)) {}
  std::vector<double> first_values() override { return cells(memory_.symbols.fields[field_]); }
  void set(const std::vector<double>& values) override { write(memory_.symbols.fields[field_], values); }
  void set_direction(const std::vector<double>& direction) override {
    write(memory_.symbols.dots[active_], moving().only(direction));
  }
  std::vector<double> derivative(const DerivativeSums&) const override {
    return moving().only(cells(memory_.symbols.bars[active_]));
  }

 private:
  std::vector<double> cells(int symbol) const {
    return unpadded(memory_.problem.grid(), memory_.problem.tables().cells(symbol));
  }
  void write(int symbol, const std::vector<double>& values) {
    unpack_cells(memory_.problem.grid(), values.data(), memory_.problem.tables().cells(symbol));
    memory_.exchange(symbol);
  }
  ParameterMemory& memory_;
  std::size_t field_, active_;
};

}  // namespace

CellArray InitialField::cells(const LevelSymbols& symbols) const {
  return memory_.problem.tables().cells((is_rate_ ? symbols.before : symbols.now)[field_]);
}

std::vector<double> InitialField::first_values() {
  const Discretisation& problem = memory_.problem;
  const std::vector<double> values = unpadded(problem.grid(), cells(problem.symbols().first));
  values_ = Memory(problem.grid().interior().cells());
  set(values);
  return values;
}

void InitialField::set(const std::vector<double>& values) {
  std::copy(values.begin(), values.end(), values_.data());
}

std::vector<double> InitialField::derivative(const DerivativeSums&) const {
  const Discretisation& problem = memory_.problem;
  return moving().only(unpadded(problem.grid(), cells(problem.symbols().lambda)));
}

void InitialField::write_values() const {
  const Discretisation& problem = memory_.problem;
  if (values_.size() == 0) return;
  unpack_cells(problem.grid(), values_.data(), cells(problem.symbols().first));
}

void InitialField::write_direction() const {
  const Discretisation& problem = memory_.problem;
  unpack_cells(problem.grid(), moving().only(*direction_).data(), cells(problem.symbols().dot_first));
}

std::unique_ptr<UnknownPlace> make_parameter_place(const Unknown& unknown, ParameterMemory& memory,
                                                   MovingCells moving) {
  if (unknown.kind == Unknown::Kind::scalar) return std::make_unique<ScalarPlace>(unknown.name, memory);
  if (unknown.kind == Unknown::Kind::series) return std::make_unique<SeriesPlace>(unknown.name, memory);
  return std::make_unique<FieldPlace>(unknown.name, memory, std::move(moving));
}

std::vector<double> unpadded(const Grid& grid, ConstCellArray cells) {
  std::vector<double> values(static_cast<std::size_t>(grid.interior().cells()));
  pack_cells(grid, cells, values.data());
  return values;
}

std::size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace hindsight
