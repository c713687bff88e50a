// Seeds of the checks of a baseline's log, so that a log that another heap left
// in the same place never counts.
#ifndef KAMINO_ENGINE_BASELINES_LOG_SEED_H_
#define KAMINO_ENGINE_BASELINES_LOG_SEED_H_

#include <cstdint>
#include <cstring>

#include "engine/heap/heap.h"

namespace kamino::engine {

// The uuid, folded. Part of the formats that use it: never change it.
inline uint64_t LogSeed(const HeapUuid& uuid) {
  uint64_t halves[2];
  static_assert(sizeof(halves) == sizeof(uuid));
  std::memcpy(halves, uuid.data(), sizeof(halves));
  return halves[0] ^ halves[1];
}

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_LOG_SEED_H_
