#include "io/results/field_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/error.hpp"
#include "runtime/stopwatch.hpp"

namespace hindsight {
namespace {

const char* const file_name = "fields.h5";

/// Of an ODE's outputs, whose writing one by one would take longer than the steps between them.
constexpr std::size_t most_waiting = 64;

template <class T>
std::vector<T> from(std::size_t first, const std::vector<T>& values) {
  return {values.begin() + static_cast<std::ptrdiff_t>(first), values.end()};
}

}  // namespace

FieldWriter::FieldWriter(const RunFolder& folder, const Grid& grid, std::vector<std::string> fields, std::int64_t most)
    : folder_(folder),
      grid_(grid),
      fields_(std::move(fields)),
      most_(most),
      layout_(grid, fields_, most),
      file_(opened([&](const std::string& path) { layout_.make(path); })) {
  if (grid_.dimensions() == 0) written_.values.resize(fields_.size());
}

FieldWriter::FieldWriter(const RunFolder& folder, const Grid& grid, std::vector<std::string> fields, std::int64_t most,
                         OutputsWritten written)
    : folder_(folder),
      grid_(grid),
      fields_(std::move(fields)),
      most_(most),
      layout_(grid, fields_, most),
      written_(std::move(written)),
      listed_(written_.steps.size()),
      file_(opened([&](const std::string& path) { layout_.require(path, written_); })) {}

/// A new file takes the same way as one of an earlier process: one rank makes or checks it, then all open it.
FieldFile FieldWriter::opened(const std::function<void(const std::string& path)>& prepare) const {
  std::optional<FieldFile> file;
  folder_.hold([&] {
    folder_.communicator().on_root([&] { prepare(folder_.partial(file_name)); });
    file.emplace(folder_, file_name, grid_, FieldFile::Existing{});
  });
  return std::move(*file);
}

void FieldWriter::write(std::int64_t step, double time, const std::vector<ConstCellArray>& cells) {
  const std::size_t i = written_.steps.size();
  if (static_cast<std::int64_t>(i) >= most_) throw Error(ExitCode::bug, "more outputs than fields.h5 has room for");
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (grid_.dimensions() == 0) {
      double value = 0.0;
      pack_cells(grid_, cells[f], &value);
      written_.values[f].push_back(value);
    } else {
      file_.overwrite_field(layout_.dataset(f, static_cast<std::int64_t>(i)), cells[f]);
    }
  }
  written_.steps.push_back(step);
  written_.times.push_back(time);
  if (grid_.dimensions() > 0 || written_.steps.size() - listed_ == most_waiting) write_lists();
}

/// Those of outputs that are not in the file yet.
void FieldWriter::write_lists() {
  if (listed_ == written_.steps.size()) return;
  for (std::size_t f = 0; f < written_.values.size(); ++f)
    file_.overwrite_numbers("/" + fields_[f], listed_, from(listed_, written_.values[f]));
  file_.overwrite_numbers("/times", listed_, from(listed_, written_.times));
  file_.overwrite_integers("/steps", listed_, from(listed_, written_.steps));
  listed_ = written_.steps.size();
}

double FieldWriter::measure() {
  constexpr std::int64_t few = 8, most = 128, sample_bytes = std::int64_t{16} << 20;
  const auto left = most_ - static_cast<std::int64_t>(written_.steps.size());
  if (grid_.dimensions() == 0 || left < 1) return 0.0;
  const std::int64_t bytes = 8 * grid_.total_cells() * static_cast<std::int64_t>(fields_.size());
  const bool are_many_bytes = bytes > 4 * sample_bytes / most_;
  const std::int64_t count =
      std::min(left, are_many_bytes ? std::clamp<std::int64_t>(sample_bytes / bytes, 2, most) : few);
  const std::int64_t parts = 1 + bytes / sample_bytes;
  double seconds = seconds_of_outputs(count, parts);
  if (are_many_bytes) seconds += seconds_of([&] { file_.flush(); });
  return seconds * static_cast<double>(parts) * static_cast<double>(most_) / static_cast<double>(count);
}

/// By their median: the first one is not typical.
double FieldWriter::seconds_of_outputs(std::int64_t count, std::int64_t parts) {
  const std::size_t next = written_.steps.size();
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < count; ++i) {
    const Stopwatch watch;
    for (std::size_t f = 0; f < fields_.size(); ++f)
      file_.overwrite_part(layout_.dataset(f, static_cast<std::int64_t>(next) + i), parts);
    file_.overwrite_numbers("/times", next, {0.0});
    file_.overwrite_integers("/steps", next, {0});
    seconds.push_back(watch.seconds());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2] * static_cast<double>(count);
}

void FieldWriter::flush() {
  write_lists();
  file_.flush();
}

void FieldWriter::finish(const std::string& case_name) {
  write_lists();
  file_.close();
  folder_.hold([&] {
    folder_.communicator().on_root([&] { layout_.finish(folder_.partial(file_name), written_, case_name); });
    if (grid_.dimensions() > 0) folder_.write_text("fields.xdmf", xdmf());
    folder_.publish(file_name);  // the last: it says that the output is complete
  });
}

/// Cell-centred values on a uniform mesh. It always has three axes, missing ones being one cell thick: of what
/// ParaView's two readers accept, this alone keeps x along x (they lay a 2DCoRectMesh into the plane of y and z).
std::string FieldWriter::xdmf() const {
  std::string nodes, origin, spacing, stored;
  for (int axis = 3; axis-- > 0;) {
    const auto a = static_cast<std::size_t>(axis);
    const bool real = axis < grid_.dimensions();
    const std::int64_t cells = grid_.global_cells()[a];
    const double h = real ? grid_.axes()[a].spacing() : grid_.axes()[0].spacing();
    nodes += fmt::format(" {}", cells + 1);
    stored += fmt::format(" {}", cells);
    origin += fmt::format(" {:.17g}", real ? grid_.axes()[a].from : 0.0);
    spacing += fmt::format(" {:.17g}", h);
  }
  std::string text =
      "<?xml version=\"1.0\"?>\n<Xdmf Version=\"3.0\">\n<Domain>\n"
      "<Grid Name=\"fields\" GridType=\"Collection\" CollectionType=\"Temporal\">\n";
  for (std::size_t i = 0; i < written_.times.size(); ++i) {
    text += fmt::format(
        "<Grid Name=\"state\" GridType=\"Uniform\">\n<Time Value=\"{:.17g}\"/>\n"
        "<Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"{}\"/>\n<Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n"
        "<DataItem Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\" Format=\"XML\">{}</DataItem>\n"
        "<DataItem Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\" Format=\"XML\">{}</DataItem>\n</Geometry>\n",
        written_.times[i], nodes.substr(1), origin.substr(1), spacing.substr(1));
    for (std::size_t f = 0; f < fields_.size(); ++f)
      text += fmt::format(
          "<Attribute Name=\"{}\" AttributeType=\"Scalar\" Center=\"Cell\">\n"
          "<DataItem Dimensions=\"{}\" NumberType=\"Float\" Precision=\"8\" Format=\"HDF\">{}:{}</DataItem>\n"
          "</Attribute>\n",
          fields_[f], stored.substr(1), file_name, layout_.dataset(f, static_cast<std::int64_t>(i)));
    text += "</Grid>\n";
  }
  return text + "</Grid>\n</Domain>\n</Xdmf>\n";
}

}  // namespace hindsight
