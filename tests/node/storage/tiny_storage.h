// A node's storage for tests: small, in the crash simulator.
#ifndef KAMINO_TESTS_NODE_STORAGE_TINY_STORAGE_H_
#define KAMINO_TESTS_NODE_STORAGE_TINY_STORAGE_H_

#include <cstdint>
#include <memory>

#include "gtest/gtest.h"
#include "node/storage/storage.h"
#include "tests/node/storage/sim_media.h"
#include "tests/replica/text_entry.h"

namespace kamino::node {

inline StorageOptions Tiny() {
  StorageOptions options;
  options.cluster_id = "c";
  options.node_id = "n1";
  options.heap_bytes = 256 << 10;
  options.ring_bytes = 64 << 10;
  options.undo_copy = UndoCopyKind::kSimple;
  options.first_incarnation = 1000;
  options.tiny_log_bytes = 64 << 10;
  return options;
}

// The node executes one more log entry.
inline void ApplyOne(Storage* storage) {
  ASSERT_TRUE(replica::AppendText(storage->ring(), "entry").ok());
  storage->ring()->MarkApplied(storage->ring()->received());
  storage->ring()->PersistApplied();
}

// The node receives the state of another one, after that mutation.
inline void Receive(Storage* storage, uint64_t sequence) {
  storage->BeginReceiving();
  StorageOptions other = Tiny();
  other.node_id = "n2";
  SimDisk source_disk;
  auto source = *Storage::Open(other, std::make_unique<SimMedia>(&source_disk));
  const size_t begin = storage->heap()->root() - 64;
  storage->heap_region()->CopyFlush(storage->heap_region()->base() + begin,
                                    source->heap_region()->base() + begin,
                                    storage->heap_region()->size() - begin);
  storage->heap_region()->Drain();
  ASSERT_TRUE(storage->FinishReceiving(sequence).ok());
}

}  // namespace kamino::node

#endif  // KAMINO_TESTS_NODE_STORAGE_TINY_STORAGE_H_
