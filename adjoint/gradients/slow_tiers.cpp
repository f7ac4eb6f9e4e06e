#include "adjoint/gradients/slow_tiers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "adjoint/plan/plan.hpp"
#include "adjoint/store/packed_state.hpp"
#include "runtime/error.hpp"
#include "runtime/rounding.hpp"

namespace hindsight {
namespace {

constexpr std::int64_t sample = TierLayout::measured_slots;
/// Coded states take so many pages when they do not get smaller: less than one page per slot is wasted.
constexpr std::int64_t pages_per_state = 256;
/// States that are coded to look ahead, but for the first one; their sizes have settled when the second half of those
/// seen so far takes hardly more than the first.
constexpr std::int64_t looks = 16, earliest = 4;
constexpr double settled = 1.05;

/// Codes states on the caller's thread to see what they take.
class SizeProbe {
 public:
  SizeProbe(const StateShape& shape, const Codec& codec)
      : shape_(shape),
        cells_(Memory::pages(shape.bytes())),
        encoded_(Memory::pages(codec.bound(shape))),
        coder_(codec.coder(shape)) {}
  void look(ConstStateBlocks state) {
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

bool is_asked_for(Tier tier, const CheckpointOptions& checkpoints, const Machine& machine) {
  if (tier == Tier::host) return checkpoints.host_codec.kind != no_codec || !machine.is_host();
  return tier == Tier::disk && checkpoints.disk.has_value();
}

SlowTiers::SlowTiers(const CheckpointOptions& checkpoints, std::shared_ptr<DiskSpace> disk, Simulation& simulation,
                     const Communicator& comm, Warn warn, int depth)
    : checkpoints_(checkpoints),
      disk_(std::move(disk)),
      simulation_(simulation),
      comm_(comm),
      warn_(std::move(warn)),
      shape_(simulation.shape()),
      sizes_(shape_.bytes(), shape_.doubles()) {
  if (checkpoints.disk && disk_ == nullptr)
    throw InputError(checkpoints.disk->place, "checkpoints.disk: nobody says where files go (GradientOptions::disk)");
  for (const Tier tier : {Tier::host, Tier::disk})
    if (is_asked_for(tier)) restore_codec(tier);
  overlap_.transfers[index_of(Tier::host)] = is_asked_for(Tier::host);
  overlap_.transfers[index_of(Tier::device)] = simulation.machine().is_host();
  set_depth(depth);
}

void SlowTiers::set_depth(int depth) {
  for (const Tier tier : {Tier::host, Tier::disk}) close(tier);
  depth_ = depth;
  if (!is_asked_for(Tier::host) && !is_asked_for(Tier::disk)) return;
  overlap_.queue = checkpoints_.queue.value_or(depth);
  overlap_.prefetch = checkpoints_.prefetch.value_or(depth);
  threads_ = std::make_shared<TransferThreads>(depth);
}

void SlowTiers::set_codec(Tier tier, const CodecSettings& settings) {
  for (const Tier open : {Tier::host, Tier::disk}) close(open);
  simulation_.free_checkpoints();  // a coder is made to see what it takes
  Coding& coding = codings_[index_of(tier)];
  coding.settings = settings;
  coding.codec = make_codec(settings);
  coding.coder_bytes = coding.codec ? coder_bytes(*coding.codec, shape_) : 0;
  if (coding.codec) sizes_.estimate(tier, settings, coding.codec->bound(shape_));
}

void SlowTiers::set_tolerance(Tier tier, std::optional<double> tolerance) {
  if (tier == Tier::disk) disk_codec_.clear();
  const TierCodec& coding = checkpoints_.codec(tier);
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

std::int64_t SlowTiers::scratch_bytes(Tier tier) const {
  const std::int64_t coders = threads_->count() * codings_[index_of(tier)].coder_bytes;
  const std::int64_t buffers = Pool::table_bytes * (std::max(1, overlap_.queue) + overlap_.prefetch);
  return coders + buffers +
         SlotTier::scratch_bytes(shape_, codec(tier), threads_->count(), simulation_.machine(), is_direct(tier));
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
  if (is_direct(tier)) return rounded_up(shape_.padded_bytes(), transfer_block);
  const std::int64_t state = rounded_up(shape_.bytes(), transfer_block);
  return codec(tier) == nullptr ? state : rounded_up(std::max(transfer_block, state / pages_per_state), transfer_block);
}

TierLayout SlowTiers::layout(Tier tier) const {
  const std::int64_t page = page_bytes(tier);
  const Codec* const coded = codec(tier);
  const std::int64_t most = coded != nullptr ? coded->bound(shape_) : shape_.bytes();
  const std::int64_t slot = sizes_.bytes(tier, codings_[index_of(tier)].settings).value_or(most);
  return {tier, page, rounded_up(slot, page), coded != nullptr ? rounded_up(most, page) : 0};
}

std::array<std::optional<SlowTierNeeds>, tier_count> SlowTiers::needs() const {
  std::array<std::optional<SlowTierNeeds>, tier_count> all;
  for (const Tier tier : {Tier::host, Tier::disk})
    if (is_asked_for(tier)) all[index_of(tier)] = {layout(tier), buffer_bytes(tier), scratch_bytes(tier)};
  return all;
}

void SlowTiers::close(Tier tier) {
  if (!tiers_[index_of(tier)]) return;
  tiers_[index_of(tier)].reset();
  if (tier == Tier::disk) disk_->remove();
}

std::int64_t SlowTiers::places_bytes() const {
  const SlotTier* const disk = (*this)[Tier::disk];
  if (disk == nullptr) return 0;
  return disk->settings().slots * SlotTier::place_bytes + disk->medium().pages() * SlotTier::page_place_bytes;
}

bool SlowTiers::is_lossless() const {
  return std::all_of(codings_.begin(), codings_.end(),
                     [](const Coding& coding) { return !coding.codec || coding.codec->is_lossless(); });
}

std::array<SlotTier*, tier_count> SlowTiers::all() const {
  std::array<SlotTier*, tier_count> pointers{};
  for (std::size_t t = 0; t < tier_count; ++t) pointers[t] = tiers_[t].get();
  return pointers;
}

std::unique_ptr<Medium> SlowTiers::make_medium(Tier tier, std::int64_t slots, std::int64_t pages) {
  if (tier == Tier::host) {
    const CountMemory counted(simulation_.memory());
    return std::make_unique<MemoryMedium>(pages, page_bytes(tier), simulation_.machine().near_host());
  }
  DiskRequest request;
  request.slots = slots;
  request.pages = pages;
  request.page_bytes = page_bytes(tier);
  request.fields = simulation_.spec().model.fields;
  request.shape = shape_;
  request.codec = codec(tier) != nullptr ? codec(tier)->name() : "";
  request.time = [line = &simulation_.time()](std::int64_t step) { return line->time(step); };
  return disk_->make(request);
}

std::unique_ptr<SlotTier> SlowTiers::make(Tier tier, std::int64_t slots, std::int64_t bytes) {
  const TierLayout layout = this->layout(tier);
  std::unique_ptr<Medium> medium = make_medium(tier, slots, layout.pages_for(slots, bytes));
  const CountMemory counted(simulation_.memory());
  return std::make_unique<SlotTier>(TierSettings{slots, overlap_.queue, overlap_.prefetch, layout.spare_pages()},
                                    shape_, std::move(medium), codings_[index_of(tier)].codec, threads_,
                                    simulation_.machine(), words_);
}

std::int64_t SlowTiers::open(Tier tier, std::int64_t slots, std::int64_t bytes) {
  std::unique_ptr<SlotTier>& mine = tiers_[index_of(tier)];
  if (mine && mine->settings().slots >= slots) return slots;
  // Blocks of few cells have none.
  if (!words_ && comm_.any(SlotTier::has_device_words(shape_, codec(tier), simulation_.machine()))) {
    const device::ProgramText program = words_program();
    words_ = simulation_.machine().load(program.text, program.kernels, comm_);
  }
  if (tier == Tier::disk) disk_->prepare();
  close(tier);
  std::string failure, shortage;
  ExitCode code = ExitCode::resource;
  try {
    mine = make(tier, slots, bytes);
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
                    bytes_text(fewer * layout(tier).slot_bytes)));
  return fewer;
}

TransferSeconds SlowTiers::measure(Tier tier, std::int64_t bytes) {
  const TierLayout layout = this->layout(tier);
  const std::int64_t page = layout.page_bytes, pages = layout.most_pages();
  const std::int64_t fit = layout.pages_in(sample, bytes) / pages;
  std::int64_t slots = -comm_.max(-std::clamp<std::int64_t>(fit, 1, sample));
  const std::int64_t each = pages * (page + layout.page_table_bytes()) + layout.slot_table_bytes();
  while (slots > 0 && tiers_[index_of(tier)] == nullptr) slots = open(tier, slots, std::min(bytes, slots * each));
  if (slots == 0) return {};
  slots = std::min(slots, tiers_[index_of(tier)]->settings().slots);
  const TransferSeconds seconds = simulation_.measure(*tiers_[index_of(tier)], slots);
  learn_sizes();
  if (codec(tier) != nullptr) close(tier);  // its pages will be others
  return seconds;
}

bool SlowTiers::may_be_short(Tier tier, std::int64_t slots, std::int64_t bytes) const {
  return !sizes_.is_sure(tier, codings_[index_of(tier)].settings) && layout(tier).may_be_short(slots, bytes);
}

void SlowTiers::look_ahead(const std::vector<Tier>& tiers, const std::function<void()>& between) {
  const CountMemory counted(simulation_.memory());
  std::vector<SizeProbe> probes;
  for (const Tier tier : tiers) probes.emplace_back(shape_, *codec(tier));
  const std::int64_t apart = std::max<std::int64_t>(1, simulation_.time().steps() / looks);
  simulation_.walk([&](std::int64_t k, StateBlocks state) {
    between();
    if (k % apart != 0) return true;
    const HostView here(simulation_.machine(), state.now, shape_.padded_doubles);
    std::optional<HostView> before;
    if (state.before != nullptr) before.emplace(simulation_.machine(), state.before, shape_.padded_doubles);
    for (SizeProbe& probe : probes) probe.look({here.data(), before ? before->data() : nullptr});
    const std::int64_t number = k / apart;
    const bool is_time = number >= earliest && (number & (number - 1)) == 0;  // powers of two
    return !is_time || comm_.any(std::any_of(probes.begin(), probes.end(), [](auto& p) { return !p.has_settled(); }));
  });
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const Coding& coding = codings_[index_of(tiers[i])];
    sizes_.foresee(tiers[i], coding.settings, probes[i].largest(), coding.codec->bound(shape_));
  }
}

void SlowTiers::learn_sizes() {
  for (const Tier tier : {Tier::host, Tier::disk}) {
    const Coding& coding = codings_[index_of(tier)];
    const SlotTier* const mine = tiers_[index_of(tier)].get();
    if (mine != nullptr && coding.codec)
      sizes_.learn(tier, coding.settings, mine->largest_bytes(), coding.codec->bound(shape_));
  }
}

}  // namespace hindsight
