#include "lab/schemes/open_loop.h"

#include <array>
#include <atomic>
#include <cmath>
#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/status_macros.h"
#include "bench/engine/distribution.h"
#include "bench/harness/clock.h"
#include "lab/schemes/part.h"

namespace kamino::bench::schemes {
namespace {

constexpr int kWaiters = 4;

uint64_t Nanos(uint64_t from, uint64_t to) {
  return from >= to ? 1
                    : static_cast<uint64_t>(static_cast<double>(to - from) *
                                            NanosPerTick()) +
                          1;
}

// Waits for committed transactions until they are durable, as their clients
// would: a client's wait does not delay that of another. A thread takes all
// transactions that have no waiting thread yet and waits for the last of them;
// with several threads, one is nearly always free to do so at once.
class Waiters {
 public:
  Waiters(engine::TransactionalStore* store, absl::Duration patience)
      : store_(*store), patience_(patience) {
    for (std::thread& thread : threads_) {
      thread = std::thread([this] { Run(); });
    }
  }

  void Add(uint64_t begin, uint64_t durable_at) {
    const uint64_t committed =
        committed_.fetch_add(1, std::memory_order_relaxed) + 1;
    absl::MutexLock lock(&mutex_);
    waiting_.push_back({begin, durable_at, committed});
  }

  // Waits for all, and adds what they have seen.
  void Finish(Responses* responses) {
    {
      absl::MutexLock lock(&mutex_);
      ended_ = true;
    }
    for (std::thread& thread : threads_) thread.join();
    absl::MutexLock lock(&mutex_);
    responses->durable.Merge(durable_);
    responses->lag.Merge(lag_);
    responses->never_durable += never_;
  }

 private:
  struct One {
    uint64_t begin;
    uint64_t durable_at;
    uint64_t committed;  // with it
  };

  void Run() {
    absl::Duration patience = patience_;
    for (;;) {
      std::deque<One> some;
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(
            +[](Waiters* all) ABSL_EXCLUSIVE_LOCKS_REQUIRED(all->mutex_) {
              return all->ended_ || !all->waiting_.empty();
            },
            this));
        if (waiting_.empty()) return;
        some.swap(waiting_);
      }
      const bool all = store_.AwaitDurable(some.back().durable_at, patience);
      // Later commits will not become durable either.
      if (!all) patience = absl::ZeroDuration();
      const uint64_t now = Ticks();
      const uint64_t committed = committed_.load(std::memory_order_relaxed);
      absl::MutexLock lock(&mutex_);
      for (const One& one : some) {
        if (!all && !store_.AwaitDurable(one.durable_at, patience)) {
          ++never_;
          continue;
        }
        durable_.Add(Nanos(one.begin, now));
        lag_.Add(committed - one.committed + 1);
      }
    }
  }

  engine::TransactionalStore& store_;
  const absl::Duration patience_;
  std::atomic<uint64_t> committed_{0};

  absl::Mutex mutex_;
  std::deque<One> waiting_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  Histogram durable_ ABSL_GUARDED_BY(mutex_);
  Histogram lag_ ABSL_GUARDED_BY(mutex_);
  uint64_t never_ ABSL_GUARDED_BY(mutex_) = 0;

  std::array<std::thread, kWaiters> threads_;  // last: they use all of it
};

}  // namespace

absl::StatusOr<Responses> RunArrivals(
    engine::TransactionalStore& store, const Arrivals& arrivals,
    absl::FunctionRef<absl::Status(engine::Transaction&)> body) {
  Responses responses;
  Random random(arrivals.seed);
  Waiters waiters(&store, arrivals.patience);
  const double ticks_between = 1e9 / arrivals.per_second / NanosPerTick();
  double arrival_ticks = 0;
  absl::Status failed;
  const uint64_t start = Ticks();
  for (uint64_t i = 0; i < arrivals.count && failed.ok(); ++i) {
    arrival_ticks += -std::log(1 - random.Fraction()) * ticks_between;
    const uint64_t arrival = start + static_cast<uint64_t>(arrival_ticks);
    while (Ticks() < arrival) {
    }
    uint64_t durable_at = 0;
    engine::CommitOptions options;
    options.durable_at = &durable_at;
    const uint64_t begin = Ticks();
    const auto transaction = store.Begin(kPatient);
    failed = body(*transaction);
    if (failed.ok()) failed = transaction->Commit(options);
    const uint64_t end = Ticks();
    responses.service.Add(Nanos(begin, end));
    responses.response.Add(Nanos(arrival, end));
    if (durable_at == 0) {
      responses.durable.Add(Nanos(begin, end));
    } else {
      waiters.Add(begin, durable_at);
    }
  }
  responses.seconds = NanosSince(start) * 1e-9;
  waiters.Finish(&responses);
  if (!failed.ok()) return failed;
  return responses;
}

}  // namespace kamino::bench::schemes
