#include "solvers/grid/block_archive.hpp"

#include <algorithm>

#include "runtime/error.hpp"
#include "runtime/memory.hpp"

namespace hindsight {
namespace {

Index3 extents(const Box& box) {
  return {box.hi[0] - box.lo[0], box.hi[1] - box.lo[1], box.hi[2] - box.lo[2]};
}

Box intersection(const Box& a, const Box& b) {
  Box both;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    both.lo[axis] = std::max(a.lo[axis], b.lo[axis]);
    both.hi[axis] = std::min(a.hi[axis], b.hi[axis]);
  }
  return both;
}

/// A row is one cell wide where rows are what ranks divide.
Box rows_of(const Grid& grid) {
  Box box = owned_box(grid);
  if (grid.dimensions() > 1) {
    box.lo[0] = 0;
    box.hi[0] = 1;
  }
  return box;
}

std::size_t offset(const Box& box, std::int64_t j, std::int64_t k) {
  const Index3 n = extents(box);
  return static_cast<std::size_t>(n[0] * ((j - box.lo[1]) + n[1] * (k - box.lo[2])));
}

void copy(const Box& what, const Box& from, const std::vector<double>& values, const Box& to, std::span<double> out) {
  for (std::int64_t k = what.lo[2]; k < what.hi[2]; ++k)
    for (std::int64_t j = what.lo[1]; j < what.hi[1]; ++j)
      std::copy_n(values.data() + offset(from, j, k) + (what.lo[0] - from.lo[0]), what.hi[0] - what.lo[0],
                  out.data() + offset(to, j, k) + (what.lo[0] - to.lo[0]));
}

Box read_box(ArchiveReader& part) {
  std::vector<std::int64_t> bounds;
  part.read(bounds);
  if (bounds.size() != 6) throw ResourceError("a journal holds something else in place of a box");
  return {{bounds[0], bounds[1], bounds[2]}, {bounds[3], bounds[4], bounds[5]}};
}

void write_box(ArchiveWriter& to, const Box& box) {
  to.write(std::vector<std::int64_t>{box.lo[0], box.lo[1], box.lo[2], box.hi[0], box.hi[1], box.hi[2]});
}

bool equal(const Box& a, const Box& b) {
  return a.lo == b.lo && a.hi == b.hi;
}

}  // namespace

Box owned_box(const Grid& grid) {
  Box box{grid.first(), grid.first()};
  for (std::size_t axis = 0; axis < 3; ++axis) box.hi[axis] += grid.cells()[axis];
  return box;
}

BlockWriter::BlockWriter(ArchiveWriter& to, const Grid& grid) : to_(to), grid_(grid) {
  write_box(to_, owned_box(grid));
}

void BlockWriter::cells(ConstCellArray cells) {
  packed_.resize(static_cast<std::size_t>(grid_.interior().cells()));
  pack_cells(grid_, cells, packed_.data());
  block(owned_box(grid_), packed_);
}

void BlockWriter::rows(const double* values, std::int64_t sets) {
  const Box box = rows_of(grid_);
  const HostView here(grid_.machine(), values, sets * grid_.local_rows());
  for (std::int64_t s = 0; s < sets; ++s)
    block(box, {here.data() + s * grid_.local_rows(), static_cast<std::size_t>(grid_.local_rows())});
}

void BlockWriter::block(const Box& box, std::span<const double> values) {
  write_box(to_, box);
  to_.write(values);
}

BlockReader::BlockReader(std::vector<ArchiveReader*> parts, const Grid& grid) : parts_(std::move(parts)), grid_(grid) {
  std::vector<Box> boxes;
  for (ArchiveReader* part : parts_) boxes.push_back(read_box(*part));
  is_own_ = boxes.size() == 1 && equal(boxes[0], owned_box(grid));
}

bool BlockReader::owns_any(ArchiveReader part, const Grid& grid) {
  return !intersection(read_box(part), owned_box(grid)).is_empty();
}

void BlockReader::cells(CellArray cells) {
  packed_.resize(static_cast<std::size_t>(grid_.interior().cells()));
  block(owned_box(grid_), packed_);
  unpack_cells(grid_, packed_.data(), cells);
}

void BlockReader::rows(double* values, std::int64_t sets) {
  const Box box = rows_of(grid_);
  const std::int64_t rows = grid_.local_rows();
  CountedVector<double> passing(grid_.machine().is_host() ? 0 : static_cast<std::size_t>(rows));
  for (std::int64_t s = 0; s < sets; ++s) {
    double* const set = passing.empty() ? values + s * rows : passing.data();
    block(box, {set, static_cast<std::size_t>(rows)});
    if (!passing.empty()) grid_.machine().copy(values + s * rows, set, rows);
  }
}

void BlockReader::block(const Box& box, std::span<double> values) {
  std::int64_t found = 0;
  std::vector<double> theirs;
  for (ArchiveReader* part : parts_) {
    const Box from = read_box(*part);
    part->read(theirs);
    if (static_cast<std::int64_t>(theirs.size()) != from.cells())
      throw ResourceError("a journal holds an array of another size than it says");
    const Box both = intersection(from, box);
    if (box.is_empty() || both.is_empty()) continue;
    copy(both, from, theirs, box, values);
    found += both.cells();
  }
  // Replicated boxes are found several times.
  if (found < box.cells()) throw ResourceError("a journal has only a part of an array");
}

}  // namespace hindsight
