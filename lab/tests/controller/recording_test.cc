#include "lab/controller/recording.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "lab/controller/avl_tree.h"
#include "lab/controller/tracing_store.h"
#include "tests/bench/engine/fixture.h"

namespace kamino::bench::controller {
namespace {

OpenedStore OpenUnsafe(uint64_t bytes) {
  return OpenForTest({"unsafe", {}}, bytes, Watch::kNothing);
}

size_t Count(const Trace& trace, EventKind kind) {
  size_t count = 0;
  for (const auto& events : trace.threads) {
    count += std::count_if(
        events.begin(), events.end(),
        [kind](const Event& event) { return event.kind == kind; });
  }
  return count;
}

TEST(AvlTreeTest, IsBalancedAndFindsInsertedKeys) {
  const OpenedStore opened = OpenUnsafe(8u << 20);
  const auto transaction = opened.store->Begin(absl::ZeroDuration());
  AvlTree tree(transaction.get(), opened.store->root());
  std::map<uint64_t, uint64_t> expected;
  std::mt19937_64 random(1);
  for (uint64_t i = 0; i < 2000; ++i) {
    // Ascending, descending, at random: every kind of rotation.
    const uint64_t key = i < 500    ? 1'000'000 + i
                         : i < 1000 ? 2'000'000 - i
                                    : random() % 3'000'000 + 1;
    const bool is_new = expected.emplace(key, i).second;
    const absl::Status inserted = tree.Insert(key, i);
    if (is_new) {
      ASSERT_TRUE(inserted.ok()) << inserted;
    } else {
      ASSERT_EQ(inserted.code(), absl::StatusCode::kAlreadyExists);
    }
    if (i % 50 == 0) {
      const auto nodes = tree.Check();
      ASSERT_TRUE(nodes.ok()) << nodes.status();
      ASSERT_EQ(*nodes, expected.size());
    }
  }
  for (const auto& [key, value] : expected) EXPECT_EQ(*tree.Find(key), value);
  EXPECT_EQ(tree.Find(5'000'000).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(transaction->Commit().ok());
}

TEST(RecordingTest, InsertsAreRecordedAsWraps) {
  for (Container container : kContainers) {
    Inserts inserts;
    inserts.wraps = 30;
    inserts.before = 100;
    const OpenedStore opened = OpenUnsafe(16u << 20);
    const auto trace = RecordInserts(container, inserts, opened.store.get());
    ASSERT_TRUE(trace.ok()) << trace.status();
    ASSERT_TRUE(CheckTrace(*trace).ok());
    EXPECT_EQ(Count(*trace, EventKind::kBegin), 30u);
    EXPECT_EQ(Count(*trace, EventKind::kOpen), 30u);
    EXPECT_GT(Count(*trace, EventKind::kLoad), 30u * 20);
    // A key and a value of each.
    EXPECT_GE(Count(*trace, EventKind::kStore), 30u * 20 * 2);

    const OpenedStore again = OpenUnsafe(16u << 20);
    const auto same = RecordInserts(container, inserts, again.store.get());
    EXPECT_EQ(same->threads, trace->threads) << ContainerName(container);
  }
}

TEST(RecordingTest, AGraphIsBuiltInWrapsOfAFewStores) {
  GraphOptions options;
  options.scale = 6;
  options.stores_per_wrap = 7;
  options.searches = 2;
  const OpenedStore opened = OpenUnsafe(GraphBytes(options));
  const auto traces = RecordGraph(options, opened.store.get());
  ASSERT_TRUE(traces.ok()) << traces.status();
  constexpr size_t kVertices = 64, kEdges = 16 * kVertices;
  EXPECT_EQ(Count(traces->generate, EventKind::kStore), 2 * kEdges);
  EXPECT_EQ(Count(traces->generate, EventKind::kLoad), 0u);
  // Degrees; their sums and cursors; both directions of each edge.
  EXPECT_EQ(Count(traces->build, EventKind::kStore),
            2 * kEdges + 2 * kVertices + 2 * 2 * kEdges);
  EXPECT_EQ(Count(traces->build, EventKind::kLoad),
            2 * 2 * kEdges + kVertices + 3 * 2 * kEdges);
  EXPECT_GE(Count(traces->search, EventKind::kStore), 2 * kVertices);
  for (const Trace* trace :
       {&traces->generate, &traces->build, &traces->search}) {
    ASSERT_TRUE(CheckTrace(*trace).ok());
    size_t stores = 0;
    for (const Event& event : trace->threads[0]) {
      if (event.kind == EventKind::kOpen) stores = 0;
      if (event.kind == EventKind::kStore) ++stores;
      ASSERT_LE(stores, 7u);
    }
  }
  // Words of adjacency lists: as many as there are ends of edges.
  std::set<uint64_t> stored;
  for (const Event& event : traces->build.threads[0]) {
    if (event.kind == EventKind::kStore) stored.insert(event.address);
  }
  EXPECT_GE(stored.size(), 2 * kEdges);
}

TEST(RecordingTest, AFullStoreIsAnError) {
  const OpenedStore opened = OpenUnsafe(4u << 20);
  GraphOptions options;
  options.scale = 16;
  EXPECT_EQ(RecordGraph(options, opened.store.get()).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace kamino::bench::controller
