// The disk tier's file as others read it: h5py and h5dump.
#include "io/checkpoints/checkpoint_file.hpp"
#include "adjoint/store/packed_state.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <numeric>

#include "adjoint/store/slot_tier.hpp"

namespace hindsight {
namespace {

const StateShape shape = shape_of_fields(2, {5, 4, 3}, 40, 8, 48, 200);

CheckpointFileSettings settings(const std::string& path) {
  CheckpointFileSettings s;
  s.path = path;
  s.slots = s.pages = 3;
  s.page_bytes = 4096;
  s.fields = {"u", "v"};
  s.shape = shape;
  s.time = [](std::int64_t step) { return 0.5 * static_cast<double>(step); };
  return s;
}

std::string output_of(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::string text;
  std::array<char, 4096> piece;
  while (const std::size_t n = fread(piece.data(), 1, piece.size(), pipe)) text.append(piece.data(), n);
  pclose(pipe);
  return text;
}

TEST(CheckpointFile, OpensInH5pyAndH5dumpWhileItIsInUse) {
  const std::string path = testing::TempDir() + "file.h5";
  Pool pool(8, 400);
  SlotTier tier({3, 1, 1}, shape, std::make_unique<CheckpointFile>(settings(path)), nullptr,
                std::make_shared<TransferThreads>(1));
  for (std::int64_t slot = 0; slot < 2; ++slot) {
    const Buffer state = pool.acquire();
    for (int i = 0; i < 400; ++i) state.data()[i] = static_cast<double>(1000 * (slot + 1) + i);
    tier.save(slot, state, 7 + slot);
  }
  tier.flush();
  const std::string script = R"py(
import h5py, numpy, sys
f = h5py.File(sys.argv[1], 'r')
slots, pages = f['slots'], f['pages']
print(slots['step'].tolist(), slots['time'].tolist(), slots['bytes'].tolist(), slots['reference_page'].tolist())
fields, nz, ny, nx = pages.attrs['shape']
print(pages.attrs['fields'].decode(), pages.attrs['codec'].decode(), fields, nz, ny, nx)
row = slots[1]
state = pages[row['first_page']].view('f8')[:fields * nz * ny * nx].reshape(fields, nz, ny, nx)
print(state[0, 0, 0, 0], state[1, 2, 3, 4])
crc = 0xffffffff
for byte in state.tobytes():
    crc ^= byte
    for _ in range(8):
        crc = (crc >> 1) ^ (0x82f63b78 if crc & 1 else 0)
print(crc ^ 0xffffffff == row['crc32c'])
)py";
  const std::string wanted =
      "[7, 8, -1] [3.5, 4.0, 0.0] [960, 960, 0] [-1, -1, -1]\nu,v none 2 3 4 5\n2040.0 2364.0\nTrue\n";
  EXPECT_EQ(output_of("/usr/bin/python3 -c \"" + script + "\" " + path), wanted);
  const std::string dump = output_of("h5dump -d /slots " + path);
  for (const char* word : {"\"step\"", "\"time\"", "\"crc32c\"", "960"})
    EXPECT_NE(dump.find(word), std::string::npos) << dump;
}

TEST(CheckpointFile, HasItsPlaceOnTheDeviceFromTheStart) {
  const std::string path = testing::TempDir() + "place.h5";
  {
    CheckpointFileSettings s = settings(path);
    s.slots = s.pages = 1000;
    const CheckpointFile file(s);
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_GE(status.st_blocks * 512, 1000 * 4096);
    EXPECT_NE(file.description().find("page cache"), std::string::npos);
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "it is removed at the end";
}

TEST(CheckpointFile, ChecksumIsThatOfThePublishedExample) {
  EXPECT_EQ(crc32c("123456789", 9), 0xE3069283U);  // RFC 3720's polynomial; the usual check value
  EXPECT_EQ(crc32c("56789", 5, crc32c("1234", 4)), 0xE3069283U);
  const std::array<unsigned char, 32> zeros{};
  EXPECT_EQ(crc32c(zeros.data(), 32), 0x8A9136AAU);  // RFC 3720, B.4
}

}  // namespace
}  // namespace hindsight
