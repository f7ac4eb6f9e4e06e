#include "src/slow_tiers.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "adjoint/plan/plan.hpp"
#include "adjoint/schedule/level_counts.hpp"
#include "adjoint/store/checkpoints.hpp"
#include "adjoint/sweep/prefetch.hpp"
#include "io/checkpoints/checkpoint_file.hpp"
#include "runtime/error.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t block = 4096;
/// Places that take over from those that fail.
constexpr std::int64_t spare_slots = 2;
/// States that transfers are measured on.
constexpr std::int64_t sample = 6;
/// Coded states take so many pages when they do not get smaller: less than one page per slot is wasted.
constexpr std::int64_t pages_per_state = 256;
/// Later states may be harder to code than those that were measured.
constexpr double room_to_grow = 1.1;
/// States that are coded to look ahead, but for the first one; their sizes have settled when the second half of those
/// seen so far takes hardly more than the first.
constexpr std::int64_t looks = 16, earliest = 4;
constexpr double settled = 1.05;

/// Host memory that is kept about a slot and a page; of those outside of memory an epoch is told too, in a list and in
/// what is written (or was read).
std::int64_t slot_table_bytes(Tier tier) {
  return SlotTier::table_bytes + Checkpoints::slow_table_bytes + Prefetcher::table_bytes +
         (tier == Tier::disk ? 2 * SlotTier::place_bytes : 0);
}
std::int64_t page_table_bytes(Tier tier) {
  return PageArena::table_bytes + (tier == Tier::disk ? 2 * SlotTier::page_place_bytes : 0);
}

std::int64_t rounded_up(std::int64_t bytes, std::int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::string name_of(const CodecSettings& settings) {
  return fmt::format("{}+{} {:g}", settings.kind, settings.then, settings.tolerance);
}

/// Codes states on the caller's thread to see what they take.
class SizeProbe {
 public:
  SizeProbe(const StateShape& shape, const Codec& codec)
      : shape_(shape),
        cells_(Memory::pages(shape.bytes())),
        encoded_(Memory::pages(codec.bound(shape))),
        coder_(codec.coder(shape)) {}
  void look(const double* state) {
    pack(shape_, state, 0, shape_.doubles(), cells_.data());
    const std::int64_t bytes = coder_->encode(cells_.data(), nullptr, reinterpret_cast<char*>(encoded_.data())).bytes;
    largest_.push_back(std::max(largest(), bytes));
  }
  std::int64_t largest() const { return largest_.empty() ? 0 : largest_.back(); }
  bool has_settled() const {
    return static_cast<double>(largest()) <= settled * static_cast<double>(largest_[(largest_.size() - 1) / 2]);
  }

 private:
  StateShape shape_;
  Memory cells_, encoded_;
  std::unique_ptr<Coder> coder_;
  std::vector<std::int64_t> largest_;  // of the first states, by their number
};

}  // namespace

SlowTiers::SlowTiers(const Case& c, const Communicator& comm, DiskOptions options, Simulation& simulation,
                     std::function<void(const std::string&)> warn)
    : case_(c),
      comm_(comm),
      options_(std::move(options)),
      simulation_(simulation),
      warn_(std::move(warn)),
      shape_(simulation.shape()),
      tag_(!options_.tag.empty()
               ? options_.tag
               : comm.broadcast(fmt::format("{:08x}{:08x}", std::random_device()(), std::random_device()()))) {
  for (const Tier tier : {Tier::host, Tier::disk})
    if (is_asked_for(tier)) restore_codec(tier);
}

const CaseCodec& SlowTiers::coding(Tier tier) const {
  return tier == Tier::host ? case_.checkpoints.host_codec : case_.checkpoints.disk_codec;
}

bool SlowTiers::is_asked_for(Tier tier) const {
  if (tier == Tier::host) return coding(tier).kind != "none" || !simulation_.machine().is_host();
  return tier == Tier::disk && case_.checkpoints.disk.has_value();
}

