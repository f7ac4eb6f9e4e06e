// The slots of one slow tier on one rank: states go out and come back while steps are taken.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "adjoint/store/arena.hpp"
#include "adjoint/store/codec.hpp"
#include "adjoint/store/device_words.hpp"
#include "adjoint/store/medium.hpp"
#include "adjoint/store/pool.hpp"
#include "adjoint/store/transfer_threads.hpp"
#include "adjoint/store/whole_state.hpp"
#include "solvers/grid/state_shape.hpp"

namespace hindsight {

struct TierSettings {
  std::int64_t slots = 0;
  int queue = 2;     ///< states that wait to be written, at most; 0: save() returns when the state is written
  int prefetch = 2;  ///< states read ahead of their use, at most
  std::int64_t spare_pages = 0;  ///< of the medium, which take the place of those that fail
};

/// What a tier did, counted from its last clear().
struct TierTraffic {
  std::int64_t writes = 0, reads = 0, bytes_written = 0, bytes_read = 0;
  double write_stall = 0.0, read_stall = 0.0;  ///< seconds that the steps waited
  double write_busy = 0.0, read_busy = 0.0;    ///< seconds that transfers took, summed over the threads
  double write_cpu = 0.0, read_cpu = 0.0;      ///< seconds of processor time of these
  std::int64_t longest_queue = 0;              ///< states that waited to be written
  std::int64_t ahead = 0;                      ///< reads that had begun before they were needed
  std::int64_t damaged = 0;                    ///< reads that failed or had a wrong checksum
  std::int64_t lost = 0;                       ///< writes that failed
  std::int64_t differences = 0;                ///< writes that need another state to be read
};

/// States are where the machine has them. A device's are copied, beside its work, into a state of the thread's, and
/// what follows is the same; or they become words there, where a codec begins so, and these are copied; or they go with
/// their padding right into slots that lie in the host's memory, uncoded and unchecked.
///
/// A slot is free, then filling (a write is queued), ready, draining (read ahead), and free again. save() and load()
/// move references to buffers; packing, checking, coding and transfers happen on the transfer threads. All memory is
/// made by the constructor: some MiB of scratch per thread, with a codec two states; of a device, a padded state and
/// the words too. One caller's thread.
///
/// With a codec that takes references, a state is stored as the difference to the one saved just before, if that is
/// stored whole and not released. It keeps that one's pages when it outlives it, and is damaged when that one is.
class SlotTier {
  enum class State { free, filling, ready, draining, damaged };
  struct Place {
    State state = State::free;
    int write = -1;  ///< job that has not been reaped
    SlotLabel label;
    // With references; those that the label names are needed.
    std::int64_t reference = -1, dependent = -1;  ///< slots, as long as both are there
    std::int64_t pinned = PageArena::none;        ///< pages of a reference that was released: this slot's now
    bool has_lost_reference = false;
    bool is_pin = false;  ///< the reference was released
  };

 public:
  /// Host memory that is kept about each slot, its pages' table left out.
  static constexpr std::int64_t table_bytes = sizeof(Place);
  /// What places_outside() says of a slot, and of each of its pages.
  static constexpr std::int64_t place_bytes = 16, page_place_bytes = 8;

  /// @param codec may be null: states as they are. @param shape of the states of this rank. @param words of a device
  /// that makes the codec's words (has_device_words()): words_program(), loaded there.
  SlotTier(TierSettings settings, const StateShape& shape, std::unique_ptr<Medium> medium,
           std::shared_ptr<const Codec> codec, std::shared_ptr<TransferThreads> threads,
           Machine& machine = Machine::host(), std::shared_ptr<device::Program> words = nullptr);
  ~SlotTier();
  SlotTier(const SlotTier&) = delete;
  SlotTier& operator=(const SlotTier&) = delete;

  const TierSettings& settings() const { return settings_; }
  const Medium& medium() const { return *medium_; }
  const Codec* codec() const { return codec_.get(); }
  /// Of a state's cells, without codec.
  std::int64_t state_bytes() const { return shape_.bytes(); }
  /// Host memory of a tier's threads. @param is_direct a device's states go right into
  /// slots in memory.
  static std::int64_t scratch_bytes(const StateShape& shape, const Codec* codec, int threads, const Machine& machine,
                                    bool is_direct);
  /// Whether a device makes the words that states become; these come over the link in place of states.
  static bool has_device_words(const StateShape& shape, const Codec* codec, const Machine& machine) {
    return codec != nullptr && !machine.is_host() && codec->words(shape).has_value() && DeviceWords::can_take(shape);
  }
  /// A device's memory of a tier's threads.
  static std::int64_t device_scratch_bytes(const StateShape& shape, const Codec* codec, int threads,
                                           const Machine& machine);
  /// Buffers of one state that a tier holds at most beside those of its callers.
  std::int64_t buffers() const { return std::max(1, settings_.queue) + settings_.prefetch; }

