// ranks: 1 2 3
// Run folders and HDF5 files: whole or not there, readable by others, the same on any number of ranks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "io/results/field_writer.hpp"
#include "src/error.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

Communicator world() {
  return Communicator(MPI_COMM_WORLD);
}
std::string folder(const std::string& name) {
  return ::testing::TempDir() + "/hindsight-results-" + std::to_string(world().size()) + "-" + name;
}

std::vector<Axis> axes(int dimensions) {
  const std::vector<Axis> all = {{"x", 11, 0, 1, true}, {"y", 9, -1, 1, false}, {"z", 7, 0, 3, true}};
  return {all.begin(), all.begin() + dimensions};
}

std::vector<double> some_field(const Grid& grid, double phase) {
  std::vector<double> memory(static_cast<std::size_t>(grid.layout().size), -1.0);
  for (std::int64_t k = 0; k < grid.cells()[2]; ++k)
    for (std::int64_t j = 0; j < grid.cells()[1]; ++j)
      for (std::int64_t i = 0; i < grid.cells()[0]; ++i)
        memory[static_cast<std::size_t>(grid.layout().at(i, j, k))] = phase + static_cast<double>(grid.first()[0] + i) +
                                                                      100 * static_cast<double>(grid.first()[1] + j) +
                                                                      1e4 * static_cast<double>(grid.first()[2] + k);
  return memory;
}

TEST(Results, FieldsComeBackWithEqualBits) {
  for (const int dimensions : {1, 2, 3}) {
    const Grid grid(axes(dimensions), world(), {1, 1, 1});
    const RunFolder run(folder("back"), world());
    const std::vector<double> field = some_field(grid, 0.1);
    FieldFile file(run, "gradient.h5", grid);
    file.write_field("/initial(u)", field.data() + grid.layout().origin);
    file.write_numbers("/series", {1, 2, 3});
    EXPECT_FALSE(fs::exists(run.file("gradient.h5")));
    file.finish();
    EXPECT_TRUE(fs::exists(run.file("gradient.h5")));
    EXPECT_FALSE(fs::exists(run.partial("gradient.h5")));
    std::vector<double> back(field.size(), -1.0);
    read_field(run.file("gradient.h5"), "/initial(u)", grid, back.data() + grid.layout().origin);
    EXPECT_EQ(back, field);
    EXPECT_THROW(read_field(run.file("gradient.h5"), "/nothing", grid, back.data()), InputError);
    EXPECT_THROW(read_field(run.file("gradient.h5"), "/series", grid, back.data()), InputError);
    EXPECT_THROW(read_field(run.file("nothing.h5"), "/u", grid, back.data()), InputError);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST(Results, OldResultsAreRemovedAndForeignFilesKept) {
  const std::string path = folder("old");
  if (world().is_root()) {
    fs::create_directories(path);
    for (const char* name : {"result.json", "fields.h5", "gradient.h5.partial", "notes.txt"})
      std::ofstream(path + "/" + name) << "old";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const RunFolder run(path, world());
  EXPECT_FALSE(fs::exists(run.file("result.json")));
  EXPECT_FALSE(fs::exists(run.file("fields.h5")));
  EXPECT_FALSE(fs::exists(run.partial("gradient.h5")));
  EXPECT_TRUE(fs::exists(run.file("notes.txt")));
  run.write_text("result.json", "{}\n");
  EXPECT_TRUE(fs::exists(run.file("result.json")));
}

TEST(Results, AFolderThatCannotBeMadeIsAResourceError) {
  try {
    const RunFolder run("/proc/nowhere", world());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::resource);
  }
}

const char* const look = R"py(
import sys, h5py, xml.etree.ElementTree as tree
run, shape = sys.argv[1], tuple(int(n) for n in sys.argv[2].split(','))
with h5py.File(run + '/fields.h5') as f:
    assert list(f['times'][...]) == [0.0, 0.5], f['times'][...]
    assert f['u/000001'].shape == shape, f['u/000001'].shape
    assert f['u/000001'][...].ravel()[-1] > f['u/000000'][...].ravel()[-1]
    for item in tree.parse(run + '/fields.xdmf').iter('DataItem'):
        if item.get('Format') == 'HDF':
            name, path = item.text.split(':')
            assert name == 'fields.h5' and path in f, item.text
)py";

TEST(Results, OthersCanReadFields) {
  if (world().is_root()) std::ofstream(folder("look") + ".py") << look;
  for (const int dimensions : {1, 2, 3}) {
    const Grid grid(axes(dimensions), world(), {1, 1, 1});
    const RunFolder run(folder("fields"), world());
    FieldWriter writer(run, grid, {"u"});
    for (int i = 0; i < 2; ++i) {
      const std::vector<double> field = some_field(grid, i);
      writer.write(10 * i, 0.5 * i, {field.data() + grid.layout().origin});
    }
    EXPECT_FALSE(fs::exists(run.file("fields.h5")));
    writer.finish("test");
    if (world().is_root()) {
      const std::string clean = "env -i PATH=\"$PATH\" ";
      if (std::system((clean + "/usr/bin/python3 -c 'import h5py' 2> /dev/null").c_str()) != 0)
        GTEST_SKIP() << "no h5py";
      const std::string shapes[] = {"11", "9,11", "7,9,11"};
      EXPECT_EQ(std::system(
                    (clean + "/usr/bin/python3 " + folder("look") + ".py " + run.path() + " " + shapes[dimensions - 1])
                        .c_str()),
                0);
      EXPECT_EQ(std::system((clean + "h5dump -H " + run.file("fields.h5") + " > /dev/null").c_str()), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST(Results, AnOdeIsOneDatasetPerField) {
  const Grid grid({}, world(), {0, 0, 0});
  const RunFolder run(folder("ode"), world());
  FieldWriter writer(run, grid, {"u"});
  for (int i = 0; i < 3; ++i) {
    const double value = i * i;
    writer.write(i, i, {&value});
  }
  writer.finish("test");
  EXPECT_TRUE(fs::exists(run.file("fields.h5")));
  EXPECT_FALSE(fs::exists(run.file("fields.xdmf")));
}

}  // namespace
}  // namespace hindsight
