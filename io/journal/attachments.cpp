#include "io/journal/attachments.hpp"

#include <span>
#include <utility>

#include "io/journal/block_entries.hpp"

namespace hindsight {

void Attachments::attach(const std::string& name, std::function<void(ArchiveWriter&)> write) {
  writers_[name] = std::move(write);
}

bool Attachments::read(const std::string& name, const std::function<void(ArchiveReader&)>& read) const {
  const auto found = earlier_.find(name);
  if (found == earlier_.end()) return false;
  ArchiveReader from(std::as_bytes(std::span(found->second)), BlockEntries::version, "the journal's " + name);
  read(from);
  return true;
}

void Attachments::save(ArchiveWriter& to) const {
  to.write(static_cast<std::int64_t>(writers_.size()));
  for (const auto& [name, write] : writers_) {
    ArchiveWriter own(BlockEntries::version);
    write(own);
    to.write(name);
    to.write(std::string_view(reinterpret_cast<const char*>(own.bytes().data()), own.bytes().size()));
  }
}

void Attachments::restore(BlockReader& from) {
  for (auto n = from.get<std::int64_t>(); n > 0; --n) {
    const auto name = from.get<std::string>();
    earlier_[name] = from.get<std::string>();
  }
}

}  // namespace hindsight
