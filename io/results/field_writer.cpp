#include "io/results/field_writer.hpp"

#include <fmt/format.h>

namespace hindsight {
namespace {

std::string output_name(const std::string& field, std::size_t i) {
  return fmt::format("{}/{:06}", field, i);
}

}  // namespace

FieldWriter::FieldWriter(const RunFolder& folder, const Grid& grid, std::vector<std::string> fields)
    : folder_(folder),
      grid_(grid),
      fields_(std::move(fields)),
      values_(fields_.size()),
      file_(folder, "fields.h5", grid) {}

void FieldWriter::write(std::int64_t step, double time, const std::vector<const double*>& cells) {
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (grid_.dimensions() == 0) {
      values_[f].push_back(cells[f][0]);
    } else {
      file_.write_field("/" + output_name(fields_[f], times_.size()), cells[f]);
    }
  }
  steps_.push_back(step);
  times_.push_back(time);
}

void FieldWriter::finish(const std::string& case_name) {
  file_.write_numbers("/times", times_);
  file_.write_integers("/steps", steps_);
  if (grid_.dimensions() == 0)
    for (std::size_t f = 0; f < fields_.size(); ++f) file_.write_numbers("/" + fields_[f], values_[f]);
  file_.write_attribute("case", case_name);
  file_.finish();
  if (grid_.dimensions() > 0) folder_.write_text("fields.xdmf", xdmf());
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
  for (std::size_t i = 0; i < times_.size(); ++i) {
    text += fmt::format(
        "<Grid Name=\"state\" GridType=\"Uniform\">\n<Time Value=\"{:.17g}\"/>\n"
        "<Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"{}\"/>\n<Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n"
        "<DataItem Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\" Format=\"XML\">{}</DataItem>\n"
        "<DataItem Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\" Format=\"XML\">{}</DataItem>\n</Geometry>\n",
        times_[i], nodes.substr(1), origin.substr(1), spacing.substr(1));
    for (const std::string& field : fields_)
      text += fmt::format(
          "<Attribute Name=\"{}\" AttributeType=\"Scalar\" Center=\"Cell\">\n"
          "<DataItem Dimensions=\"{}\" NumberType=\"Float\" Precision=\"8\" Format=\"HDF\">fields.h5:/{}</DataItem>\n"
          "</Attribute>\n",
          field, stored.substr(1), output_name(field, i));
    text += "</Grid>\n";
  }
  return text + "</Grid>\n</Domain>\n</Xdmf>\n";
}

}  // namespace hindsight
