#include "solvers/grid/cell_operations.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace hindsight {
namespace {

/// Calls work(address) with the memory as that of its elements.
template <class Work>
void as(Element element, double* memory, Work work) {
  element == Element::float64 ? work(memory) : work(reinterpret_cast<float*>(memory));
}

/// Calls work(first cell of a row) for all rows along the first axis.
template <class Work>
void for_rows(const Index3& count, const CellBlock& cells, Work work) {
  as(cells.element, cells.first, [&](auto* first) {
    for (std::int64_t k = 0; k < count[2]; ++k)
      for (std::int64_t j = 0; j < count[1]; ++j) work(first + cells.strides[1] * j + cells.strides[2] * k);
  });
}

/// Calls work(ghost, mirror, place in the wall's arrays, factor of E). Of each place of a wall, layers come from the
/// wall outwards. @param ghosts, mirrors the wall's.
template <class Number, class Work>
void for_ghosts(const WallGhosts w, Number* ghosts, Number* mirrors, Work work) {  // a copy, which no ghost can change
  // Of a wall across rows, the ghosts of a row lie in one line of a cache: some rows' at once.
  const std::int64_t at_once = w.strides[0] == 1 ? w.count[0] : 16;
  for (std::int64_t q = 0; q < w.count[1]; ++q)
    for (std::int64_t begin = 0; begin < w.count[0]; begin += at_once) {
      const std::int64_t end = std::min(begin + at_once, w.count[0]), place = w.wall_stride * q;
      for (std::int64_t m = 0; m < w.layers; ++m) {
        const double factor = w.rule.factor_of(m);
        Number* const ghost = ghosts + w.strides[1] * q + w.step * m;
        Number* const mirror = mirrors + w.strides[1] * q - w.step * m;
        if (w.strides[0] == 1)
          for (std::int64_t p = begin; p < end; ++p) work(ghost[p], mirror[p], place + p, factor);
        else
          for (std::int64_t p = begin; p < end; ++p)
            work(ghost[w.strides[0] * p], mirror[w.strides[0] * p], place + p, factor);
      }
    }
}

class HostOperations final : public CellOperations {
 public:
  void copy(const Index3& count, const CellBlock& from, const CellBlock& to) const override {
    as(from.element, from.first, [&](const auto* f) {
      as(to.element, to.first, [&](auto* t) { copy_rows(count, f, from.strides, t, to.strides); });
    });
  }
  void zero(const Index3& count, const CellBlock& cells) const override {
    for_rows(count, cells, [&](auto* row) {
      if (cells.strides[0] == 1)
        for (std::int64_t i = 0; i < count[0]; ++i) row[i] = 0;
      else
        for (std::int64_t i = 0; i < count[0]; ++i) row[cells.strides[0] * i] = 0;
    });
  }
  void fill_wall(const WallGhosts& w) const override {
    if (w.element == Element::float64) return fill(w, w.ghost, w.mirror);
    fill(w, reinterpret_cast<float*>(w.ghost), reinterpret_cast<float*>(w.mirror));
  }
  void transpose_wall(const WallGhosts& w) const override {
    const double sign = w.rule.sign;
    double* const bars = w.bar;
    if (sign == 0.0)
      return for_ghosts(w, w.ghost, w.mirror, [](double& ghost, double&, std::int64_t, double) { ghost = 0.0; });
    if (bars == nullptr)
      return for_ghosts(w, w.ghost, w.mirror, [=](double& ghost, double& mirror, std::int64_t, double) {
        mirror += sign * ghost;
        ghost = 0.0;
      });
    for_ghosts(w, w.ghost, w.mirror, [=](double& ghost, double& mirror, std::int64_t at, double factor) {
      mirror += sign * ghost;
      bars[at] += factor * ghost;
      ghost = 0.0;
    });
  }
  bool are_finite(const Index3& count, const CellBlock& cells) const override {
    double zeros = 0.0;  // stay zero unless a value is not finite
    for_rows(count, cells, [&](const auto* row) {
      std::remove_const_t<std::remove_reference_t<decltype(*row)>> zero = 0;
      for (std::int64_t i = 0; i < count[0]; ++i) zero += row[cells.strides[0] * i] * 0;
      zeros += zero;
    });
    return zeros == 0.0;
  }
  double largest(const Index3& count, const CellBlock& cells) const override {
    double most = 0.0, zeros = 0.0;
    for_rows(count, cells, [&](const auto* row) {
      for (std::int64_t i = 0; i < count[0]; ++i) {
        const double value = row[cells.strides[0] * i];
        most = value > most ? value : most;
        zeros += value * 0.0;
      }
    });
    return zeros == 0.0 ? most : std::numeric_limits<double>::infinity();
  }
  void pack(const Index3& count, const CellBlock& cells, double* to) const override {
    copy(count, cells, packed(count, to));
  }
  void unpack(const Index3& count, const double* from, const CellBlock& cells) const override {
    copy(count, packed(count, const_cast<double*>(from)), cells);
  }
  void reserve(std::int64_t) const override {}
  void gather(const std::vector<std::int64_t>& places, ConstCellArray field, double* values) const override {
    as(field.element, const_cast<double*>(field.cell), [&](const auto* cells) {
      for (const std::int64_t place : places) *values++ = cells[place];
    });
  }
  void add(const std::vector<std::int64_t>& places, const double* values, CellArray field) const override {
    as(field.element, field.cell, [&](auto* cells) {
      using Number = std::remove_pointer_t<decltype(cells)>;
      for (const std::int64_t place : places) cells[place] = static_cast<Number>(cells[place] + *values++);
    });
  }

