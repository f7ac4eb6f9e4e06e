#include "solvers/grid/cell_operations.hpp"

#include <algorithm>
#include <limits>

namespace hindsight {
namespace {

/// Calls work(first cell of a row) for all rows along the first axis, of one or two blocks.
template <class Work>
void for_rows(const Index3& count, const CellBlock& a, const CellBlock& b, Work work) {
  for (std::int64_t k = 0; k < count[2]; ++k)
    for (std::int64_t j = 0; j < count[1]; ++j)
      work(a.first + a.strides[1] * j + a.strides[2] * k, b.first + b.strides[1] * j + b.strides[2] * k);
}

/// Calls work(ghost, mirror, place in the wall's arrays, factor of E).
template <class Work>
void for_ghosts(const WallGhosts& w, Work work) {
  for (std::int64_t q = 0; q < w.count[1]; ++q)
    for (std::int64_t m = 0; m < w.layers; ++m) {
      const double factor = w.factor * (1 + w.growth * static_cast<double>(m));
      double* const ghost = w.ghost + w.strides[1] * q + w.step * m;
      double* const mirror = w.mirror + w.strides[1] * q - w.step * m;
      for (std::int64_t p = 0; p < w.count[0]; ++p)
        work(ghost[w.strides[0] * p], mirror[w.strides[0] * p], p + w.wall_stride * q, factor);
    }
}

class HostOperations final : public CellOperations {
 public:
  void copy(const Index3& count, const CellBlock& from, const CellBlock& to) const override {
    const std::int64_t from_x = from.strides[0], to_x = to.strides[0];
    for_rows(count, from, to, [&](const double* f, double* t) {
      if (from_x == 1 && to_x == 1 && count[0] > 16) {  // else the call would take longer
        std::copy_n(f, count[0], t);
        return;
      }
      for (std::int64_t i = 0; i < count[0]; ++i) t[to_x * i] = f[from_x * i];
    });
  }
  void zero(const Index3& count, const CellBlock& cells) const override {
    for_rows(count, cells, cells, [&](double* row, double*) {
      for (std::int64_t i = 0; i < count[0]; ++i) row[cells.strides[0] * i] = 0.0;
    });
  }
  void fill_wall(const WallGhosts& w) const override {
    for_ghosts(w, [&w](double& ghost, double mirror, std::int64_t at, double factor) {
      const double shift = factor * (w.value != nullptr ? w.value[at] : w.constant);
      ghost = w.sign == 0.0 ? 0.0 : w.sign < 0.0 ? shift - mirror : shift + mirror;
    });
  }
  void transpose_wall(const WallGhosts& w) const override {
    for_ghosts(w, [&w](double& ghost, double& mirror, std::int64_t at, double factor) {
      if (w.sign != 0.0) mirror += w.sign < 0.0 ? -ghost : ghost;
      if (w.sign != 0.0 && w.bar != nullptr) w.bar[at] += factor * ghost;
      ghost = 0.0;
    });
  }
  bool are_finite(const Index3& count, const CellBlock& cells) const override {
    double zeros = 0.0;  // stay zero unless a value is not finite
    for_rows(count, cells, cells, [&](const double* row, const double*) {
      double zero = 0.0;
      for (std::int64_t i = 0; i < count[0]; ++i) zero += row[cells.strides[0] * i] * 0.0;
      zeros += zero;
    });
    return zeros == 0.0;
  }
  double largest(const Index3& count, const CellBlock& cells) const override {
    double most = 0.0, zeros = 0.0;
    for_rows(count, cells, cells, [&](const double* row, const double*) {
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
  void gather(const std::vector<std::int64_t>& places, const double* field, double* values) const override {
    for (const std::int64_t place : places) *values++ = field[place];
  }
  void add(const std::vector<std::int64_t>& places, const double* values, double* field) const override {
    for (const std::int64_t place : places) field[place] += *values++;
  }
};

}  // namespace

std::shared_ptr<const CellOperations> CellOperations::on(Machine& machine, const Communicator& comm) {
  if (!machine.is_host()) return device_operations(machine, comm);
  static const auto operations = std::make_shared<const HostOperations>();
  return operations;
}

}  // namespace hindsight
