// What the crash harness needs to know about an atomicity scheme.
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

// A store that is open, and what its owner does for it beside transactions.
class Rig {
 public:
  virtual ~Rig() = default;

  virtual TransactionalStore& store() = 0;

  // Does some of what is left to do for transactions that have ended; others
  // may be live.
  virtual void Sync(size_t /*transactions*/) {}

  // Where objects are read that are not read where they lie; null: they are.
  virtual const Region* view() const { return nullptr; }

  // Whether it heeds CommitOptions::hold_locks; then ReleaseHold works, too.
  virtual bool can_hold() const { return false; }
  virtual void ReleaseHold(uint64_t /*sequence*/) {}

  // The largest sequence it found committed; nothing: it does not know.
  virtual std::optional<uint64_t> last_sequence() const { return std::nullopt; }

  // Whether changes that cancel out in sums, as when two lines change places,
  // are a danger to it: then many are made.
  virtual bool cancels() const { return false; }

  // Allocated objects, those apart that the scheme has made for itself. With
  // no transaction live and nothing left to sync.
  virtual uint64_t live_objects() const = 0;
};

struct Area {
  std::string name;
  size_t bytes = 0;
};

// Objects of which a scheme leaves it to the cache whether their lines become
// durable, and has sums by which it can make up for some: columns of lines, and
// of which a line can be had back where it is the only wrong one of its column,
// or of its row.
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
  // Commits become durable later than they return, in the order of the numbers
  // that the store gives them (CommitOptions::durable_at), and recovery reports
  // the last one's.
  bool lags = false;
  // Those that an image of the first area has, found out by other code than the
  // scheme's; empty: it has none, ever.
  std::function<std::vector<CodedObjects>(const std::byte* image)> coded;
  // Other threads may go on within its calls, not only between them. Not where
  // locks fall while something is left to flush: the harness takes a commit
  // for done when its call returns.
  bool switches_within_calls = false;
  // Transactions are one at a time.
  bool one_at_a_time = false;
  // From one commit's sequence to the next one's.
  uint64_t sequence_step = 1;

  // The store on one region for each area; made new, else recovered. The
  // regions outlive the rig.
  std::function<absl::StatusOr<std::unique_ptr<Rig>>(
      const std::vector<Region*>& regions, bool make)>
      open;
};

// Every scheme that is crash-safe; small heaps, small backups.
const std::vector<Scheme>& Schemes();

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_RIG_H_
