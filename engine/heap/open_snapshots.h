// Snapshots of a heap's objects at earlier moments, while it is in use.
//
// A snapshot is opened at a sequence number, between two transactions. Before
// an object is first changed afterwards, its current state is kept: its
// before-image. A read through the snapshot returns that or, if the object has
// not changed, the heap itself. Records, pages of an index and everything else
// on a heap are objects, and an id that did not exist then does not exist in
// the snapshot; so a structure read through it is as it was, whatever changes
// meanwhile.
//
// Several may be open. Images are kept by generations, one for each opened
// sequence number: an image in generation g is the object's state at g, since
// the generation before. So a change is looked up once, in the newest one, and
// kept once, however many snapshots need it. A snapshot looks in its own
// generation, then in the later ones, then at the heap.
//
// Invariants:
//   1. An object is changed only after BeforeChange was called for it.
//   2. Images take at most max_bytes, exceeded by one image for a moment. An
//      image that would take more ends the oldest snapshot: kAborted, from then
//      on.
//   3. A generation is kept as long as a snapshot of it, or of one before it,
//      is open.
//
// docs/design/open_snapshots.md. Not thread-safe: the heap's owner owns this.
#ifndef KAMINO_ENGINE_HEAP_OPEN_SNAPSHOTS_H_
#define KAMINO_ENGINE_HEAP_OPEN_SNAPSHOTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "engine/transaction.h"

namespace kamino::engine {

class Snapshot;

struct OpenSnapshotsOptions {
  uint64_t max_bytes = 256u << 20;  // of before-images
  size_t max_open = 16;             // sequence numbers
};

struct OpenSnapshotsStats {
  size_t open = 0;       // snapshots
  uint64_t bytes = 0;    // of current before-images
  uint64_t images = 0;   // kept now
  uint64_t opened = 0;   // snapshots, so far
  uint64_t aborted = 0;  // ended early, so far
};

class OpenSnapshots {
 public:
  // The heap must outlive this.
  explicit OpenSnapshots(const Heap* heap, OpenSnapshotsOptions options = {})
      : heap_(heap), options_(options) {}
  ~OpenSnapshots();
  OpenSnapshots(const OpenSnapshots&) = delete;
  OpenSnapshots& operator=(const OpenSnapshots&) = delete;

  // A snapshot of the current heap, after transaction `sequence`; no
  // transaction may be live. Sequences do not go back. kResourceExhausted: too
  // many are open.
  absl::StatusOr<std::unique_ptr<Snapshot>> Open(uint64_t sequence);

  // The object is about to be stored to, allocated or freed, by the intent's
  // kind. May be called more than once, and for changes that are then rolled
  // back.
  void BeforeChange(const Intent& intent) {
    if (!generations_.empty()) Keep(intent);
  }

  // The heap changes as a whole, or its changes are unknown: ends all snapshots
  // with kAborted.
  void EndAll(absl::string_view why);

  OpenSnapshotsStats stats() const;

 private:
  friend class Snapshot;
  // The image of an object; no bytes if there was none.
  using Image = absl::Span<const std::byte>;

  // Allocates in pieces that are freed together: freeing images one by one
  // would take long.
  class Arena {
   public:
    std::byte* Take(size_t length);
    void TakeOver(Arena* other);
    uint64_t bytes() const { return bytes_; }

   private:
    std::vector<std::unique_ptr<std::byte[]>> pieces_;
    std::byte* next_ = nullptr;
    size_t left_ = 0;  // of the piece that next_ points into
    uint64_t bytes_ = 0;
  };

  struct Generation {
    OpenSnapshots* owner = nullptr;  // null: it has ended
    uint64_t sequence = 0;
    size_t open = 0;  // snapshots
    absl::Status ended;
    absl::flat_hash_map<ObjectId, Image> images;
    Arena arena;

    uint64_t bytes() const;
  };
  using Generations = std::deque<std::shared_ptr<Generation>>;

  void Keep(const Intent& intent);
  absl::StatusOr<absl::Span<const std::byte>> Read(const Generation& generation,
                                                   ObjectId id) const;
  // A snapshot of it is closed.
  void Close(Generation* generation);
  // Moves its images to the generation before it, which must exist.
  void MergeIntoPrevious(Generations::iterator generation);
  void EndOldest(const absl::Status& why);
  void DropUnused();

  const Heap* const heap_;
  const OpenSnapshotsOptions options_;
  Generations generations_;  // the newest last; the first one is in use
  uint64_t opened_ = 0;
  uint64_t aborted_ = 0;
};

// Reads the heap as it was. Bytes stay valid until the heap's next change, or
// until the snapshot's destruction, which closes it.
class Snapshot final : public Reader {
 public:
  ~Snapshot() override;
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  uint64_t sequence() const { return generation_->sequence; }
  // kAborted: it has ended; says why. Read returns that too.
  const absl::Status& status() const { return generation_->ended; }

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override;
  void Prefetch(ObjectId id) const override;

 private:
  friend class OpenSnapshots;
  explicit Snapshot(std::shared_ptr<OpenSnapshots::Generation> generation)
      : generation_(std::move(generation)) {}

  const std::shared_ptr<OpenSnapshots::Generation> generation_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_HEAP_OPEN_SNAPSHOTS_H_
