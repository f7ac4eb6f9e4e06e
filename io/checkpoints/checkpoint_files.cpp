#include "io/checkpoints/checkpoint_files.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <random>

#include "io/checkpoints/checkpoint_file.hpp"
#include "runtime/rounding.hpp"

namespace hindsight {
namespace {

/// As slow as asked for states of this shape. @param seconds per write and per read.
std::unique_ptr<Medium> slowed(std::unique_ptr<Medium> medium, const StateShape& shape,
                               const std::pair<double, double>& seconds) {
  const auto state = static_cast<double>(rounded_up(shape.bytes(), transfer_block));
  return std::make_unique<ThrottledMedium>(std::move(medium), seconds.first / state, seconds.second / state);
}

}  // namespace

CheckpointFiles::CheckpointFiles(DiskOptions options, const Communicator& comm)
    : options_(std::move(options)),
      comm_(comm),
      tag_(!options_.tag.empty()
               ? options_.tag
               : comm.broadcast(fmt::format("{:08x}{:08x}", std::random_device()(), std::random_device()()))) {}

std::string CheckpointFiles::file() const {
  return fmt::format("{}/checkpoints-{}-rank{}.h5", folder_->path(), tag_, comm_.rank());
}

void CheckpointFiles::prepare() {
  if (!folder_ && !options_.emulated) folder_ = std::make_unique<ScratchFolder>(options_.scratch, comm_);
}

std::unique_ptr<Medium> CheckpointFiles::make(const DiskRequest& request) {
  if (options_.emulated)
    return slowed(std::make_unique<MemoryMedium>(request.pages, request.page_bytes), request.shape, *options_.emulated);
  CheckpointFileSettings settings;
  settings.path = file();
  settings.keeps = options_.keeps;
  settings.reopens = std::exchange(options_.reopens, false);
  settings.slots = request.slots;
  settings.pages = request.pages;
  settings.page_bytes = request.page_bytes;
  settings.fields = request.fields;
  settings.shape = request.shape;
  settings.codec = request.codec;
  settings.time = request.time;
  settings.direct = options_.direct;
  settings.open = options_.open_file;
  auto medium = std::make_unique<CheckpointFile>(std::move(settings));
  if (!options_.slowed) return medium;
  return slowed(std::move(medium), request.shape, *options_.slowed);
}

void CheckpointFiles::remove() {
  if (folder_) std::remove(file().c_str());
}

}  // namespace hindsight
