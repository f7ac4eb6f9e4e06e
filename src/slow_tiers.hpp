// The slow tiers that a case asks for: their codecs, files, threads and memory.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adjoint/plan/operation_seconds.hpp"
#include "adjoint/problem/simulation.hpp"
#include "adjoint/store/codecs/codecs.hpp"
#include "io/case/case.hpp"
#include "io/checkpoints/scratch_folder.hpp"
#include "io/files/raw_file.hpp"

namespace hindsight {

/// Where a disk tier's bytes go; the rest is for tests and benchmarks.
struct DiskOptions {
  std::string scratch = ".";                          ///< folder of checkpoint files where the case names none
  std::optional<std::pair<double, double>> emulated;  ///< memory in place of a disk: seconds per write, per read
  std::optional<std::pair<double, double>> slowed;    ///< a disk slowed down to as many seconds
  bool direct = true;                                 ///< past the page cache where the file system allows it
  OpenRawFile open_file = open_raw_file;
  std::string tag;       ///< in the names of checkpoint files; empty: a new one
  bool keeps = false;    ///< files stay, for a process that goes on
  bool reopens = false;  ///< the first file opened is that of the process before, if it is as it should be
};

/// The disk, and host memory when its states are coded or states are a device's (else they are kept there by
/// reference). Everything that says so is collective; capacities are those of the rank that has the least.
class SlowTiers {
 public:
  /// @param c, simulation must outlive this. @param warn told what was mended, on all ranks.
  SlowTiers(const Case& c, const Communicator& comm, DiskOptions options, Simulation& simulation,
            std::function<void(const std::string&)> warn);

  bool is_asked_for(Tier tier) const;
  bool any() const { return is_asked_for(Tier::host) || is_asked_for(Tier::disk); }
  /// How far transfers run ahead: as the case says, else deep for at least `roomy` states. @param states at most that
  /// there will be.
  void choose_overlap(std::int64_t states);
  static constexpr std::int64_t roomy = 16;
  const Overlap& overlap() const { return overlap_; }
  /// Memory beside the slots of a tier that was asked for: scratch of the threads, in host memory; states that wait or
  /// were read ahead, and a device's scratch, where states are made.
  std::int64_t working_bytes(Tier tier) const;
  std::int64_t buffer_bytes(Tier tier) const;
  /// Host memory of the tables of a tier outside of memory that is to have so many slots in so many bytes, at most; and
  /// the other way round, the bytes of a tier whose tables take so much.
  std::int64_t table_bytes(Tier tier, std::int64_t slots, std::int64_t bytes) const;
  std::int64_t bytes_of_table(Tier tier, std::int64_t table) const;
  /// Of one slot, on this rank; of coded states what they are known to take at most. What is known of a codec stays
  /// known when another takes its place.
  std::int64_t slot_bytes(Tier tier) const;
  /// Host memory of a slot there and of its tables.
  std::int64_t slot_memory() const;
  /// Slots that so many bytes of this rank hold, in host memory with their tables.
  std::int64_t slots_in(Tier tier, std::int64_t bytes) const;

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
  /// Closes all, and states are coded as the case says.
  void restore_codec(Tier tier) { set_tolerance(tier, coding(tier).tolerance); }
  /// Closes all, and states on disk get a codec by name, without tolerance.
  void set_disk_codec(const std::string& kind);
  /// What set_disk_codec() said last; empty: nothing.
  const std::string& disk_codec() const { return disk_codec_; }
  /// Whether the codec has a tolerance, and the case leaves it open.
  bool is_tunable(Tier tier) const {
    const CaseCodec& c = coding(tier);
    return (c.kind == "zfp" || c.kind == "quantised") && c.tolerance == 0.0;
  }
  /// Whether the case's codec changes states.
  bool is_lossy(Tier tier) const {
    const std::string& kind = coding(tier).kind;
    return is_asked_for(tier) && kind != "none" && kind != "lz4" && kind != "zstd";
  }
  /// Whether coded states may turn out too large for a tier with so many slots in so many bytes: it would be short of
  /// pages if all were as large as can be, and only the first states of a run are known. On this rank.
  bool may_be_short(Tier tier, std::int64_t slots, std::int64_t bytes) const;
  /// Learns what coded states of some tiers take, from states along a forward run, of which it takes a quarter at
  /// least and all when they keep growing. Needs the memory of the transfers to these tiers, which must be closed.
  /// @param between is called after each step. Collective.
  void look_ahead(const std::vector<Tier>& tiers, const std::function<void()>& between);
  /// After a tier was found full: what a slot takes is known better now.
  void learn_sizes();
  /// What is known of coded states, for a process that goes on, on as many ranks or others.
  void save_sizes(ArchiveWriter& to) const;
  void restore_sizes(ArchiveReader& from);
  void forget_sizes() { sizes_ = {}, foreseen_ = {}; }

  const SlotTier* operator[](Tier tier) const { return tiers_[index(tier)].get(); }
  std::array<SlotTier*, tier_count> all() const;
  const Codec* codec(Tier tier) const { return codecs_[index(tier)].get(); }

 private:
  static std::size_t index(Tier tier) { return static_cast<std::size_t>(tier); }
  const CaseCodec& coding(Tier tier) const;
  void set_codec(Tier tier, const CodecSettings& settings);
  /// What coded states take at most, room to grow included.
  struct CodedSize {
    std::int64_t bytes = 0;
    bool is_sure = false;  ///< from states all along a run, not from the first ones alone
  };
  std::int64_t most_bytes(Tier tier) const;
  void estimate_size(Tier tier);
  bool is_direct(Tier tier) const;
  std::int64_t page_bytes(Tier tier) const;
  std::string file() const;
  std::int64_t pages_in(Tier tier, std::int64_t slots, std::int64_t bytes) const;
  std::int64_t pages_for(Tier tier, std::int64_t slots, std::int64_t bytes) const;
  std::unique_ptr<Medium> make_medium(Tier tier, std::int64_t slots, std::int64_t pages, bool reopens);
  std::unique_ptr<SlotTier> make(Tier tier, std::int64_t slots, std::int64_t bytes, bool reopens);

  const Case& case_;
  Communicator comm_;
  DiskOptions options_;
  Simulation& simulation_;
  std::function<void(const std::string&)> warn_;
  StateShape shape_;
  std::string disk_codec_;
  std::string tag_;  // of this object in the names of files
  std::unique_ptr<ScratchFolder> scratch_;
  Overlap overlap_;
  std::shared_ptr<TransferThreads> threads_;
  std::shared_ptr<device::Program> words_;  // of a device that makes a codec's words
  std::array<std::shared_ptr<const Codec>, tier_count> codecs_;
  std::array<CodecSettings, tier_count> settings_;                  // of codecs_
  std::array<std::int64_t, tier_count> coder_bytes_{};              // of one thread
  std::array<std::map<std::string, CodedSize>, tier_count> sizes_;  // by the codec's settings as text
  std::array<std::optional<CodecSettings>, tier_count> foreseen_;   // the codec of the last look ahead
  std::array<std::unique_ptr<SlotTier>, tier_count> tiers_;
};

}  // namespace hindsight
