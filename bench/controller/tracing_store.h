// A store that does what the one below does, and keeps a trace of it: what its
// transactions store is a wrap each, whatever scheme is below.
//
// What can be seen from here is what was asked for. An address is an object's
// place plus an offset; a Write counts as a store to all of its range, when it
// is asked for; a Read as a load of its first bytes, unless who reads tells
// what it looks at (NoteLoad). Allocating and freeing store the header before
// the payload. What a scheme stores for itself is not in the trace: how stores
// are made atomic is for the model to say.
#ifndef KAMINO_BENCH_CONTROLLER_TRACING_STORE_H_
#define KAMINO_BENCH_CONTROLLER_TRACING_STORE_H_

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "bench/controller/trace.h"
#include "engine/forwarding_store.h"

namespace kamino::bench::controller {

struct TracingOptions {
  // Of an object that is read: a load of no more than so many bytes; 0: none.
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

  // What has committed since the last call, a thread to each that did anything,
  // in the order of their first. Transactions that did not commit have left
  // nothing.
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

#endif  // KAMINO_BENCH_CONTROLLER_TRACING_STORE_H_
