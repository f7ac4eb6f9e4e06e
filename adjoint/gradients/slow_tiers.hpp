// The slow tiers that somebody asks for: their codecs, media, threads and memory.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adjoint/gradients/coded_sizes.hpp"
#include "adjoint/gradients/means.hpp"
#include "adjoint/plan/checkpoint_options.hpp"
#include "adjoint/plan/operation_seconds.hpp"
#include "adjoint/problem/simulation.hpp"
#include "adjoint/store/disk_space.hpp"

namespace hindsight {

/// Whether states go to slots of a tier: to the disk, and to host memory when they are coded or a device's (else they
/// are kept there by reference).
bool is_asked_for(Tier tier, const CheckpointOptions& checkpoints, const Machine& machine);

using Warn = std::function<void(const std::string&)>;

/// Everything that says so is collective; capacities are those of the rank that has the least.
class SlowTiers {
 public:
  /// @param checkpoints, simulation must outlive this. @param disk may be null where no disk is asked for. @param warn
  /// told what was mended, on all ranks. @param depth states that wait and that are read ahead where the options do not
  /// say it, and threads.
  SlowTiers(const CheckpointOptions& checkpoints, std::shared_ptr<DiskSpace> disk, Simulation& simulation,
            const Communicator& comm, Warn warn, int depth);

  bool is_asked_for(Tier tier) const { return hindsight::is_asked_for(tier, checkpoints_, simulation_.machine()); }
  static constexpr int shallow = 1, deep = 2;
  int depth() const { return depth_; }
  /// Closes all, and transfers run ahead so far from now on.
  void set_depth(int depth);
  /// How far transfers run ahead.
  const Overlap& overlap() const { return overlap_; }
  /// Of the tiers that are asked for, as far as the sizes of coded states are known now.
  std::array<std::optional<SlowTierNeeds>, tier_count> needs() const;

  /// Opens a tier for some states and measures it. @param bytes that it may take at most. Collective.
  TransferSeconds measure(Tier tier, std::int64_t bytes);
  /// Opens a tier, or leaves it open if it is large enough. @param bytes that it may take at most. @returns the slots
  /// that there is room for, less than asked for when a device is full (then it is closed). Collective.
  std::int64_t open(Tier tier, std::int64_t slots, std::int64_t bytes);
  void close(Tier tier);
  /// What an epoch is told of where the slots of open tiers are, at most.
  std::int64_t places_bytes() const;
  /// Whether no open or chosen codec loses anything.
  bool is_lossless() const;
  /// Closes all, and coded states get another tolerance; none: their codec is left out.
  void set_tolerance(Tier tier, std::optional<double> tolerance);
  /// Closes all, and states are coded as the options say.
  void restore_codec(Tier tier) { set_tolerance(tier, checkpoints_.codec(tier).tolerance); }
  /// Closes all, and states on disk get a codec by name, without tolerance.
  void set_disk_codec(const std::string& kind);
  /// What set_disk_codec() said last; empty: nothing.
  const std::string& disk_codec() const { return disk_codec_; }
  /// Whether the codec has a tolerance, and the options leave it open.
  bool is_tunable(Tier tier) const {
    const TierCodec& c = checkpoints_.codec(tier);
    return codecs().find(c.kind).has_tolerance && c.tolerance == 0.0;
  }
  /// Whether the codec that is asked for changes states.
  bool is_lossy(Tier tier) const { return is_asked_for(tier) && codecs().find(checkpoints_.codec(tier).kind).is_lossy; }
  /// Whether coded states may turn out too large for a tier with so many slots in so many bytes, and only the first
  /// states of a run are known. On this rank.
  bool may_be_short(Tier tier, std::int64_t slots, std::int64_t bytes) const;
  /// Learns what coded states of some tiers take, from states along a forward run, of which it takes a quarter at
  /// least and all when they keep growing. Needs the memory of the transfers to these tiers, which must be closed.
  /// @param between is called after each step. Collective.
  void look_ahead(const std::vector<Tier>& tiers, const std::function<void()>& between);
  /// After a tier was found full: what a slot takes is known better now.
  void learn_sizes();
  /// What is known of coded states, for a process that goes on, on as many ranks or others.
  void save_sizes(ArchiveWriter& to) const { sizes_.save(to); }
  void restore_sizes(ArchiveReader& from) { sizes_.restore(from); }

  const SlotTier* operator[](Tier tier) const { return tiers_[index_of(tier)].get(); }
  std::array<SlotTier*, tier_count> all() const;
  const Codec* codec(Tier tier) const { return codings_[index_of(tier)].codec.get(); }

 private:
  /// How the states of a tier are made smaller now.
  struct Coding {
    CodecSettings settings;
    std::shared_ptr<const Codec> codec;  // null: not at all
    std::int64_t coder_bytes = 0;        // of one thread
  };
  void set_codec(Tier tier, const CodecSettings& settings);
  bool is_direct(Tier tier) const;
  std::int64_t page_bytes(Tier tier) const;
  TierLayout layout(Tier tier) const;
  std::int64_t buffer_bytes(Tier tier) const;
  std::int64_t scratch_bytes(Tier tier) const;
  std::unique_ptr<Medium> make_medium(Tier tier, std::int64_t slots, std::int64_t pages);
  std::unique_ptr<SlotTier> make(Tier tier, std::int64_t slots, std::int64_t bytes);

  const CheckpointOptions& checkpoints_;
  std::shared_ptr<DiskSpace> disk_;
  Simulation& simulation_;
  Communicator comm_;
  Warn warn_;
  int depth_ = 0;
  StateShape shape_;
  CodedSizes sizes_;
  std::string disk_codec_;
  Overlap overlap_;
  std::shared_ptr<TransferThreads> threads_;  // null where no tier is asked for
  std::shared_ptr<device::Program> words_;    // of a device that makes a codec's words
  std::array<Coding, tier_count> codings_;
  std::array<std::unique_ptr<SlotTier>, tier_count> tiers_;
};

}  // namespace hindsight
