#include "engine/kamino/replica_transaction.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::engine {
namespace {

// Entries may name any ranges; only their checksums were checked.
TEST(ReplicaTransactionTest, RangesOutsideObjectsAreRefused) {
  StoreUnderTest under(Scheme::kSimple);
  Heap& heap = under.heap();
  const ObjectId root = heap.root();
  for (const Intent& intent : {
           Intent{root, 0xfffffc01, 1022, IntentKind::kWrite},
           Intent{root, 0xffffffff, 0xffffffff, IntentKind::kWrite},
           Intent{~uint64_t{63}, 0, 1024, IntentKind::kWrite},
       }) {
    const WriteSet write_set = {intent};
    ReplicaTransaction transaction(&heap, write_set);
    EXPECT_FALSE(
        transaction.Write(intent.object, intent.offset, intent.length).ok());
  }
}

}  // namespace
}  // namespace kamino::engine
