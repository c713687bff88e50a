#include "bench/engine/measure.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "base/status_macros.h"
#include "bench/harness/clock.h"
#include "engine/pmem/background_work.h"

namespace kamino::bench {
namespace {

// Not in step with anything that workloads do by twos.
constexpr uint64_t kTimeOneIn = 7;

// Those this process may run on, asked for once: threads inherit their maker's.
const std::vector<int>& Processors() {
  static const std::vector<int> processors = [] {
    std::vector<int> found;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
      for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(i, &set)) found.push_back(i);
      }
    }
    return found;
  }();
  return processors;
}

// Processors are taken from the last one down: interrupts and threads that are
// not pinned tend to run on the first.
void Pin(std::thread& thread, int number) {
  const std::vector<int>& processors = Processors();
  if (processors.empty()) return;
  const size_t from_last = static_cast<size_t>(number) % processors.size();
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processors[processors.size() - 1 - from_last], &set);
  // Where it is not allowed the thread runs anywhere.
  pthread_setaffinity_np(thread.native_handle(), sizeof(set), &set);
}

struct Part {
  std::unique_ptr<Worker> worker;
  uint64_t transactions = 0;
  std::vector<Histogram> ticks;
  absl::Status status;
};

struct Start {
  std::atomic<int> ready{0};
  std::atomic<uint64_t> deadline{0};  // in ticks; 0: wait
};

void RunPart(Part& part, Start& start, uint64_t most) {
  Worker& worker = *part.worker;
  start.ready.fetch_add(1);
  uint64_t deadline;
  while ((deadline = start.deadline.load(std::memory_order_acquire)) == 0) {
    std::this_thread::yield();
  }
  uint64_t done = 0;
  while (done < most) {
    const int kind = worker.Draw();
    if (done++ % kTimeOneIn != 0) {
      part.status = worker.Run();
      if (!part.status.ok()) break;
      continue;
    }
    const uint64_t begin = Ticks();
    part.status = worker.Run();
    const uint64_t end = Ticks();
    if (!part.status.ok()) break;
    part.ticks[kind].Add(end - begin);
    if (end >= deadline) break;
  }
  part.transactions = done;
}

}  // namespace

absl::StatusOr<Slice> RunSlice(absl::FunctionRef<void()> quiesce,
                               Dataset& dataset, const Cell& cell, size_t kinds,
                               uint64_t seed, const SliceLimits& limits) {
  std::vector<Part> parts(cell.threads);
  std::vector<std::thread> threads;
  Start start;
  for (int i = 0; i < cell.threads; ++i) {
    parts[i].worker =
        dataset.MakeWorker(cell, i, FnvHash(seed * cell.threads + i));
    parts[i].ticks.resize(kinds);
  }
  for (int i = 0; i < cell.threads; ++i) {
    threads.emplace_back([&part = parts[i], &start, &limits] {
      RunPart(part, start, limits.transactions);
    });
    Pin(threads.back(), i);
  }
  while (start.ready.load() < cell.threads) std::this_thread::yield();
  const double ticks =
      absl::ToDoubleNanoseconds(limits.duration) / NanosPerTick();
  const uint64_t begin = Ticks();
  start.deadline.store(begin + static_cast<uint64_t>(ticks),
                       std::memory_order_release);
  for (std::thread& thread : threads) thread.join();
  {
    // Where it is counted: what transactions have left is beside them, whether
    // a thread has come to it by now or not.
    const engine::BackgroundWork beside;
    quiesce();
  }
  const uint64_t end = Ticks();

  Slice slice;
  slice.seconds = static_cast<double>(end - begin) * NanosPerTick() * 1e-9;
  slice.ticks.resize(kinds);
  for (Part& part : parts) {
    if (!part.status.ok()) return part.status;
    slice.transactions += part.transactions;
    slice.retries += part.worker->retries();
    for (size_t i = 0; i < kinds; ++i) slice.ticks[i].Merge(part.ticks[i]);
    part.worker.reset();
  }
  RETURN_IF_ERROR(dataset.Restore());
  return slice;
}

absl::StatusOr<Slice> RunSlice(engine::TransactionalStore& store,
                               Dataset& dataset, const Cell& cell, size_t kinds,
                               uint64_t seed, const SliceLimits& limits) {
  return RunSlice([&store] { store.Quiesce(); }, dataset, cell, kinds, seed,
                  limits);
}

}  // namespace kamino::bench