void SlowTiers::set_codec(Tier tier, const CodecSettings& settings) {
  for (const Tier open : {Tier::host, Tier::disk}) close(open);
  simulation_.free_checkpoints();  // a coder is made to see what it takes
  codecs_[index(tier)] = make_codec(settings);
  settings_[index(tier)] = settings;
  coder_bytes_[index(tier)] = codec(tier) != nullptr ? coder_bytes(*codec(tier), shape_) : 0;
  estimate_size(tier);
}

void SlowTiers::set_tolerance(Tier tier, std::optional<double> tolerance) {
  if (tier == Tier::disk) disk_codec_.clear();
  const CaseCodec& coding = this->coding(tier);
  CodecSettings settings;
  if (tolerance) settings.kind = coding.kind;
  if (tolerance) settings.then = coding.then;
  if (tolerance) settings.difference = coding.difference;
  settings.tolerance = tolerance.value_or(0.0);
  set_codec(tier, settings);
}

void SlowTiers::set_disk_codec(const std::string& kind) {
  CodecSettings settings;
  settings.kind = disk_codec_ = kind;
  set_codec(Tier::disk, settings);
}

void SlowTiers::choose_overlap(std::int64_t states) {
  const int depth = states >= roomy ? 2 : 1;
  overlap_.queue = case_.checkpoints.queue.value_or(depth);
  overlap_.prefetch = case_.checkpoints.prefetch.value_or(depth);
  overlap_.transfers[index(Tier::host)] = is_asked_for(Tier::host);
  overlap_.transfers[index(Tier::device)] = simulation_.machine().is_host();
  threads_ = std::make_shared<TransferThreads>(depth);
}

std::int64_t SlowTiers::working_bytes(Tier tier) const {
  const Codec* const codec = this->codec(tier);
  const std::int64_t coders = threads_->count() * coder_bytes_[index(tier)];
  const std::int64_t buffers = Pool::table_bytes * (std::max(1, overlap_.queue) + overlap_.prefetch);
  return coders + buffers +
         SlotTier::scratch_bytes(shape_, codec, threads_->count(), simulation_.machine(), is_direct(tier));
}

std::int64_t SlowTiers::buffer_bytes(Tier tier) const {
  return (std::max(1, overlap_.queue) + overlap_.prefetch) * simulation_.state_bytes() +
         SlotTier::device_scratch_bytes(shape_, codec(tier), threads_->count(), simulation_.machine());
}

/// A device's states go right into slots.
bool SlowTiers::is_direct(Tier tier) const {
  return tier == Tier::host && codec(tier) == nullptr && !simulation_.machine().is_host();
}

std::int64_t SlowTiers::page_bytes(Tier tier) const {
  if (is_direct(tier)) return rounded_up(shape_.padded_bytes(), block);
  const std::int64_t state = rounded_up(shape_.bytes(), block);
  return codec(tier) == nullptr ? state : rounded_up(std::max(block, state / pages_per_state), block);
}

std::int64_t SlowTiers::slot_bytes(Tier tier) const {
  const auto& known = sizes_[index(tier)];
  const auto coded = known.find(name_of(settings_[index(tier)]));
  return rounded_up(coded != known.end() ? coded->second.bytes : most_bytes(tier), page_bytes(tier));
}

/// Of a state in a slot, however little a codec gains.
std::int64_t SlowTiers::most_bytes(Tier tier) const {
  return codec(tier) != nullptr ? codec(tier)->bound(shape_) : shape_.bytes();
}

/// Pages of so many slots; in host memory, beside the tables.
std::int64_t SlowTiers::pages_in(Tier tier, std::int64_t slots, std::int64_t bytes) const {
  if (tier != Tier::host) return bytes / page_bytes(tier);
  return std::max<std::int64_t>(0, bytes - slots * slot_table_bytes(tier)) /
         (page_bytes(tier) + page_table_bytes(tier));
}

std::int64_t SlowTiers::slot_memory() const {
  const std::int64_t page = page_bytes(Tier::host);
  return slot_bytes(Tier::host) / page * (page + page_table_bytes(Tier::host)) + slot_table_bytes(Tier::host);
}

std::int64_t SlowTiers::slots_in(Tier tier, std::int64_t bytes) const {
  if (tier == Tier::host) return std::max<std::int64_t>(0, bytes) / slot_memory();
  return std::max<std::int64_t>(0, bytes / slot_bytes(tier) - spare_slots);
}

