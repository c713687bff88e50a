// A transaction that finds the log full waits for others to end. (In a build
// that reports waits: engine/explore.h.)
#include <cstring>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "engine/explore.h"
#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "engine/resource_error.h"
#include "gtest/gtest.h"
#include "lab/rewind/rewind_store.h"
#include "tests/faults/planted.h"

namespace kamino::engine {
namespace {

Transaction* ends_meanwhile = nullptr;

void Yield() {
  if (ends_meanwhile == nullptr) return;
  const absl::Status ended = ends_meanwhile->Abort();
  EXPECT_TRUE(ended.ok()) << ended;
  ends_meanwhile = nullptr;
}

class RewindWaitsTest : public ::testing::TestWithParam<const char*> {
 protected:
  RewindWaitsTest() {
    options_.log_wait = absl::Minutes(10);
    heap_ = *Heap::CreateWithLog(&region_, GetParam(), kLogBytes);
    store_ = *RewindStore::Open(options_, heap_.get());
    auto making = Begin();
    one_ = *making->Alloc(kBytes);
    two_ = *making->Alloc(100);
    EXPECT_TRUE(making->Commit().ok());
    store_->Quiesce();
    for (uint32_t size = kMaxObjectBytes; size > 0; size /= 2) {
      while (heap_->Reserve(size).ok()) {
      }
    }
  }

  std::unique_ptr<Transaction> Begin() {
    return store_->Begin(absl::ZeroDuration());
  }

  static absl::Span<const std::byte> Text() {
    return {reinterpret_cast<const std::byte*>("01234567"), 8};
  }

  // A transaction that holds the whole log.
  std::unique_ptr<Transaction> Filling() {
    auto other = Begin();
    absl::Status status;
    for (uint32_t at = 0; status.ok() && at < kBytes; at += 8) {
      status = other->Write(one_, at, 8).status();
    }
    // No other transaction holds any of it.
    EXPECT_EQ(ResourceOf(status), Resource::kTransaction) << status;
    return other;
  }

  // The other one ends while a transaction waits for room.
  absl::Status CommitMeanwhile() {
    const auto other = Filling();
    auto waiting = Begin();
    ends_meanwhile = other.get();
    yield_hook = &Yield;
    absl::Status status = waiting->Overwrite(two_, 0, Text());
    if (status.ok()) status = waiting->Commit();
    yield_hook = nullptr;
    if (ends_meanwhile != nullptr) {
      EXPECT_TRUE(other->Abort().ok());
      ends_meanwhile = nullptr;
    }
    return status;
  }

  static constexpr size_t kLogBytes = 8u << 10;
  static constexpr uint32_t kBytes = 8000;

  SimRegion region_{Heap::kMinTinyBytes};
  RewindOptions options_ = *RewindNamed(GetParam());
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<RewindStore> store_;
  ObjectId one_ = kNullObject;
  ObjectId two_ = kNullObject;
};

INSTANTIATE_TEST_SUITE_P(Policies, RewindWaitsTest,
                         ::testing::Values("rewind-1-noforce-batch",
                                           "rewind-1-force-optimized"),
                         [](const auto& info) {
                           return std::string(info.index == 0 ? "noforce"
                                                              : "force");
                         });

TEST_P(RewindWaitsTest, AWriteWaitsForAnotherTransactionToEnd) {
  const absl::Status committed = CommitMeanwhile();
  EXPECT_TRUE(committed.ok()) << committed;
}

TEST_P(RewindWaitsTest, AnInfiniteWaitEndsWithTheOtherTransaction) {
  options_.log_wait = absl::InfiniteDuration();
  store_.reset();
  store_ = *RewindStore::Open(options_, heap_.get());
  const absl::Status committed = CommitMeanwhile();
  EXPECT_TRUE(committed.ok()) << committed;
}

TEST_P(RewindWaitsTest, AReadDoesNotWait) {
  // Otherwise the bytes are not kept in memory.
  if (options_.form != LogForm::kBatch) GTEST_SKIP();
  const auto other = Filling();
  auto reading = Begin();
  ASSERT_TRUE(reading->Overwrite(two_, 0, Text()).ok());
  const auto shown = reading->Read(two_);
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ(std::memcmp(shown->data(), Text().data(), Text().size()), 0);
}

TEST_P(RewindWaitsTest, PlantedFaultFailsWithoutWaiting) {
  faults::Planted planted("rewind-does-not-wait-for-others");
  EXPECT_EQ(ResourceOf(CommitMeanwhile()), Resource::kLog);
}

}  // namespace
}  // namespace kamino::engine
