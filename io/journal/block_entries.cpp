#include "io/journal/block_entries.hpp"

namespace hindsight {

std::int64_t BlockEntries::append(EntryLog& log, const std::function<void(BlockWriter&)>& write) {
  entry_.restart();
  BlockWriter to(entry_, grid_);
  write(to);
  const std::int64_t place = log.end();
  log.append(entry_.bytes());
  return place;
}

void BlockEntries::read(const std::vector<Bytes>& parts, const std::string& source,
                        const std::function<void(BlockReader&)>& read) const {
  std::vector<ArchiveReader> archives;
  std::vector<ArchiveReader*> readers;
  for (const Bytes& part : parts) archives.emplace_back(part, version, source);
  for (ArchiveReader& archive : archives) readers.push_back(&archive);
  BlockReader reader(readers, grid_);
  read(reader);
}

}  // namespace hindsight
