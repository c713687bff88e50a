// No thread delays others for longer than it must, and none claims more
// durability than there is. SimRegion knows each of several threads; they take
// turns.
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "engine/resource_error.h"
#include "gtest/gtest.h"
#include "lab/archapt/archapt_store.h"
#include "lab/tests/archapt/archapt_fixture.h"
#include "tests/faults/planted.h"
#include "tests/patience.h"

namespace kamino::engine {
namespace {

constexpr size_t kBytes = 1000;  // of an object

class ArchaptProgressTest : public ArchaptTest {
 protected:
  // No object leaves the queue.
  ArchaptProgressTest() : ArchaptTest(/*queue_bytes=*/64u << 10) {
    pending_ = Make(kBytes);
    other_ = Make(kBytes);
    store_->Quiesce();
  }

  // Thread 1 commits pending_; thread 2 continues.
  void CommitPending() {
    region_.ActAs(1);
    sequence_ = Fill(pending_, ++letter_);
    region_.ActAs(2);
  }
  // Whether thread 1's claim about the commit is true.
  bool IsHonest() {
    region_.ActAs(1);
    store_->Advance();
    const bool durable =
        std::memcmp(region_.durable() + pending_,
                    std::string(kBytes, letter_).data(), kBytes) == 0;
    return durable || store_->durable_sequence() < sequence_;
  }
  // A transaction that reads or frees an object it has to flush for others, and
  // then declares an earlier write again.
  bool IsHonestAfterACoveredWrite(bool frees) {
    auto transaction = Begin();
    EXPECT_TRUE(transaction->Write(other_, 0, 8).ok());
    if (frees) {
      EXPECT_TRUE(transaction->Free(pending_).ok());
    } else {
      EXPECT_TRUE(transaction->Read(pending_).ok());
    }
    EXPECT_TRUE(transaction->Write(other_, 0, 8).ok());
    const bool honest = IsHonest();
    region_.ActAs(2);
    EXPECT_TRUE(transaction->Abort().ok());
    return honest;
  }
  bool IsDurableWhileAnotherHasFreed() {
    auto transaction = Begin();
    EXPECT_TRUE(transaction->Free(pending_).ok());
    region_.ActAs(1);
    const bool durable = store_->AwaitDurable(sequence_, kBriefly);
    region_.ActAs(2);
    EXPECT_TRUE(transaction->Abort().ok());
    return durable;
  }
  // Logs more old bytes than fit; returns the first refusal, or OK.
  absl::Status AbortMany() {
    for (int i = 0; i < 500; ++i) {
      auto transaction = Begin();
      const absl::Status done =
          transaction->Overwrite(other_, 0, BytesOf(std::string(kBytes, 'x')));
      EXPECT_TRUE(transaction->Abort().ok());
      if (!done.ok()) return done;
    }
    return absl::OkStatus();
  }

