// Workloads: suites of cells over data that a store was filled with.
#ifndef KAMINO_BENCH_ENGINE_WORKLOAD_H_
#define KAMINO_BENCH_ENGINE_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "bench/engine/distribution.h"
#include "engine/transactional_store.h"

namespace kamino::bench {

// The amount of data and work: a full run, a quick run, or the counting pass.
enum class Scale { kFull, kQuick, kCount };

// One thing to measure. The names go into the report as they are.
struct Cell {
  std::string workload;
  std::string distribution;
  int threads = 1;
  uint32_t value_size = 0;  // bytes of the object or record worked on
  int what = 0;             // the suite's own meaning
  int how = 0;              // the same, of the distribution
  // Aborts have to roll back stores: no cell for "unsafe".
  bool rolls_back = false;
  // How much longer each drain takes, as far as stores can be slowed.
  uint64_t drain_ns = 0;

  // "workload/distribution/threads/value_size", whatever drains take.
  std::string Name() const;
};

// One thread's part in a cell. Used by that thread only.
class Worker {
 public:
  virtual ~Worker() = default;

  // Decides on the next transaction, outside of its latency. Returns the kind
  // of it, an index into Suite::kinds().
  virtual int Draw() = 0;

  // Runs it to its end, however often it has to be begun. An error ends the
  // bench.
  virtual absl::Status Run() = 0;

  // How often a transaction of this worker was begun again.
  uint64_t retries() const { return retries_; }

 protected:
  uint64_t retries_ = 0;
};

// The data in one store. Cells run one after the other; each leaves the data as
// it was, but for contents.
class Dataset {
 public:
  virtual ~Dataset() = default;

  // Fills the empty store.
  virtual absl::Status Load() = 0;

  // `seed` is the same for all stores, and differs by cell, thread and round.
  virtual std::unique_ptr<Worker> MakeWorker(const Cell& cell, int thread,
                                             uint64_t seed) = 0;

  // After a slice, with no worker left, not timed: undoes growth.
  virtual absl::Status Restore() { return absl::OkStatus(); }
};

class Suite {
 public:
  virtual ~Suite() = default;

  virtual std::string name() const = 0;
  virtual std::vector<Cell> Cells() const = 0;
  // Kinds of transactions whose latencies are told apart.
  virtual std::vector<std::string> kinds() const { return {"all"}; }
  // Bytes of objects in a store that this suite uses for one run.
  virtual uint64_t Bytes() const = 0;
  // At most so many transactions per thread in a slice; for data that grows.
  virtual uint64_t MaxTransactions() const { return ~uint64_t{0}; }
  // How many make a cell's averages of flushes.
  virtual uint64_t CountedTransactions() const { return 2000; }
  virtual std::unique_ptr<Dataset> MakeDataset(
      engine::TransactionalStore* store) const = 0;

  // A lower bound for the cells on this machine: only the stores, flushes and
  // the one fence that every scheme with in-place updates and an undo copy
  // needs. Its files begin with `path`. Null: the suite has none.
  virtual absl::StatusOr<std::unique_ptr<Dataset>> MakeFloor(
      const std::string& /*path*/) const {
    return std::unique_ptr<Dataset>();
  }
  virtual bool HasFloor(const Cell&) const { return false; }
};

// An error whose message begins with `what`.
absl::Status Annotate(const absl::Status& status, absl::string_view what);

// Runs `body(transaction)` in a transaction of its own until it commits: again
// when it met another's lock, or had to wait for a log slot or a copy that is
// in use. `body` returns a Status; an error but those ends it. Each retry
// counts in `*retries`.
template <typename Body>
absl::Status Transact(engine::TransactionalStore& store, uint64_t* retries,
                      Body body);

// Whether such an error goes away by itself, after so many attempts; then
// waits a little, a random time that grows with the attempts. Two that waited
// for each other would else give up and begin again at the same time, for ever.
bool WorthRetrying(const absl::Status& status, uint64_t attempt);

// Long against a commit and the copying that follows it, short against a slice:
// two transactions that wait for each other cost each other that much.
inline constexpr absl::Duration kLockWait = absl::Microseconds(200);

template <typename Body>
absl::Status Transact(engine::TransactionalStore& store, uint64_t* retries,
                      Body body) {
  for (uint64_t attempt = 1;; ++attempt) {
    const auto transaction = store.Begin(kLockWait);
    absl::Status done = body(*transaction);
    if (done.ok()) {
      done = transaction->Commit();
    } else if (absl::Status undone = transaction->Abort(); !undone.ok()) {
      return undone;
    }
    if (done.ok() || !WorthRetrying(done, attempt)) return done;
    ++*retries;
  }
}

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_WORKLOAD_H_
