// How a WrAP log is made and used.
#ifndef KAMINO_LAB_WRAP_WRAP_OPTIONS_H_
#define KAMINO_LAB_WRAP_WRAP_OPTIONS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace kamino::engine {

struct WrapOptions {
  // When the heap is made; later what is there counts.
  //
  // 0: as much as Heap::Create has. Else a multiple of 4,096, at most half of
  // the region, which may have as little as Heap::kMinTinyBytes then.
  size_t log_bytes = 0;
  uint64_t bucket_bytes = 4096;  // a multiple of 64, at least 512

  // How long a transaction waits for others to end when the log is full. Not
  // negative.
  absl::Duration log_wait = absl::Milliseconds(100);
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_WRAP_WRAP_OPTIONS_H_
