// Preloaded in front of libpmem: see pmem_shim.h.
//
// libpmem's functions call each other, so this asks them for less than they can
// do, and puts the whole together itself: then nothing counts twice.
#include "bench/pmem_shim/pmem_shim.h"

#include <dlfcn.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace kamino::bench {
namespace {

constexpr uintptr_t kLine = 64;
constexpr int kLooks = 1000;
// libpmem.h's, whose declarations would be in the way of ours.
constexpr unsigned kNoDrain = 1u << 0;
constexpr unsigned kNoFlush = 1u << 5;

std::atomic<bool> counts{false};
std::atomic<bool> drops{false};
std::atomic<uint64_t> drain_ns{0};
std::atomic<uint64_t> line_ns{0};
std::atomic<uint64_t> lines_counted{0};
std::atomic<uint64_t> drains_counted{0};

template <typename Function>
Function* Real(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "libpmem_shim: libpmem has no %s\n", name);
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

int64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The shortest of many: the others were interrupted.
int64_t TimeOfLook() {
  int64_t shortest = INT64_MAX;
  int64_t before = Now();
  for (int i = 0; i < kLooks; ++i) {
    const int64_t now = Now();
    if (now - before < shortest) shortest = now - before;
    before = now;
  }
  return shortest;
}

// As engine::BusyWait, which is not here: nothing of the engine is.
void Wait(uint64_t nanos) {
  if (nanos == 0) return;
  static const int64_t look = TimeOfLook();
  const int64_t end = Now() + static_cast<int64_t>(nanos) - look;
  while (Now() < end) {
  }
}

void AddLines(const void* data, size_t length) {
  if (length == 0) return;
  const uint64_t wait = line_ns.load(std::memory_order_relaxed);
  const bool count = counts.load(std::memory_order_relaxed);
  if (!count && wait == 0) return;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uint64_t lines = (begin + length - 1) / kLine - begin / kLine + 1;
  if (count) lines_counted.fetch_add(lines, std::memory_order_relaxed);
  Wait(wait * lines);
}

void AddDrain() {
  if (counts.load(std::memory_order_relaxed)) {
    drains_counted.fetch_add(1, std::memory_order_relaxed);
  }
  Wait(drain_ns.load(std::memory_order_relaxed));
}

void Flush(const void* data, size_t length) {
  static auto* const real = Real<void(const void*, size_t)>("pmem_flush");
  if (drops.load(std::memory_order_relaxed)) return;
  real(data, length);
  AddLines(data, length);
}

void Drain() {
  static auto* const real = Real<void()>("pmem_drain");
  if (drops.load(std::memory_order_relaxed)) return;
  real();
  AddDrain();
}

// Flushes and drains after a copy, as `flags` allow.
void AfterCopy(void* to, size_t length, unsigned flags) {
  if ((flags & kNoFlush) != 0) return;
  AddLines(to, length);
  if ((flags & kNoDrain) == 0) Drain();
}

}  // namespace
}  // namespace kamino::bench

using kamino::bench::Real;

extern "C" {

void kamino_pmem_shim_order(const kamino::bench::PmemShimOrders* orders) {
  using namespace kamino::bench;
  counts = orders->counts != 0;
  drain_ns = orders->drain_ns;
  line_ns = orders->line_ns;
  drops = orders->drops != 0;
}

void kamino_pmem_shim_count(kamino::bench::PmemShimCounts* counts) {
  counts->lines = kamino::bench::lines_counted;
  counts->drains = kamino::bench::drains_counted;
}

void pmem_flush(const void* data, size_t length) {
  kamino::bench::Flush(data, length);
}

void pmem_deep_flush(const void* data, size_t length) {
  kamino::bench::Flush(data, length);
}

void pmem_drain() { kamino::bench::Drain(); }

void pmem_persist(const void* data, size_t length) {
  kamino::bench::Flush(data, length);
  kamino::bench::Drain();
}

int pmem_msync(const void* data, size_t length) {
  static auto* const real = Real<int(const void*, size_t)>("pmem_msync");
  if (kamino::bench::drops) return 0;
  const int done = real(data, length);
  kamino::bench::AddLines(data, length);
  kamino::bench::AddDrain();
  return done;
}

void* pmem_memcpy(void* to, const void* from, size_t length, unsigned flags) {
  static auto* const real =
      Real<void*(void*, const void*, size_t, unsigned)>("pmem_memcpy");
  if (kamino::bench::drops) return std::memmove(to, from, length);
  real(to, from, length, flags | kamino::bench::kNoDrain);
  kamino::bench::AfterCopy(to, length, flags);
  return to;
}

void* pmem_memmove(void* to, const void* from, size_t length, unsigned flags) {
  static auto* const real =
      Real<void*(void*, const void*, size_t, unsigned)>("pmem_memmove");
  if (kamino::bench::drops) return std::memmove(to, from, length);
  real(to, from, length, flags | kamino::bench::kNoDrain);
  kamino::bench::AfterCopy(to, length, flags);
  return to;
}

void* pmem_memset(void* to, int byte, size_t length, unsigned flags) {
  static auto* const real =
      Real<void*(void*, int, size_t, unsigned)>("pmem_memset");
  if (kamino::bench::drops) return std::memset(to, byte, length);
  real(to, byte, length, flags | kamino::bench::kNoDrain);
  kamino::bench::AfterCopy(to, length, flags);
  return to;
}

}  // extern "C"
