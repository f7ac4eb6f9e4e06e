// ranks: 1 2 3 4
// Run folders and HDF5 files: whole or not there, readable by others, the same on any number of ranks.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "io/results/field_writer.hpp"
#include "io/results/progress.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

namespace fs = std::filesystem;

Communicator world() {
  return Communicator(MPI_COMM_WORLD);
}
std::string folder(const std::string& name) {
  return testing::TempDir() + "results-" + std::to_string(world().size()) + "-" + name;
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

std::vector<double> owned(const Grid& grid, const std::vector<double>& field) {
  std::vector<double> cells(static_cast<std::size_t>(grid.interior().cells()));
  pack_cells(grid, ConstCellArray(field.data() + grid.layout().origin), cells.data());
  return cells;
}

TEST(Results, FieldsComeBackWithEqualBits) {
  for (const int dimensions : {1, 2, 3}) {
    const Grid grid(axes(dimensions), world(), {1, 1, 1});
    const RunFolder run(folder("back"), world());
    const std::vector<double> field = some_field(grid, 0.1);
    FieldFile file(run, "gradient.h5", grid);
    file.write_field("/initial(u)", owned(grid, field));
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

/// Whenever it was written: no times of its making are in it.
TEST(Results, EqualFieldsAreEqualFiles) {
  const Grid grid(axes(2), world(), {1, 1, 1});
  const RunFolder run(folder("equal"), world());
  const auto written = [&] {
    FieldFile file(run, "gradient.h5", grid);
    file.write_field("/initial(u)", owned(grid, some_field(grid, 0.1)));
    file.write_numbers("/group/series", {1, 2, 3});
    file.finish();
    MPI_Barrier(MPI_COMM_WORLD);
    std::ifstream bytes(run.file("gradient.h5"), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(bytes), {});
  };
  const std::string first = written();
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // times are kept in seconds
  EXPECT_GT(first.size(), 8U * 99);
  EXPECT_TRUE(written() == first);
  MPI_Barrier(MPI_COMM_WORLD);
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

TEST(Results, AResumedRunKeepsWhatIsThere) {
  const std::string path = folder("resumed");
  if (world().is_root()) {
    fs::remove_all(path);
    fs::create_directories(path);
    for (const char* name : {"result.json", "fields.h5.partial", "notes.txt"})
      std::ofstream(path + "/" + name) << "old";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const RunFolder run(path, world(), {path + "/result.json"}, EarlierResults::kept);
  EXPECT_TRUE(run.is_resumed());
  for (const char* name : {"result.json", "fields.h5.partial", "notes.txt"}) EXPECT_TRUE(fs::exists(run.file(name)));
  EXPECT_THROW(RunFolder(path + "/nothing", world(), {}, EarlierResults::kept), ResourceError);
  EXPECT_FALSE(fs::exists(path + "/nothing"));
}

TEST(Results, AFolderThatCannotBeMadeIsAResourceError) {
  try {
    const RunFolder run("/proc/nowhere", world());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::resource);
  }
}

/// The message of the error that `work` throws, after its code is found to be `code`.
template <class Work>
std::string message_of(ExitCode code, Work work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Results, AFileInTheWayOfTheFolderIsAResourceError) {
  const std::string file = folder("file");
  if (world().is_root()) std::ofstream(file) << "no folder";
  MPI_Barrier(MPI_COMM_WORLD);
  const std::string message = message_of(ExitCode::resource, [&] { const RunFolder run(file + "/run", world()); });
  EXPECT_TRUE(contains(message, "'" + file + "/run': Not a directory")) << message;
}

TEST(Results, AnOldResultThatCannotBeRemovedEndsTheRun) {
  const std::string path = folder("stuck");
  if (world().is_root()) fs::create_directories(path + "/result.json/inside");
  MPI_Barrier(MPI_COMM_WORLD);
  const std::string message = message_of(ExitCode::resource, [&] { const RunFolder run(path, world()); });
  EXPECT_TRUE(contains(message, "cannot remove '" + path + "/result.json'")) << message;
}

TEST(Results, AFullDiskIsAResourceErrorAndLeavesNoFinalName) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const RunFolder run(folder("full"), world());
  if (world().is_root()) fs::create_symlink("/dev/full", run.partial("result.json"));
  MPI_Barrier(MPI_COMM_WORLD);
  const std::string message = message_of(ExitCode::resource, [&] { run.write_text("result.json", "{}"); });
  EXPECT_TRUE(contains(message, "No space left on device")) << message;
  EXPECT_FALSE(fs::exists(run.file("result.json")));
}

TEST(Results, AnHdf5FailureSaysTheInnermostReason) {
  const RunFolder run(folder("reason"), world());
  if (world().is_root()) fs::create_directories(run.partial("other.h5"));
  MPI_Barrier(MPI_COMM_WORLD);
  const Grid grid(axes(1), world(), {1, 1, 1});
  const std::string message = message_of(ExitCode::resource, [&] { const FieldFile file(run, "other.h5", grid); });
  EXPECT_TRUE(contains(message, "cannot create '" + run.partial("other.h5") + "'")) << message;
  EXPECT_TRUE(contains(message, "MPI_File_open")) << message;
}

TEST(Results, DatasetsThatDoNotFitAreNamedWithBothShapes) {
  const RunFolder run(folder("misfits"), world());
  const Grid grid(axes(2), world(), {1, 1, 1});
  FieldFile file(run, "gradient.h5", grid);
  const std::vector<double> field = some_field(grid, 0);
  file.write_field("/group/field", owned(grid, field));
  file.write_numbers("/series", {1, 2, 3});
  file.finish();
  std::vector<double> back(field.size());
  const auto reading = [&](const std::string& dataset) {
    return message_of(ExitCode::bad_input,
                      [&] { read_field(run.file("gradient.h5"), dataset, grid, back.data() + grid.layout().origin); });
  };
  EXPECT_TRUE(contains(reading("/series"), "has shape 3, the grid 9 x 11 (slowest axis first)"));
  EXPECT_TRUE(contains(reading("/group"), "no dataset '/group'"));
  EXPECT_TRUE(contains(reading("/nothing"), "no dataset '/nothing'"));
}

TEST(Results, DatasetsThatHoldNoNumbersAreRefused) {
  const std::string path = folder("types") + ".h5";
  if (world().is_root()) {
    const Hdf5File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "create", path);
    const hsize_t size = 11;
    const Hdf5Space row(H5Screate_simple(1, &size, nullptr), "describe", path), single(H5Screate(H5S_SCALAR), "", path);
    const Hdf5Type text(H5Tcopy(H5T_C_S1), "describe", path);
    const auto make = [&](const char* name, hid_t type, hid_t space) {
      return Hdf5Dataset(H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "make", path);
    };
    make("text", text, row);
    make("single", H5T_IEEE_F64LE, single);
    const Hdf5Dataset whole = make("whole", H5T_STD_I32LE, row);
    const int values[11] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    EXPECT_GE(H5Dwrite(whole, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const Grid grid(axes(1), world(), {0, 0, 0});
  std::vector<double> back(static_cast<std::size_t>(grid.layout().size), -1.0);
  double* const cells = back.data() + grid.layout().origin;
  const auto reading = [&](const std::string& dataset) {
    return message_of(ExitCode::bad_input, [&] { read_field(path, dataset, grid, cells); });
  };
  EXPECT_TRUE(contains(reading("text"), "does not hold numbers"));
  EXPECT_TRUE(contains(reading("single"), "shape of a single value, the grid 11"));
  read_field(path, "whole", grid, cells);
  for (std::int64_t i = 0; i < grid.cells()[0]; ++i) EXPECT_EQ(cells[i], static_cast<double>(grid.first()[0] + i));
}

TEST(Results, DatasetsThatHoldWhatIsNotFiniteAreRefusedWithThePlace) {
  const RunFolder run(folder("finite"), world());
  const Grid grid(axes(2), world(), {1, 1, 1});
  std::vector<double> cells(static_cast<std::size_t>(grid.interior().cells()), 1.0);
  const std::int64_t row = 7 - grid.first()[1];  // one rank has it
  if (row >= 0 && row < grid.cells()[1]) cells[static_cast<std::size_t>(4 + 11 * row)] = std::nan("");
  FieldFile file(run, "gradient.h5", grid);
  file.write_field("/k", cells);
  file.finish();
  std::vector<double> back(static_cast<std::size_t>(grid.layout().size));
  const std::string message = message_of(ExitCode::bad_input, [&] {
    read_field(run.file("gradient.h5"), "/k", grid, back.data() + grid.layout().origin);
  });
  EXPECT_TRUE(
      contains(message, "dataset '/k' of '" + run.file("gradient.h5") + "' holds nan at [7, 4] (x = 0.409091, y = "))
      << message;
}

// Whole datasets equal a formula of the global indices: nothing in them depends on the number of ranks.
const char* const look = R"py(
import sys, h5py, numpy as np, xml.etree.ElementTree as tree
run, shape = sys.argv[1], tuple(int(n) for n in sys.argv[2].split(','))
whole = (1, 1, 1)[len(shape):] + shape
z, y, x = np.meshgrid(*[np.arange(n) for n in whole], indexing='ij')
page = tree.parse(run + '/fields.xdmf')
with h5py.File(run + '/fields.h5') as f:
    assert list(f['times'][...]) == [0.0, 0.5], f['times'][...]
    assert f.attrs['case'] in ('test', b'test')
    for i in range(2):
        data = f['u/%06d' % i][...]
        assert data.shape == shape and data.dtype == np.float64, (data.shape, data.dtype)
        assert (data.reshape(whole) == i + x + 100.0 * y + 1e4 * z).all()
    assert f['x'][0] == 0.5 / 11 and f['x'].shape == (11,)
    items = [item for item in page.iter('DataItem') if item.get('Format') == 'HDF']
    assert len(items) == 2
    for item in items:
        name, path = item.text.split(':')
        assert name == 'fields.h5' and path in f, item.text
        assert item.get('Dimensions') == '%d %d %d' % whole, item.get('Dimensions')
assert [time.get('Value') for time in page.iter('Time')] == ['0', '0.5']
for mesh in page.iter('Topology'):
    assert mesh.get('TopologyType') == '3DCoRectMesh'
    assert mesh.get('Dimensions') == '%d %d %d' % tuple(n + 1 for n in whole), mesh.get('Dimensions')
for geometry in page.iter('Geometry'):
    origin, spacing = [[float(n) for n in item.text.split()] for item in geometry.iter('DataItem')]
    assert geometry.get('GeometryType') == 'ORIGIN_DXDYDZ'
    assert origin == [0.0, -1.0 if len(shape) > 1 else 0.0, 0.0] and spacing[2] == 1 / 11, (origin, spacing)
)py";

TEST(Results, OthersCanReadFields) {
  const std::string clean = "env -i PATH=\"$PATH\" ";
  const bool is_missing =
      world().is_root() && std::system((clean + "/usr/bin/python3 -c 'import h5py' 2> /dev/null").c_str()) != 0;
  if (world().any(is_missing)) GTEST_SKIP() << "no h5py";
  if (world().is_root()) std::ofstream(folder("look") + ".py") << look;
  for (const int dimensions : {1, 2, 3}) {
    const Grid grid(axes(dimensions), world(), {1, 1, 1});
    const RunFolder run(folder("fields"), world());
    FieldWriter writer(run, grid, {"u"}, 2);
    for (int i = 0; i < 2; ++i) {
      const std::vector<double> field = some_field(grid, i);
      writer.write(10 * i, 0.5 * i, {ConstCellArray(field.data() + grid.layout().origin)});
    }
    EXPECT_FALSE(fs::exists(run.file("fields.h5")));
    writer.finish("test");
    if (world().is_root()) {
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
  FieldWriter writer(run, grid, {"u"}, 3);
  for (int i = 0; i < 3; ++i) {
    const double value = i * i;
    writer.write(i, i, {ConstCellArray(&value)});
  }
  writer.finish("test");
  EXPECT_TRUE(fs::exists(run.file("fields.h5")));
  EXPECT_FALSE(fs::exists(run.file("fields.xdmf")));
  const Hdf5File file(H5Fopen(run.file("fields.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "open", run.path());
  const Hdf5Dataset data(H5Dopen2(file, "/u", H5P_DEFAULT), "open", run.path());
  double values[3] = {-1, -1, -1};
  ASSERT_EQ(H5Sget_simple_extent_npoints(Hdf5Space(H5Dget_space(data), "read", run.path())), 3);
  ASSERT_GE(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
  EXPECT_EQ(std::vector<double>(values, values + 3), (std::vector<double>{0, 1, 4}));
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(Results, WithoutFinishTheFileKeepsItsPartialName) {
  const Grid grid(axes(2), world(), {1, 1, 1});
  const RunFolder run(folder("unfinished"), world());
  {
    FieldWriter writer(run, grid, {"u"}, 2);
    const std::vector<double> field = some_field(grid, 0);
    writer.write(0, 0, {ConstCellArray(field.data() + grid.layout().origin)});
  }
  EXPECT_FALSE(fs::exists(run.file("fields.h5")));
  EXPECT_FALSE(fs::exists(run.file("fields.xdmf")));
  EXPECT_TRUE(fs::exists(run.partial("fields.h5")));
}

TEST(Results, FilesThatTheRunReadsAreNotRemoved) {
  const std::string path = folder("inputs");
  { const RunFolder run(path, world()); }
  const std::string input = path + "/estimate.h5", link = folder("link");
  world().on_root([&] {
    std::ofstream(input) << "mine";
    fs::remove(link);
    fs::create_symlink(path, link);
  });
  for (const std::string& read : {input, link + "/estimate.h5",
                                  path + "/../" + fs::path(input).parent_path().filename().string() + "/estimate.h5"})
    EXPECT_THROW(RunFolder(path, world(), {"no-such-file", read}), InputError) << read;
  EXPECT_TRUE(fs::exists(input));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_NO_THROW(RunFolder(path, world(), {path + "/mine.yaml"}));
  EXPECT_FALSE(fs::exists(input));
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(Progress, LinesSayRateAndTimeLeft) {
  EXPECT_EQ(progress_line("forward", SweepPosition::counted(1200, 2000), 4.0),
            "forward  1200/2000 steps  60 %  300 steps/s  ETA 3 s");
  EXPECT_EQ(progress_line("reverse", SweepPosition::counted(0, 2000), 1.0), "reverse  0/2000 steps  0 %  0 steps/s");
  EXPECT_EQ(progress_line("forward", SweepPosition::counted(10, 10), 1.0),
            "forward  10/10 steps  100 %  10 steps/s  ETA 0 s");
  EXPECT_EQ(duration_text(42), "42 s");
  EXPECT_EQ(duration_text(17 * 60), "17 min");
  EXPECT_EQ(duration_text(3.2 * 3600), "3.2 h");
}

}  // namespace
}  // namespace hindsight
