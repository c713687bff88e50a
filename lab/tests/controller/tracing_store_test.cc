#include "lab/controller/tracing_store.h"

#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lab/controller/recording.h"
#include "tests/bench/engine/fixture.h"

namespace kamino::bench::controller {
namespace {

using engine::ObjectId;

class TracingStoreTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    opened_ = OpenForTest({GetParam(), {}}, 8u << 20, Watch::kNothing);
    ASSERT_NE(opened_.store, nullptr);
  }
  std::unique_ptr<engine::Transaction> Begin() {
    return tracing().Begin(absl::Seconds(1));
  }
  TracingStore& tracing() {
    if (tracing_ == nullptr) {
      tracing_ = std::make_unique<TracingStore>(opened_.store.get());
    }
    return *tracing_;
  }

  OpenedStore opened_;
  std::unique_ptr<TracingStore> tracing_;
};

TEST_P(TracingStoreTest, ATransactionIsAWrapOfItsAccesses) {
  ObjectId id;
  {
    const auto transaction = Begin();
    id = *transaction->Alloc(200);
    const std::byte bytes[10] = {std::byte{7}};
    std::memset(*transaction->Write(id, 8, 16), 1, 16);
    ASSERT_TRUE(transaction->Overwrite(id, 100, bytes).ok());
    EXPECT_EQ((*transaction->Read(id))[100], std::byte{7});
    ASSERT_TRUE(transaction->Commit().ok());
  }
  const Trace trace = tracing().TakeTrace();
  ASSERT_EQ(trace.threads.size(), 1u);
  const std::vector<Event> expected = {{EventKind::kBegin},
                                       {EventKind::kOpen},
                                       {EventKind::kStore, 16, id - 16},
                                       {EventKind::kStore, 16, id + 8},
                                       {EventKind::kStore, 10, id + 100},
                                       {EventKind::kLoad, 64, id},
                                       {EventKind::kClose}};
  EXPECT_EQ(trace.threads[0], expected);
  EXPECT_TRUE(tracing().TakeTrace().threads.empty());
}

TEST_P(TracingStoreTest, AReadOnlyTransactionOpensNoWrap) {
  {
    const auto transaction = Begin();
    ASSERT_TRUE(transaction->Read(tracing().root()).ok());
    tracing().NoteLoad(tracing().root(), 8, 8);
    ASSERT_TRUE(transaction->Commit().ok());
  }
  const std::vector<Event> expected = {
      {EventKind::kBegin},
      {EventKind::kLoad, 64, tracing().root()},
      {EventKind::kLoad, 8, tracing().root() + 8}};
  EXPECT_EQ(tracing().TakeTrace().threads,
            std::vector<std::vector<Event>>{expected});
}

TEST_P(TracingStoreTest, AnAbortedTransactionLeavesNoTrace) {
  if (std::string(GetParam()) != "unsafe") {
    const auto transaction = Begin();
    ASSERT_TRUE(transaction->Write(tracing().root(), 0, 8).ok());
    ASSERT_TRUE(transaction->Abort().ok());
  }
  Begin().reset();
  // No transaction is live.
  tracing().NoteLoad(tracing().root(), 0, 8);
  EXPECT_TRUE(tracing().TakeTrace().threads.empty());
}

TEST_P(TracingStoreTest, AFailedTransactionLeavesNoTrace) {
  const auto transaction = Begin();
  EXPECT_EQ(transaction->Write(tracing().root(), 0, 1u << 30).status().code(),
            absl::StatusCode::kOutOfRange);
  transaction->Abort().IgnoreError();
  EXPECT_TRUE(tracing().TakeTrace().threads.empty());
}

TEST_P(TracingStoreTest, EachThreadHasItsOwnTrace) {
  constexpr int kThreads = 3, kTransactions = 50;
  std::vector<ObjectId> ids(kThreads);
  for (ObjectId& id : ids) {
    const auto transaction = Begin();
    id = *transaction->Alloc(64);
    ASSERT_TRUE(transaction->Commit().ok());
  }
  tracing().TakeTrace();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, id = ids[i]] {
      for (int count = 0; count < kTransactions; ++count) {
        const auto transaction = Begin();
        EXPECT_TRUE(transaction->Write(id, 0, 8).ok());
        EXPECT_TRUE(transaction->Commit().ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Trace trace = tracing().TakeTrace();
  EXPECT_TRUE(CheckTrace(trace).ok());
  ASSERT_EQ(trace.threads.size(), 3u);
  for (const auto& events : trace.threads) {
    ASSERT_EQ(events.size(), 4u * kTransactions);
    for (const Event& event : events) {
      if (event.kind != EventKind::kStore) continue;
      EXPECT_EQ(event.address, events[2].address);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, TracingStoreTest,
                         ::testing::Values("unsafe", "undo-own",
                                           "kamino-simple"));

}  // namespace
}  // namespace kamino::bench::controller
