#include "bench/schemes/open_loop.h"

#include <atomic>
#include <cmath>
#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/status_macros.h"
#include "bench/engine/distribution.h"
#include "bench/harness/clock.h"
#include "bench/schemes/part.h"

namespace kamino::bench::schemes {
namespace {

uint64_t Nanos(uint64_t from, uint64_t to) {
  return from >= to ? 1
                    : static_cast<uint64_t>(static_cast<double>(to - from) *
                                            NanosPerTick()) +
                          1;
}

// Waits for those that have committed until they are durable: always for the
// last that there is, as whoever answers many clients does. One after the other
// would be waited for much longer where a store leaves a commit some time until
// it makes it durable because somebody waits.
class Waiter {
 public:
  Waiter(engine::TransactionalStore* store, absl::Duration patience)
      : store_(*store), patience_(patience), thread_([this] { Run(); }) {}

  void Add(uint64_t begin, uint64_t durable_at) {
    committed_.fetch_add(1, std::memory_order_relaxed);
    absl::MutexLock lock(&mutex_);
    waiting_.push_back({begin, durable_at, committed_.load()});
  }

  // Waits for all, and adds what it has seen.
  void Finish(Responses* responses) {
    {
      absl::MutexLock lock(&mutex_);
      ended_ = true;
    }
    thread_.join();
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
    for (;;) {
      std::deque<One> some;
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(
            +[](Waiter* waiter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(waiter->mutex_) {
              return waiter->ended_ || !waiter->waiting_.empty();
            },
            this));
        if (waiting_.empty()) return;
        some.swap(waiting_);
      }
      const bool all = store_.AwaitDurable(some.back().durable_at, patience_);
      // What commits after it will not be either.
      if (!all) patience_ = absl::ZeroDuration();
      const uint64_t now = Ticks();
      const uint64_t committed = committed_.load(std::memory_order_relaxed);
      for (const One& one : some) {
        if (!all && !store_.AwaitDurable(one.durable_at, patience_)) {
          ++never_;
          continue;
        }
        durable_.Add(Nanos(one.begin, now));
        lag_.Add(committed - one.committed + 1);
      }
    }
  }

  engine::TransactionalStore& store_;
  std::atomic<uint64_t> committed_{0};
  // The thread's own until it has ended.
  Histogram durable_, lag_;
  uint64_t never_ = 0;
  absl::Duration patience_;

  absl::Mutex mutex_;
  std::deque<One> waiting_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of them
};

}  // namespace

absl::StatusOr<Responses> RunArrivals(
    engine::TransactionalStore& store, const Arrivals& arrivals,
    absl::FunctionRef<absl::Status(engine::Transaction&)> body) {
  Responses responses;
  Random random(arrivals.seed);
  Waiter waiter(&store, arrivals.patience);
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
      waiter.Add(begin, durable_at);
    }
  }
  responses.seconds = NanosSince(start) * 1e-9;
  waiter.Finish(&responses);
  if (!failed.ok()) return failed;
  return responses;
}

}  // namespace kamino::bench::schemes