  // Returns an object of the matrix; everything else is flushed.
  ObjectId SealOneMatrix() {
    const auto ids = MakeMany(26);
    uint64_t last = 0;
    for (ObjectId id : ids) last = Fill(id, 'a');
    store_->Advance();
    EXPECT_TRUE(store_->AwaitDurable(last, kBriefly));
    EXPECT_EQ(store_->kept_blocks(), 1u);
    return ids[0];
  }
  // Reserves all free blocks.
  std::vector<ObjectId> ReserveAll() {
    std::vector<ObjectId> blocks;
    for (uint32_t bytes = kMaxObjectBytes; bytes > 0; bytes /= 2) {
      while (true) {
        const auto block = heap_->Reserve(bytes);
        if (!block.ok()) break;
        blocks.push_back(*block);
      }
    }
    return blocks;
  }
  // Declares a write of an object of a matrix; another thread runs `meanwhile`
  // from the moment when the matrix is about to be dissolved. This thread waits
  // a while for it, so that it has ended when this one has something to log.
  absl::Status WriteMeanwhile(ObjectId sealed,
                              const std::function<void()>& meanwhile) {
    absl::Notification done;
    std::thread other;
    int flushes = 0;
    region_.SetDrainHook([&] {
      if (other.joinable()) return;
      other = std::thread([&] {
        meanwhile();
        done.Notify();
      });
      done.WaitForNotificationWithTimeout(absl::Milliseconds(100));
      // Clearing the slot comes first.
      region_.SetFlushHook([&] {
        if (++flushes == 2) done.WaitForNotification();
      });
    });
    auto transaction = Begin();
    const absl::Status written = transaction->Write(sealed, 0, 8).status();
    region_.SetFlushHook(nullptr);
    region_.SetDrainHook(nullptr);
    if (other.joinable()) other.join();
    EXPECT_GE(flushes, 2);
    return written;
  }
  // The heap is full except for the sums of a matrix that this thread is about
  // to dissolve, and another thread needs their space.
  bool AllocatesFromADissolvingMatrix(absl::Duration wait) {
    options_.queue_bytes = kQueueBytes;
    options_.log_wait = wait;
    store_.reset();
    store_ = *ArchaptStore::Open(options_, heap_.get());
    const ObjectId sealed = SealOneMatrix();
    const auto blocks = ReserveAll();
    bool took = false;
    EXPECT_TRUE(WriteMeanwhile(sealed, [&] {
                  took = Begin()->Alloc(SumsBytes(4, 16)).ok();
                }).ok());
    for (ObjectId block : blocks) heap_->Release(block);
    return took;
  }

