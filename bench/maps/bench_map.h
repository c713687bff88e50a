// A map from numbers to records of one size, as YCSB uses one: the engine's
// (bench/engine/engine_map.h), or a rival's by its best interface.
#ifndef KAMINO_BENCH_MAPS_BENCH_MAP_H_
#define KAMINO_BENCH_MAPS_BENCH_MAP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kamino::bench {

// One thread uses it. A key has at most 63 bits.
class BenchMap {
 public:
  virtual ~BenchMap() = default;

  // Adds the record. Need not be durable before Loaded.
  virtual absl::Status Insert(uint64_t key, absl::string_view record) = 0;
  // All records are there.
  virtual absl::Status Loaded() { return absl::OkStatus(); }

  // Copies the record to `out`, which has room for it.
  virtual absl::Status Read(uint64_t key, char* out) = 0;
  // Stores `bytes` at `offset` of the record: atomically, and durably on return
  // as far as the medium is. `bytes` is one field or the whole record.
  virtual absl::Status Update(uint64_t key, uint32_t offset,
                              absl::string_view bytes) = 0;
  // Read and then Update, in one transaction.
  virtual absl::Status Modify(uint64_t key, uint32_t offset,
                              absl::string_view bytes, char* out) = 0;

  // Waits for work that was put off.
  virtual void Quiesce() {}
  // Bytes of its files that are in use, and of its own tables in memory.
  virtual uint64_t bytes_used() const = 0;
};

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_MAPS_BENCH_MAP_H_
