// The crash harness's view of an atomicity scheme.
#ifndef KAMINO_TESTS_ENGINE_CRASH_RIG_H_
#define KAMINO_TESTS_ENGINE_CRASH_RIG_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/pmem/region.h"
#include "engine/transactional_store.h"

namespace kamino::engine::crash {

// An open store, and its owner's work on it beside transactions.
class Rig {
 public:
  virtual ~Rig() = default;

  virtual TransactionalStore& store() = 0;

  // Does some of the work left by transactions that have ended; others may be
  // live.
  virtual void Sync(size_t /*transactions*/) {}

  // Where objects are read if not in their place; null: in their place.
  virtual const Region* view() const { return nullptr; }

  // Whether it supports CommitOptions::hold_locks; then ReleaseHold works, too.
  virtual bool can_hold() const { return false; }
  virtual void ReleaseHold(uint64_t /*sequence*/) {}

  // The largest committed sequence that it found; nullopt: unknown.
  virtual std::optional<uint64_t> last_sequence() const { return std::nullopt; }

  // Whether changes that cancel out in sums, as when two lines are swapped, are
  // a danger to it: then the workload makes many.
  virtual bool cancels() const { return false; }

  // Allocated objects, without the scheme's own. With no transaction live and
  // nothing left to sync.
  virtual uint64_t live_objects() const = 0;
};

struct Area {
  std::string name;
  size_t bytes = 0;
};

// Objects whose lines a scheme leaves to the cache, with sums that can replace
// some of them. A line can be repaired where it is the only wrong one of its
// column of lines, or of its row.
struct CodedObjects {
  struct Column {
    ObjectId id = kNullObject;
    size_t bytes = 0;  // of the payload, which begins with a line
  };
  std::vector<Column> columns;
};

struct Scheme {
  std::string name;
  std::vector<Area> areas;
  // Commits become durable later than they return, in the order of the store's
  // numbers (CommitOptions::durable_at), and recovery reports the last one's.
  bool lags = false;
  // Those in an image of the first area, found by other code than the scheme's;
  // empty: it never has any.
  std::function<std::vector<CodedObjects>(const std::byte* image)> coded;
  // Other threads may run within its calls, not only between them. Not where a
  // scheme releases locks while it still has lines to flush: the harness takes
  // a commit as done when its call returns.
  bool switches_within_calls = false;
  // Rig::Sync never has work, and calls take many turns: no thread is used for
  // it, which would use up the steps of a life.
  bool nothing_to_sync = false;
  // Transactions are one at a time.
  bool one_at_a_time = false;
  // From one commit's sequence to the next one's.
  uint64_t sequence_step = 1;

  // The store on one region for each area; new, or recovered. The regions
  // outlive the rig.
  std::function<absl::StatusOr<std::unique_ptr<Rig>>(
      const std::vector<Region*>& regions, bool make)>
      open;
};

// Adds schemes when the program starts, in a library with alwayslink.
class LinkedRigs {
 public:
  // `first`: before all others.
  explicit LinkedRigs(const std::vector<Scheme>& schemes, bool first = false);
};

// Every crash-safe scheme that the program has linked; small heaps, small undo
// copies. Not before main().
const std::vector<Scheme>& Schemes();

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_RIG_H_