/// Coded states get what there is, as far as they can use it: some will be larger than others.
std::int64_t SlowTiers::pages_for(Tier tier, std::int64_t slots, std::int64_t bytes) const {
  const std::int64_t page = page_bytes(tier), per_slot = slot_bytes(tier) / page;
  const std::int64_t spare = tier == Tier::disk ? spare_slots * per_slot : 0, least = slots * per_slot + spare;
  const Codec* const coded = codec(tier);
  if (coded == nullptr) return least;
  return std::max(least,
                  std::min(pages_in(tier, slots, bytes), slots * (rounded_up(most_bytes(tier), page) / page) + spare));
}

std::int64_t SlowTiers::table_bytes(Tier tier, std::int64_t slots, std::int64_t bytes) const {
  const std::int64_t most = std::max(slots, sample);
  return slot_table_bytes(tier) * most + page_table_bytes(tier) * pages_for(tier, most, bytes);
}

std::int64_t SlowTiers::bytes_of_table(Tier tier, std::int64_t table) const {
  const std::int64_t pages = slot_bytes(tier) / page_bytes(tier);  // of a slot
  return saturating_product(table / (pages * page_table_bytes(tier) + slot_table_bytes(tier)), slot_bytes(tier));
}

/// The disk's, of this rank.
std::string SlowTiers::file() const {
  return fmt::format("{}/checkpoints-{}-rank{}.h5", scratch_->path(), tag_, comm_.rank());
}

void SlowTiers::close(Tier tier) {
  if (!tiers_[index(tier)]) return;
  tiers_[index(tier)].reset();
  if (tier == Tier::disk && scratch_) std::remove(file().c_str());
}

std::int64_t SlowTiers::places_bytes() const {
  const SlotTier* const disk = (*this)[Tier::disk];
  if (disk == nullptr) return 0;
  return disk->settings().slots * SlotTier::place_bytes + disk->medium().pages() * SlotTier::page_place_bytes;
}

bool SlowTiers::is_lossless() const {
  return std::all_of(codecs_.begin(), codecs_.end(), [](const auto& codec) { return !codec || codec->is_lossless(); });
}

std::array<SlotTier*, tier_count> SlowTiers::all() const {
  std::array<SlotTier*, tier_count> pointers{};
  for (std::size_t t = 0; t < tier_count; ++t) pointers[t] = tiers_[t].get();
  return pointers;
}

std::unique_ptr<Medium> SlowTiers::make_medium(Tier tier, std::int64_t slots, std::int64_t pages, bool reopens) {
  if (tier == Tier::host) {
    const CountMemory counted(simulation_.memory());
    return std::make_unique<MemoryMedium>(pages, page_bytes(tier), simulation_.machine().near_host());
  }
  const auto slowed = [&](std::unique_ptr<Medium> medium, const std::pair<double, double>& seconds) {
    const double state = static_cast<double>(rounded_up(shape_.bytes(), block));
    return std::make_unique<ThrottledMedium>(std::move(medium), seconds.first / state, seconds.second / state);
  };
  if (options_.emulated) return slowed(std::make_unique<MemoryMedium>(pages, page_bytes(tier)), *options_.emulated);
  CheckpointFileSettings file;
  file.path = this->file();
  file.keeps = options_.keeps;
  file.reopens = reopens;
  file.slots = slots;
  file.pages = pages;
  file.page_bytes = page_bytes(tier);
  for (const CaseState& state : case_.state) file.fields.push_back(state.name);
  file.shape = shape_;
  file.codec = codec(tier) != nullptr ? codec(tier)->name() : "";
  file.time = [line = &simulation_.time()](std::int64_t step) { return line->time(step); };
  file.direct = options_.direct;
  file.open = options_.open_file;
  auto medium = std::make_unique<CheckpointFile>(std::move(file));
  if (!options_.slowed) return medium;
  return slowed(std::move(medium), *options_.slowed);
}

