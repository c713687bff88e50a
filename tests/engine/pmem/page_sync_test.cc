#include "engine/pmem/page_sync.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "engine/pmem/medium_wait.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/fault.h"

namespace kamino::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kPage = 4096;

class PageSyncTest : public ::testing::Test {
 protected:
  PageSyncTest()
      : bytes_(static_cast<std::byte*>(
            std::aligned_alloc(kPage, PageSync::kMostUnsynced))),
        pages_([this](const void* place) {
          places_.push_back(static_cast<const std::byte*>(place) - bytes_);
        }) {}
  ~PageSyncTest() override {
    faults::PlantFault("");
    std::free(bytes_);
  }

  void Note(size_t offset, size_t length) {
    pages_.Note(bytes_ + offset, length);
  }

  std::byte* const bytes_;
  std::vector<ptrdiff_t> places_;  // of each sync
  PageSync pages_;
};

TEST_F(PageSyncTest, OneSyncCoversAllRanges) {
  Note(5 * kPage, 8);
  Note(kPage + 1, 3 * kPage);
  Note(90 * kPage, 1);
  EXPECT_THAT(places_, IsEmpty());
  pages_.Drain();
  EXPECT_THAT(places_, ElementsAre(kPage + 1));
  EXPECT_EQ(pages_.syncs(), 1u);
}

TEST_F(PageSyncTest, AnEmptyDrainSyncsNothing) {
  pages_.Drain();
  Note(7, 0);
  pages_.Drain();
  EXPECT_THAT(places_, IsEmpty());
  Note(7, 1);
  pages_.Drain();
  pages_.Drain();
  EXPECT_THAT(places_, ElementsAre(7));
}

TEST_F(PageSyncTest, ManyPagesAreSyncedBeforeTheDrain) {
  const size_t pages = PageSync::kMostUnsynced / kPage;
  for (size_t i = 0; i + 1 < pages; ++i) Note(i * kPage + 100, 200);
  EXPECT_THAT(places_, IsEmpty());
  Note(pages * kPage - 1, 1);
  EXPECT_THAT(places_, ElementsAre(100));
  // A range across a boundary belongs to two pages.
  for (size_t i = 0; i + 2 < pages; i += 2) Note((i + 1) * kPage - 1, 2);
  EXPECT_EQ(places_.size(), 1u);
  Note(kPage - 1, 2);
  EXPECT_EQ(places_.size(), 2u);
}

// A running sync need not cover pages flushed since it began.
std::vector<ptrdiff_t> NotedMeanwhile() {
  std::vector<std::byte> bytes(kPage);
  std::vector<ptrdiff_t> places;
  std::optional<PageSync> pages;
  pages.emplace([&](const void* place) {
    places.push_back(static_cast<const std::byte*>(place) - bytes.data());
    if (places.size() == 1) pages->Note(bytes.data() + 11, 1);
  });
  pages->Note(bytes.data() + 22, 1);
  pages->Drain();
  pages->Drain();
  return places;
}

TEST_F(PageSyncTest, APageNotedDuringASyncNeedsAnotherSync) {
  EXPECT_THAT(NotedMeanwhile(), ElementsAre(22, 11));
  faults::PlantFault("page-sync-forgets-what-is-noted-meanwhile");
  EXPECT_THAT(NotedMeanwhile(), ElementsAre(22));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

TEST_F(PageSyncTest, TheProcessCountsSyncs) {
  const PageSync::Totals before = PageSync::OfProcess();
  pages_.Drain();
  EXPECT_EQ(PageSync::OfProcess().syncs, before.syncs);
  Note(0, 1);
  pages_.Drain();
  EXPECT_EQ(PageSync::OfProcess().syncs, before.syncs + 1);
  EXPECT_GT(PageSync::OfProcess().time, before.time);
}

using Waits = std::shared_ptr<MediumTime>;

Waits WatchThisThread() {
  auto waits = std::make_shared<MediumTime>();
  MediumWait::Watch(waits);
  return waits;
}

TEST_F(PageSyncTest, ASyncingThreadWaitsForItsMedium) {
  const Waits waits = WatchThisThread();
  bool during = false;
  std::byte byte{};
  PageSync pages([&](const void*) { during = waits->waits(); });
  pages.Note(&byte, 1);
  EXPECT_FALSE(waits->waits());
  pages.Drain();
  EXPECT_TRUE(during);
  EXPECT_FALSE(waits->waits());
}

TEST_F(PageSyncTest, AnotherThreadsSyncIsNoMediumWait) {
  const Waits waits = WatchThisThread();
  bool own = false;
  bool others = false;
  std::byte byte{};
  std::thread([&] {
    const Waits waits_there = WatchThisThread();
    PageSync pages([&](const void*) {
      own = waits_there->waits();
      others = waits->waits();
    });
    pages.Note(&byte, 1);
    pages.Drain();
  }).join();
  EXPECT_TRUE(own);
  EXPECT_FALSE(others);
}

// The other thread's sync covers its flushes.
TEST_F(PageSyncTest, AThreadWaitsForTheMediumInAnothersSync) {
  Waits waits;
  absl::Notification watches, syncs;
  std::byte byte{};
  bool waited = false;
  PageSync pages([&](const void*) {
    syncs.Notify();
    watches.WaitForNotification();
    while (!waits->waits()) std::this_thread::yield();
    waited = true;
  });
  std::thread other([&] {
    waits = WatchThisThread();
    syncs.WaitForNotification();
    watches.Notify();
    pages.Drain();
  });
  pages.Note(&byte, 1);
  pages.Drain();
  other.join();
  EXPECT_TRUE(waited);
  EXPECT_FALSE(waits->waits());
}

TEST(MediumWaitTest, TheOutermostWaitCounts) {
  const Waits waits = WatchThisThread();
  {
    const MediumWait outer;
    EXPECT_TRUE(waits->waits());
    { const MediumWait inner; }
    EXPECT_TRUE(waits->waits());
  }
  EXPECT_FALSE(waits->waits());
}

TEST(MediumTimeTest, AddsUpWaits) {
  const absl::Time then = absl::UnixEpoch() + absl::Hours(1);
  MediumTime time;
  EXPECT_EQ(time.total(then), absl::ZeroDuration());
  time.Begin(then);
  EXPECT_EQ(time.total(then + absl::Seconds(2)), absl::Seconds(2));
  time.End(then + absl::Seconds(3));
  EXPECT_EQ(time.total(then + absl::Seconds(9)), absl::Seconds(3));
  time.Begin(then + absl::Seconds(10));
  EXPECT_EQ(time.total(then + absl::Seconds(11)), absl::Seconds(4));
}

// Another thread's sync covers this one's notes, and lasts until this thread's
// drain has returned, or for `longest`.
bool WaitsForTheOther(absl::Duration longest) {
  std::byte byte{};
  absl::Notification syncs, returned;
  bool early = false;
  PageSync pages([&](const void*) {
    syncs.Notify();
    early = returned.WaitForNotificationWithTimeout(longest);
  });
  pages.Note(&byte, 1);
  std::thread other([&] { pages.Drain(); });
  syncs.WaitForNotification();
  pages.Drain();
  returned.Notify();
  other.join();
  return !early;
}

TEST_F(PageSyncTest, ADrainWaitsForARunningSync) {
  EXPECT_TRUE(WaitsForTheOther(absl::Milliseconds(100)));
  faults::PlantFault("page-sync-does-not-wait");
  EXPECT_FALSE(WaitsForTheOther(absl::Seconds(30)));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

}  // namespace
}  // namespace kamino::engine
