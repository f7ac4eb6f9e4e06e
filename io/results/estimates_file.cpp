#include "io/results/estimates_file.hpp"

#include <filesystem>
#include <utility>

#include "runtime/error.hpp"

namespace hindsight {
namespace {

const char* const file_name = "estimates.h5";

/// Of a file that has too many rows, while another one takes its place.
std::string old_name(const RunFolder& folder) {
  return folder.partial(file_name) + ".copy";
}

void remove_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::remove(path, error); error)
    throw ResourceError("cannot remove '" + path + "': " + error.message());
}

void rename_file(const std::string& from, const std::string& to) {
  std::error_code error;
  if (std::filesystem::rename(from, to, error); error)
    throw ResourceError("cannot rename '" + from + "': " + error.message());
}

}  // namespace

/// Files of an earlier process are removed, not overwritten: should it live after all, it writes into those.
EstimatesFile::EstimatesFile(const RunFolder& folder, const Grid& grid, std::vector<Unknown> unknowns,
                             std::int64_t most)
    : folder_(folder), grid_(grid), unknowns_(std::move(unknowns)), most_(most) {
  folder_.hold([&] {
    folder_.communicator().on_root([&] {
      for (const std::string& old : {folder_.partial(file_name), old_name(folder_)}) remove_file(old);
    });
    file_.emplace(made(std::vector<std::int64_t>(static_cast<std::size_t>(most), -1)));
    file_->flush();
  });
}

FieldFile::Rows EstimatesFile::rows(const Unknown& unknown, std::int64_t count) const {
  return {"/" + unknown.name, count, unknown.numbers};
}

FieldFile EstimatesFile::made(const std::vector<std::int64_t>& iterations) const {
  FieldFile file(folder_, file_name, grid_);
  file.make_integers("/iterations", iterations);
  std::string axes;
  for (int axis = grid_.dimensions(); axis-- > 0;) axes += ", " + grid_.axes()[static_cast<std::size_t>(axis)].name;
  for (const Unknown& unknown : unknowns_)
    file.make_rows(rows(unknown, std::ssize(iterations)), "iteration" + (unknown.numbers == 0  ? axes
                                                                         : unknown.numbers > 1 ? ", knot"
                                                                                               : ""));
  return file;
}

void EstimatesFile::write(std::int64_t iteration, const std::vector<std::vector<double>>& values) {
  const std::int64_t row = std::ssize(iterations_);
  if (row >= most_) throw Error(ExitCode::bug, "more estimates than estimates.h5 has room for");
  for (std::size_t i = 0; i < unknowns_.size(); ++i) file_->overwrite_row(rows(unknowns_[i], most_), row, values[i]);
  file_->overwrite_integers("/iterations", static_cast<std::size_t>(row), {iteration});
  iterations_.push_back(iteration);
}

void EstimatesFile::finish() {
  if (std::ssize(iterations_) < most_) make_shorter();
  file_->finish();
  folder_.hold([&] { folder_.communicator().on_root([&] { remove_file(old_name(folder_)); }); });
}

void EstimatesFile::make_shorter() {
  FieldFile longer = std::move(*file_);
  folder_.hold([&] {
    folder_.communicator().on_root([&] { rename_file(folder_.partial(file_name), old_name(folder_)); });
    file_.emplace(made(iterations_));
  });
  const std::int64_t count = std::ssize(iterations_);
  for (const Unknown& unknown : unknowns_)
    for (std::int64_t row = 0; row < count; ++row)
      file_->overwrite_row(rows(unknown, count), row, longer.read_row(rows(unknown, most_), row));
  longer.close();
}

}  // namespace hindsight