std::unique_ptr<SlotTier> SlowTiers::make(Tier tier, std::int64_t slots, std::int64_t bytes, bool reopens) {
  const std::int64_t spare = tier == Tier::disk ? spare_slots * (slot_bytes(tier) / page_bytes(tier)) : 0;
  std::unique_ptr<Medium> medium = make_medium(tier, slots, pages_for(tier, slots, bytes), reopens);
  const CountMemory counted(simulation_.memory());
  return std::make_unique<SlotTier>(TierSettings{slots, overlap_.queue, overlap_.prefetch, spare}, shape_,
                                    std::move(medium), codecs_[index(tier)], threads_, simulation_.machine(), words_);
}

std::int64_t SlowTiers::open(Tier tier, std::int64_t slots, std::int64_t bytes) {
  std::unique_ptr<SlotTier>& mine = tiers_[index(tier)];
  if (mine && mine->settings().slots >= slots) return slots;
  // Blocks of few cells have none.
  if (!words_ && comm_.any(SlotTier::has_device_words(shape_, codec(tier), simulation_.machine()))) {
    const device::ProgramText program = words_program();
    words_ = simulation_.machine().load(program.text, program.kernels, comm_);
  }
  if (tier == Tier::disk && !scratch_ && !options_.emulated) {
    const std::string& folder = case_.checkpoints.directory;
    scratch_ = std::make_unique<ScratchFolder>(folder.empty() ? options_.scratch : folder, comm_);
  }
  const bool reopens = tier == Tier::disk && std::exchange(options_.reopens, false);
  if (!reopens) close(tier);
  std::string failure, shortage;
  ExitCode code = ExitCode::resource;
  try {
    mine = make(tier, slots, bytes, reopens);
  } catch (const MediumError& error) {
    (error.is_full() ? shortage : failure) = error.what();
  } catch (const Error& error) {
    failure = error.what();
    code = error.code();
  }
  comm_.agree(failure, static_cast<int>(code));
  if (!comm_.any(!mine)) return slots;
  mine.reset();
  const std::int64_t fewer = slots - std::max<std::int64_t>(1, slots / 8);
  warn_(fmt::format("checkpoints.disk: {}; going on with {} states on disk, {}", comm_.first_text(shortage), fewer,
                    bytes_text(fewer * slot_bytes(tier))));
  return fewer;
}

TransferSeconds SlowTiers::measure(Tier tier, std::int64_t bytes) {
  const std::int64_t pages = rounded_up(most_bytes(tier), page_bytes(tier)) / page_bytes(tier);
  const std::int64_t fit = pages_in(tier, sample, bytes) / pages;
  std::int64_t slots = -comm_.max(-std::clamp<std::int64_t>(fit, 1, sample));
  const std::int64_t each = pages * (page_bytes(tier) + page_table_bytes(tier)) + slot_table_bytes(tier);
  while (slots > 0 && tiers_[index(tier)] == nullptr) slots = open(tier, slots, std::min(bytes, slots * each));
  if (slots == 0) return {};
  slots = std::min(slots, tiers_[index(tier)]->settings().slots);
  const TransferSeconds seconds = simulation_.measure(*tiers_[index(tier)], slots);
  learn_sizes();
  if (codec(tier) != nullptr) close(tier);  // its pages will be others
  return seconds;
}

bool SlowTiers::may_be_short(Tier tier, std::int64_t slots, std::int64_t bytes) const {
  const Codec* const coded = codec(tier);
  const auto known = sizes_[index(tier)].find(name_of(settings_[index(tier)]));
  if (coded == nullptr || (known != sizes_[index(tier)].end() && known->second.is_sure)) return false;
  const std::int64_t most = rounded_up(most_bytes(tier), page_bytes(tier)) / page_bytes(tier);
  return pages_for(tier, slots, bytes) < slots * most;
}

