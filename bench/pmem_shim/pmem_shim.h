// Interface of the preloaded library bench/pmem_shim/libpmem_shim.so. It stands
// between libpmemobj and libpmem, which no Region of ours does.
//
// A program looks its functions up (dlsym) and works without them where it was
// not preloaded. Counts and settings are those of the whole process.
#ifndef KAMINO_BENCH_PMEM_SHIM_PMEM_SHIM_H_
#define KAMINO_BENCH_PMEM_SHIM_PMEM_SHIM_H_

#include <cstdint>

namespace kamino::bench {

// Nothing of it at first; calls then pass through.
struct PmemShimOrders {
  uint64_t counts = 0;    // 0: nothing is counted
  uint64_t drain_ns = 0;  // longer each drain takes
  uint64_t line_ns = 0;   // and each cache line that is written back
  uint64_t drops = 0;     // else: nothing is written back or waited for
};

// Since the process began, as engine::PmemCounts counts: a line flushed twice
// counts twice.
struct PmemShimCounts {
  uint64_t lines = 0;
  uint64_t drains = 0;
};

// Names and types of the library's two functions. Thread-safe, but for orders
// given while others are in calls, which these may see late.
inline constexpr char kPmemShimOrder[] = "kamino_pmem_shim_order";
inline constexpr char kPmemShimCount[] = "kamino_pmem_shim_count";
using PmemShimOrder = void (*)(const PmemShimOrders*);
using PmemShimCount = void (*)(PmemShimCounts*);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_PMEM_SHIM_PMEM_SHIM_H_