  /// Waits when the queue is full. The slot must be free.
  void save(std::int64_t slot, const Buffer& state, std::int64_t step);
  /// Begins to read into a buffer of the pool. @returns false when it cannot be done now; then ask again later.
  bool prefetch(std::int64_t slot, Pool& pool);
  /// @returns an empty buffer when the slot is damaged or was lost.
  Buffer load(std::int64_t slot, Pool& pool);
  void release(std::int64_t slot);
  /// Waits until all writes are done.
  void finish();
  /// Waits until all writes are done and have reached the device. What cannot be flushed is not in places_outside().
  void flush();
  /// Of each slot whose bytes outlive this process since the last flush(), differences to others left out: slot and
  /// checksum (in one number), bytes, and its pages.
  std::vector<std::int64_t> places_outside() const;
  /// Slots are again as places_outside() said in an earlier process. @returns per slot whether it is.
  std::vector<bool> adopt(const std::vector<std::int64_t>& places);
  /// Breaks off what is under way and forgets everything.
  void clear();

  /// A write found no space; it stays so until clear(). Then this many slots fit.
  bool is_full() const { return trouble_.is_full; }
  std::int64_t slots_that_fit() const { return trouble_.slots_that_fit; }
  /// What the last failure said.
  const std::string& problem() const { return trouble_.text; }
  const TierTraffic& traffic() const { return traffic_; }
  /// Of the medium's pages that held states, at most since clear().
  std::int64_t peak_bytes() const { return arena_.peak() * medium_->page_bytes(); }
  /// The most bytes that a state took as stored, since the tier was made.
  std::int64_t largest_bytes() const { return largest_bytes_; }

 private:
  struct Transfer;
  class Write;
  class Read;
  /// Of a thread.
  struct Scratch {
    Memory cells, encoded;
    Memory state;  ///< a device's, padding included
    std::unique_ptr<Link> link;
    std::unique_ptr<Coder> coder;
    std::unique_ptr<DeviceWords> words;
  };
  /// Slots that hold references.
  struct Wholes {
    std::int64_t last = -1;  ///< slot
    std::int64_t pins = 0;   ///< that were released and are still needed
  };
  struct Trouble {
    bool is_full = false;
    std::int64_t slots_that_fit = 0;
    std::string text;  ///< of the last failure
  };
  static constexpr std::int64_t piece_bytes = std::int64_t{2} << 20U;  // of a state that go at once

  std::int64_t pages_of(std::int64_t bytes) const {
    return (bytes + medium_->page_bytes() - 1) / medium_->page_bytes();
  }
  bool is_outside(const Place& p) const;
  Place& place(std::int64_t slot) { return places_[static_cast<std::size_t>(slot)]; }
  void store(Write& job, Scratch& scratch);
  void store_there(Write& job, Scratch& scratch);
  void fetch(Read& job, Scratch& scratch);
  void fetch_here(Read& job, StateBlocks state, Scratch& scratch);
  void allocate(Write& job);
  bool encode_words(Write& job, Scratch& scratch);
  bool decode_words(Read& job, const char* encoded, Scratch& scratch);
  void encode(Write& job, StateBlocks state, Scratch& scratch);
  void copy(Link& link, StateBlocks to, StateBlocks from) const;
  const char* read_encoded(const StoredBytes& stored, Scratch& scratch);
  void decode(const StoredBytes& stored, const char* encoded, bool has_reference, Scratch& scratch);
  void transfer(bool is_write, const StoredBytes& stored, std::int64_t position, char* bytes, std::int64_t count);
  template <class Work>
  void for_pieces(Work work) const;
  void reap(Write& job);
  void reap_done();
  Write& free_write();
  Read* read_of(std::int64_t slot);
  Read* free_read();
  Read* begin_read(std::int64_t slot, Pool& pool, bool is_urgent);
  bool takes_reference(std::int64_t slot);
  bool waits_for_reference(const Place& p);
  void settle_reference(Place& p);
  void release_references(std::int64_t slot);
  void lose_dependent(Place& p);
  void lose_reference(Place& p);
  void free_pages(Place& p, bool is_damaged);

  TierSettings settings_;
  StateShape shape_;
  std::unique_ptr<Medium> medium_;
  std::shared_ptr<const Codec> codec_;
  std::shared_ptr<TransferThreads> threads_;
  Machine& machine_;
  std::shared_ptr<device::Program> words_;
  bool is_direct_;  // between a device and slots in the host's memory
  PageArena arena_;
  CountedVector<Place> places_;
  std::vector<Scratch> scratch_;       // per thread
  std::unique_ptr<WholeState> whole_;  // with a codec that takes references
  Wholes wholes_;
  std::vector<std::unique_ptr<Write>> writes_;
  std::vector<std::unique_ptr<Read>> reads_;
  std::int64_t sequence_ = 0;
  bool is_flushed_ = false;
  std::int64_t largest_bytes_ = 0;
  Trouble trouble_;
  TierTraffic traffic_;
};

}  // namespace hindsight