 private:
  /// With what is the same in all ghosts outside of their loops.
  template <class Number>
  static void fill(const WallGhosts& w, Number* ghosts, Number* mirrors) {
    const double sign = w.rule.sign, constant = w.constant;
    const double* const values = w.value;
    if (sign == 0.0)
      return for_ghosts(w, ghosts, mirrors, [](Number& ghost, Number, std::int64_t, double) { ghost = 0; });
    if (values == nullptr && constant == 0.0)  // exact in singles, and faster
      return for_ghosts(
          w, ghosts, mirrors,
          [constant, s = static_cast<Number>(sign)](Number& ghost, Number mirror, std::int64_t, double factor) {
            ghost = static_cast<Number>(factor * constant) + s * mirror;
          });
    if (values == nullptr)
      return for_ghosts(w, ghosts, mirrors, [=](Number& ghost, double mirror, std::int64_t, double factor) {
        ghost = static_cast<Number>(factor * constant + sign * mirror);
      });
    for_ghosts(w, ghosts, mirrors, [=](Number& ghost, double mirror, std::int64_t at, double factor) {
      ghost = static_cast<Number>(factor * values[at] + sign * mirror);
    });
  }
  template <class From, class To>
  static void copy_rows(const Index3& count, const From* from, const Index3& from_strides, To* to,
                        const Index3& to_strides) {
    for (std::int64_t k = 0; k < count[2]; ++k)
      for (std::int64_t j = 0; j < count[1]; ++j) {
        const From* const f = from + from_strides[1] * j + from_strides[2] * k;
        To* const t = to + to_strides[1] * j + to_strides[2] * k;
        copy_row(count[0], f, from_strides[0], t, to_strides[0]);
      }
  }
  template <class From, class To>
  static void copy_row(std::int64_t count, const From* from, std::int64_t from_x, To* to, std::int64_t to_x) {
    if constexpr (std::is_same_v<From, To>)
      if (from_x == 1 && to_x == 1 && count > 16) {  // else the call would take longer
        std::copy_n(from, count, to);
        return;
      }
    for (std::int64_t i = 0; i < count; ++i) to[to_x * i] = static_cast<To>(from[from_x * i]);
  }
};

}  // namespace

std::shared_ptr<const CellOperations> CellOperations::on(Machine& machine, const Communicator& comm) {
  if (!machine.is_host()) return device_operations(machine, comm);
  static const auto operations = std::make_shared<const HostOperations>();
  return operations;
}

}  // namespace hindsight