  ObjectId pending_ = kNullObject;
  ObjectId other_ = kNullObject;
  // The sequence of pending_'s commit.
  uint64_t sequence_ = 0;
  char letter_ = 'a';
};

// --- Lines flushed for others are durable only after a drain.

TEST_F(ArchaptProgressTest, ACoveredWriteMakesNoCommitDurable) {
  for (const bool frees : {false, true}) {
    CommitPending();
    EXPECT_TRUE(IsHonestAfterACoveredWrite(frees));
    store_->Quiesce();
  }
}

TEST_F(ArchaptProgressTest, PlantedFaultClaimsAnUndrainedCommitDurable) {
  faults::Planted planted("archapt-settled-without-drain");
  CommitPending();
  EXPECT_FALSE(IsHonestAfterACoveredWrite(/*frees=*/true));
}

// It has nothing to log at its commit.
TEST_F(ArchaptProgressTest, AllocAndFreeMakeNoCommitDurable) {
  CommitPending();
  auto transaction = Begin();
  ASSERT_TRUE(transaction->Write(other_, 0, 8).ok());
  const ObjectId made = *transaction->Alloc(kBytes);
  ASSERT_TRUE(transaction->Read(pending_).ok());
  ASSERT_TRUE(transaction->Free(made).ok());
  Commit(*transaction);
  EXPECT_TRUE(IsHonest());
}

// --- Other threads make progress.

TEST_F(ArchaptProgressTest, ALiveFreeDoesNotDelayDurability) {
  CommitPending();
  EXPECT_TRUE(IsDurableWhileAnotherHasFreed());
}

TEST_F(ArchaptProgressTest, PlantedFaultMakesALiveFreeDelayDurability) {
  faults::Planted planted("archapt-free-keeps-others-waiting");
  CommitPending();
  EXPECT_FALSE(IsDurableWhileAnotherHasFreed());
}

// Although no commit comes that writes a new watermark.
TEST_F(ArchaptProgressTest, AbortsAloneDoNotFillTheLog) {
  const uint64_t sequence = Fill(pending_, 'p');
  store_->Quiesce();
  ASSERT_TRUE(AbortMany().ok());
  EXPECT_EQ(Fill(other_, 'q'), sequence + 1);
  // A crash that loses everything not durable.
  SimRegion after(
      SimRegion::Image(region_.durable(), region_.durable() + region_.size()));
  auto heap = *Heap::Open(&after);
  auto store = *ArchaptStore::Open(options_, heap.get());
  EXPECT_EQ(store->recovery_report().last_sequence, sequence);
  EXPECT_EQ(store->recovery_report().rolled_back, 1u);
  store_.swap(store);
  EXPECT_EQ(Text(pending_, kBytes), std::string(kBytes, 'p'));
  EXPECT_EQ(Text(other_, kBytes), std::string(kBytes, '\0'));
  store_.swap(store);
}

TEST_F(ArchaptProgressTest, PlantedFaultLetsAbortsFillTheLog) {
  faults::Planted planted("archapt-aborts-fill-the-log");
  Fill(pending_, 'p');
  store_->Quiesce();
  EXPECT_EQ(ResourceOf(AbortMany()), Resource::kLog);
  EXPECT_EQ(ResourceOf(Begin()->Write(other_, 0, kBytes).status()),
            Resource::kLog);
}

// No flush makes room for a request that does not fit in an empty log.
TEST_F(ArchaptProgressTest, AnOversizedTransactionForcesNoFlush) {
  constexpr uint32_t kTooLarge = 250000;
  const ObjectId large = Make(kTooLarge);
  store_->Quiesce();
  CommitPending();
  const uint64_t flushed = store_->stats().flushed_lines;
  const auto refused = [&] {
    return ResourceOf(Begin()->Write(large, 0, kTooLarge).status());
  };
  EXPECT_EQ(refused(), Resource::kTransaction);
  EXPECT_EQ(store_->stats().flushed_lines, flushed);
  EXPECT_LT(store_->durable_sequence(), sequence_);
  faults::Planted planted("archapt-oversized-makes-all-flush");
  EXPECT_EQ(refused(), Resource::kTransaction);
  EXPECT_GT(store_->stats().flushed_lines, flushed);
}

// No other object has its size to make a matrix with.
TEST_F(ArchaptProgressTest, ALoneObjectIsFlushedAfterMatrixWait) {
  options_.queue_bytes = kQueueBytes;
  options_.matrix_wait = 8;
  store_.reset();
  store_ = *ArchaptStore::Open(options_, heap_.get());
  const auto ids = MakeMany(30);
  const ObjectId lone = Make(5000);
  store_->Quiesce();
  const uint64_t sequence = Fill(lone, 'a', 5000);
  int left = 0;  // Advances after the one by which it leaves the queue
  for (int i = 0; store_->durable_sequence() < sequence; ++i) {
    ASSERT_LT(i, 100);
    ASSERT_LE(left, 8);
    Fill(ids[i % ids.size()], 'b');
    store_->Advance();
    if (i > 15) ++left;
  }
  EXPECT_EQ(left, 8);
  EXPECT_GT(store_->stats().matrices, 0u);
}

TEST_F(ArchaptProgressTest, AllocWaitsForSpaceOfADissolvingMatrix) {
  EXPECT_TRUE(
      AllocatesFromADissolvingMatrix(/*wait=*/Patience(absl::Seconds(60))));
  EXPECT_FALSE(AllocatesFromADissolvingMatrix(/*wait=*/absl::ZeroDuration()));
}

TEST_F(ArchaptProgressTest, PlantedFaultRefusesAllocWithoutWaiting) {
  faults::Planted planted("archapt-others-not-awaited");
  EXPECT_FALSE(
      AllocatesFromADissolvingMatrix(/*wait=*/Patience(absl::Seconds(60))));
}

// --- How much log may be in use.

TEST_F(ArchaptProgressTest, ALogOfTheWrongSizeIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(SlotsOf(2048).status()));
  EXPECT_TRUE(SlotsOf(kLogBytes).ok());
  EXPECT_TRUE(SlotsOf(size_t{1} << 30).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(SlotsOf(size_t{5} << 28).status()));
  for (const uint64_t queue_bytes : {uint64_t{1} << 30, uint64_t{1} << 63}) {
    ArchaptOptions options;
    options.queue_bytes = queue_bytes;
    EXPECT_EQ(ArchaptLogBytes(options, size_t{1} << 40), size_t{1} << 30);
  }
}

}  // namespace
}  // namespace kamino::engine
