// Hints that load a cache line.
//
// gcc removes calls of functions that only do __builtin_prefetch: it takes them
// for functions without effect. It keeps these.
#ifndef KAMINO_ENGINE_PREFETCH_H_
#define KAMINO_ENGINE_PREFETCH_H_

#include <cstdint>

namespace kamino::engine {

// The line at `address`, which may be any number.
inline void PrefetchToRead(uintptr_t address) {
  asm volatile("prefetcht0 %a0" ::"p"(address));
}
inline void PrefetchToRead(const void* address) {
  PrefetchToRead(reinterpret_cast<uintptr_t>(address));
}
inline void PrefetchToWrite(const void* address) {
  asm volatile("prefetchw %a0" ::"p"(address));
}

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PREFETCH_H_