void SlowTiers::look_ahead(const std::vector<Tier>& tiers, const std::function<void()>& between) {
  const CountMemory counted(simulation_.memory());
  std::vector<SizeProbe> probes;
  for (const Tier tier : tiers) probes.emplace_back(shape_, *codec(tier));
  const std::int64_t apart = std::max<std::int64_t>(1, simulation_.time().steps() / looks);
  simulation_.walk([&](std::int64_t k, const double* state) {
    between();
    if (k % apart != 0) return true;
    const HostView here(simulation_.machine(), state, shape_.padded_doubles());
    for (SizeProbe& probe : probes) probe.look(here.data());
    const std::int64_t number = k / apart;
    const bool is_time = number >= earliest && (number & (number - 1)) == 0;  // powers of two
    return !is_time || comm_.any(std::any_of(probes.begin(), probes.end(), [](auto& p) { return !p.has_settled(); }));
  });
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const std::size_t t = index(tiers[i]);
    const auto seen = static_cast<double>(probes[i].largest());
    const std::int64_t bytes = std::min(static_cast<std::int64_t>(room_to_grow * seen), codecs_[t]->bound(shape_));
    foreseen_[t] = settings_[t];
    sizes_[t][name_of(settings_[t])] = {bytes, true};
  }
}

/// Of a codec that was not used yet, from another tolerance: half of it takes a bit more per cell at most, twice as
/// much a bit less at best, half of which is counted on.
void SlowTiers::estimate_size(Tier tier) {
  const CodecSettings& now = settings_[index(tier)];
  const auto& before = foreseen_[index(tier)];
  auto& known = sizes_[index(tier)];
  const bool is_alike = before && now.kind == before->kind && now.then == before->then && now.tolerance > 0;
  if (!is_alike || known.contains(name_of(now))) return;
  const double bits = std::log2(before->tolerance / now.tolerance);
  const double change = (bits > 0 ? bits : 0.5 * bits) / 8 * static_cast<double>(shape_.doubles());
  const std::int64_t seen = known[name_of(*before)].bytes, bytes = seen + static_cast<std::int64_t>(change);
  known[name_of(now)] = {std::clamp(bytes, seen / 4, codecs_[index(tier)]->bound(shape_)), true};
}

void SlowTiers::save_sizes(ArchiveWriter& to) const {
  to.begin("sizes");
  to.write(shape_.bytes());
  for (std::size_t t = 0; t < tier_count; ++t) {
    to.write(static_cast<std::int64_t>(sizes_[t].size()));
    for (const auto& [name, size] : sizes_[t]) {
      to.write(name);
      to.write(size.bytes);
      to.write(size.is_sure);
    }
    const CodecSettings seen = foreseen_[t].value_or(CodecSettings{});
    to.write(foreseen_[t].has_value());
    to.write(seen.kind);
    to.write(seen.then);
    to.write(seen.tolerance);
    to.write(seen.difference);
  }
  to.end();
}

/// On other ranks states have other sizes, and are coded about as well.
void SlowTiers::restore_sizes(ArchiveReader& from) {
  from.begin("sizes");
  const auto whole = from.get<std::int64_t>();
  for (std::size_t t = 0; t < tier_count; ++t) {
    for (auto n = from.get<std::int64_t>(); n > 0; --n) {
      CodedSize& size = sizes_[t][from.get<std::string>()];
      const auto bytes = from.get<std::int64_t>();
      const bool is_as_before = whole == shape_.bytes() || whole <= 0;
      const double part = static_cast<double>(bytes) / static_cast<double>(whole);
      size.bytes = is_as_before ? bytes : static_cast<std::int64_t>(part * static_cast<double>(shape_.bytes()));
      size.is_sure = from.get<bool>();
    }
    CodecSettings seen;
    const bool has_seen = from.get<bool>();
    from.read(seen.kind);
    from.read(seen.then);
    from.read(seen.tolerance);
    from.read(seen.difference);
    if (has_seen) foreseen_[t] = seen;
  }
  from.end();
}

void SlowTiers::learn_sizes() {
  for (std::size_t t = 0; t < tier_count; ++t) {
    if (!tiers_[t] || !codecs_[t]) continue;
    const auto seen = static_cast<double>(tiers_[t]->largest_bytes());
    const auto wanted = std::min(static_cast<std::int64_t>(room_to_grow * seen), codecs_[t]->bound(shape_));
    CodedSize& known = sizes_[t][name_of(settings_[t])];
    known.bytes = std::max(known.bytes, wanted);
  }
}

}  // namespace hindsight
