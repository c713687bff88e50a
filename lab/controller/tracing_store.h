// A store that forwards to the one below and keeps a trace: each transaction's
// stores are one wrap, whatever scheme is below.
//
// The trace has the calls of this store. An address is an object's place plus
// an offset; a Write counts as a store to all of its range, at the time of the
// call; a Read as a load of its first bytes, unless the reader reports its
// loads (NoteLoad). Allocating and freeing store the header before the payload.
// Stores that a scheme makes for itself are not in the trace: the model decides
// how stores are made atomic.
#ifndef KAMINO_LAB_CONTROLLER_TRACING_STORE_H_
#define KAMINO_LAB_CONTROLLER_TRACING_STORE_H_

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "engine/forwarding_store.h"
#include "lab/controller/trace.h"

namespace kamino::bench::controller {

struct TracingOptions {
  // Reading an object records a load of at most this many bytes; 0: none.
  uint32_t read_bytes = 64;
};

// Thread-safe. Threads are told apart by which thread begins a transaction.
class TracingStore final : public engine::ForwardingStore {
 public:
  // `below` must outlive this.
  explicit TracingStore(engine::TransactionalStore* below,
                        const TracingOptions& options = {})
      : below_(*below), options_(options) {}

  std::unique_ptr<engine::Transaction> Begin(absl::Duration wait) override;

  // The transaction that the calling thread began last, which is live, looks at
  // these bytes of an object.
  void NoteLoad(engine::ObjectId id, uint32_t offset, uint32_t length);

  // The transactions that committed since the last call, one thread of the
  // trace for each thread that did anything, in the order of their first
  // transactions. Transactions that did not commit leave nothing.
  Trace TakeTrace();

 private:
  class TracingTransaction;

  struct Thread {
    std::vector<Event> events;
    TracingTransaction* last = nullptr;  // begun, and live
  };

  engine::TransactionalStore& below() const override { return below_; }

  Thread& ThisThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Keep(Thread* thread, const std::vector<Event>& events, bool stores);

  engine::TransactionalStore& below_;
  const TracingOptions options_;

  absl::Mutex mutex_;
  absl::flat_hash_map<std::thread::id, Thread*> by_id_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Thread>> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_TRACING_STORE_H_
