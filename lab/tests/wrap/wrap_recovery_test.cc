// Recovery of logs that crashes and damage leave. (Crashes at every point:
// tests/engine/crash.)
#include "lab/wrap/wrap_recovery.h"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lab/tests/wrap/fixture.h"
#include "lab/wrap/view_region.h"
#include "tests/faults/planted.h"

namespace kamino::engine {
namespace {

using wrap_format::LogHeader;
using wrap_format::Marker;

using WrapRecoveryTest = WrapLogTest;

TEST_F(WrapRecoveryTest, ReplaysInCloseOrder) {
  for (const bool first_closes_first : {true, false}) {
    Wrap one = Opened("one");
    Wrap two = Opened("two");
    Commit(first_closes_first ? std::move(one) : std::move(two));
    Commit(first_closes_first ? std::move(two) : std::move(one));
    const auto report = Crash();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->replayed, 2u);
    EXPECT_EQ(Home(3), first_closes_first ? "two" : "one");
  }
}

TEST_F(WrapRecoveryTest, AFullLogRecovers) {
  // All buckets belong to closed wraps, also the anonymous one's.
  for (size_t i = 0; i + 1 < kBuckets; ++i) {
    Commit(Opened(std::string(1, static_cast<char>('a' + i)), i));
  }
  Wrap anonymous;
  log_->AppendAnonymous(&anonymous, place() + kBuckets - 1, BytesOf("z"));
  log_->CloseAnonymous(&anonymous);
  for (size_t i = 0; i < kBuckets; ++i) {
    Marker marker;
    std::memcpy(&marker, region_.durable() + layout_->BucketAt(i),
                sizeof(marker));
    ASSERT_EQ(marker.sequence, i + 1);
  }
  const auto report = Crash();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->replayed, kBuckets - 1);
  EXPECT_EQ(Home(kBuckets), "abcdefghijklmnz");
  // Then the log has room again.
  for (size_t i = 0; i + 1 < kBuckets; ++i) Commit(Opened("again", 16 * i));
}

// The wrap that closed first may be missing: it was not acknowledged.
TEST_F(WrapRecoveryTest, AMissingSequenceIsNoDamage) {
  Commit(Opened("first"));
  Wrap second = Opened("second", 64);
  Wrap third = Opened("third", 128);
  SimRegion::Image image;
  // At the drain of its close.
  region_.SetDrainHook([&] {
    if (!image.empty()) return;
    image.resize(1);
    Commit(std::move(third));
    image = DurableOf(region_);
    // That drain was on the same thread: the second one's marker is lost.
    std::memset(image.data() + layout_->BucketAt(1), 0, sizeof(Marker));
  });
  log_->Close(&second, 0);
  region_.SetDrainHook(nullptr);
  const auto report = Recover(image);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->replayed, 2u);
  EXPECT_EQ(Home(5), "first");
  EXPECT_EQ(Home(6, 64), std::string(6, '\0'));
  EXPECT_EQ(Home(5, 128), "third");
}

// A wrap that a crash cut off, and another wrap's bytes in the same place.
// Returns how many wraps a recovery finds.
class CutOffTest : public WrapLogTest {
 protected:
  // Two records, in two lines.
  void Write(const std::string& first, const std::string& second) {
    Wrap wrap;
    ASSERT_TRUE(log_->Append(&wrap, place(), BytesOf(first)).ok());
    ASSERT_TRUE(log_->Append(&wrap, place() + 64, BytesOf(second)).ok());
    Commit(std::move(wrap), 1);
  }

  uint64_t Run() {
    const uint64_t line = layout_->BucketAt(0) + 128;
    const std::string same(56, 'b');
    const SimRegion::Image before = DurableOf(region_);
    Write(std::string(56, 'a'), same);
    // A crash in the close: all is durable but the second record.
    SimRegion::Image image = DurableOf(region_);
    std::copy_n(&before[line], 64, &image[line]);
    auto report = Recover(image);
    EXPECT_TRUE(report.ok() && report->replayed == 0) << report.status();
    // Another wrap has that record as well, and a crash leaves only this one.
    image = DurableOf(region_);
    Write(std::string(56, 'c'), same);
    std::copy_n(region_.durable() + line, 64, &image[line]);
    report = Recover(image);
    EXPECT_TRUE(report.ok()) << report.status();
    return report->replayed;
  }
};

TEST_F(CutOffTest, SequencesAreNotReused) {
  EXPECT_EQ(Run(), 0u);
  EXPECT_EQ(Home(1), std::string(1, '\0'));
}

// Otherwise the first of the two would be replayed, long after it was given up.
TEST_F(CutOffTest, PlantedFaultReplaysAnInterruptedWrap) {
  faults::Planted planted("wrap-numbers-are-drawn-again");
  EXPECT_EQ(Run(), 1u);
  EXPECT_EQ(Home(1), "a");
}

// A wrap that continues in a block of the heap, where an older wrap stores that
// has not retired yet, because an even older one is not durable.
class WrapInHeapTest : public ::testing::Test {
 protected:
  static constexpr size_t kRegionBytes = 128u << 10;
  static constexpr size_t kLogBytes = 16u << 10;
  static constexpr size_t kLargeBytes = 20000;

  WrapInHeapTest() {
    at_home_ = *Heap::CreateWithLog(&region_, wrap_format::kLabel, kLogBytes);
    EXPECT_TRUE(WrapLayout::Format(*at_home_, 512).ok());
    layout_ = std::make_unique<WrapLayout>(*WrapLayout::Of(*at_home_));
    log_ = std::make_unique<WrapLog>(*layout_, absl::ZeroDuration());
    view_ = *ViewRegion::Load(*layout_, log_.get());
    heap_ = *Heap::Open(view_.get());
    EXPECT_TRUE(heap_->Load().ok());
    log_->UseHeap(heap_.get());
    log_->AppendAnonymous(&oldest_, heap_->root(), BytesOf("oldest"));
    log_->Close(&oldest_, 0);
    // The place of the next block.
    const ObjectId block = *heap_->Reserve(40000);
    heap_->Release(block);
    Wrap older;
    log_->AppendAnonymous(&older, block + 64, BytesOf(std::string(100, 'o')));
    log_->CloseAnonymous(&older);
  }

  absl::Status AppendLarge() {
    return log_->Append(&large_, heap_->root() + (60u << 10),
                        BytesOf(std::string(kLargeBytes, 'x')));
  }

  // The durable content once the older ones have retired.
  absl::StatusOr<RecoveryReport> CloseAndCrash() {
    EXPECT_NE(large_.pieces.back().block, kNullObject);
    log_->Close(&large_, 0);
    log_->Retire(SIZE_MAX);
    after_ = std::make_unique<SimRegion>(DurableOf(region_));
    auto heap = *Heap::Open(after_.get());
    return RecoverWraps(*WrapLayout::Of(*heap));
  }

  SimRegion region_{kRegionBytes};
  std::unique_ptr<Heap> at_home_;
  std::unique_ptr<WrapLayout> layout_;
  std::unique_ptr<WrapLog> log_;
  std::unique_ptr<ViewRegion> view_;
  std::unique_ptr<Heap> heap_;
  Wrap oldest_;
  Wrap large_;
  std::unique_ptr<SimRegion> after_;
};

TEST_F(WrapInHeapTest, WaitsForOlderWrapsOfTheBlock) {
  absl::Status appended;
  std::thread other([&] { appended = AppendLarge(); });
  log_->HandOver(std::move(oldest_));
  other.join();
  ASSERT_TRUE(appended.ok()) << appended;
  const auto report = CloseAndCrash();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->replayed, 1u);
  const std::byte* const bytes = after_->base() + heap_->root() + (60u << 10);
  EXPECT_TRUE(std::all_of(bytes, bytes + kLargeBytes,
                          [](std::byte b) { return b == std::byte{'x'}; }));
}

TEST_F(WrapInHeapTest, PlantedFaultLetsAnOlderWrapOverwriteIt) {
  faults::Planted planted("wrap-goes-on-where-others-store");
  ASSERT_TRUE(AppendLarge().ok());
  log_->HandOver(std::move(oldest_));
  const auto report = CloseAndCrash();
  EXPECT_TRUE(!report.ok() || report->replayed == 0);
}

// Three wraps store to one object: recovery reports damage to each, except the
// last one, which a crash could have cut off.
TEST_F(WrapRecoveryTest, DamageIsReported) {
  constexpr size_t kWraps = 3;
  std::vector<std::string> texts;
  for (size_t i = 0; i < kWraps; ++i) {
    texts.push_back(std::string(100, static_cast<char>('a' + i)));
    Commit(Opened(texts.back()));
  }
  const SimRegion::Image image = DurableOf(region_);
  const uint64_t log = layout_->log_begin();
  const WrapLayout layout = *layout_;
  const size_t used = sizeof(Marker) + wrap_format::RecordBytes(100);
  size_t refused = 0;
  for (size_t wrap = 0; wrap < kWraps; ++wrap) {
    for (size_t at = 0; at < used; ++at) {
      SimRegion::Image damaged = image;
      damaged[layout.BucketAt(wrap) + at] ^= std::byte{0x10};
      const auto report = Recover(damaged);
      const std::string now = Home(100);
      if (report.ok()) {
        EXPECT_EQ(wrap, kWraps - 1) << at;
        EXPECT_EQ(now, texts[kWraps - 2]) << at;
        EXPECT_EQ(report->replayed, kWraps - 1);
        continue;
      }
      EXPECT_TRUE(absl::IsDataLoss(report.status())) << report.status();
      EXPECT_EQ(now, std::string(100, '\0')) << "stored before it was checked";
      ++refused;
    }
  }
  EXPECT_EQ(refused, (kWraps - 1) * used);
  for (size_t at = 0; at < sizeof(LogHeader); ++at) {
    SimRegion::Image damaged = image;
    damaged[log + at] ^= std::byte{0x10};
    const bool counts =
        at < offsetof(LogHeader, unused) ||
        (at >= offsetof(LogHeader, retired) &&
         at < offsetof(LogHeader, last_sequence) + sizeof(uint64_t));
    const auto report = Recover(damaged);
    EXPECT_EQ(absl::IsDataLoss(report.status()), counts) << at;
  }
}

// Otherwise recovery would take a lost wrap for one that was never
// acknowledged.
TEST_F(WrapRecoveryTest, LaterWrapsRevealDamage) {
  Commit(Opened("first"));
  Commit(Opened("second", 64));
  SimRegion::Image damaged = DurableOf(region_);
  damaged[layout_->BucketAt(0)] ^= std::byte{1};
  EXPECT_TRUE(absl::IsDataLoss(Recover(damaged).status()));
  faults::Planted planted("wrap-damage-goes-untold");
  EXPECT_TRUE(Recover(damaged).ok());
}

// A wrap with right checksums that stores where there are no objects.
TEST_F(WrapRecoveryTest, RecordsOutsideOfTheObjectsAreDamage) {
  for (const uint64_t address :
       {uint64_t{0}, uint64_t{100}, layout_->log_begin(),
        layout_->objects_begin() - 1, uint64_t{region_.size() - 3},
        uint64_t{region_.size()}, wrap_format::kMostRegionBytes - 8}) {
    Make(kBucketBytes);
    Wrap wrap;
    ASSERT_TRUE(log_->Append(&wrap, address, BytesOf("text")).ok());
    log_->Close(&wrap, 0);
    const auto report = Crash();
    EXPECT_TRUE(absl::IsDataLoss(report.status())) << address;
  }
}

// Links of a wrap that was cut off may have any value.
TEST_F(WrapRecoveryTest, InvalidLinksAreHarmless) {
  const std::string text(1000, 'x');
  Commit(Opened(text));
  const SimRegion::Image image = DurableOf(region_);
  const uint64_t at =
      layout_->BucketAt(0) + kBucketBytes - sizeof(wrap_format::Link);
  const uint64_t bucket = layout_->BucketAt(0);
  const uint64_t size = region_.size();
  for (const wrap_format::Link link : {wrap_format::Link{0, 0},
                                       {bucket, 512},
                                       {bucket, 16},
                                       {bucket, 17},
                                       {bucket, ~uint64_t{0}},
                                       {size, 64},
                                       {size - 64, 65},
                                       {size - 64, 64},
                                       {~uint64_t{63}, 512},
                                       {bucket + 1, 512},
                                       {bucket, size}}) {
    SimRegion::Image damaged = image;
    std::memcpy(&damaged[at], &link, sizeof(link));
    const auto report = Recover(damaged);
    ASSERT_TRUE(report.ok()) << report.status();  // it is the last one
    EXPECT_EQ(report->replayed, 0u);
  }
  const auto report = Recover(image);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->replayed, 1u);
  EXPECT_EQ(Home(1000), text);
}

}  // namespace
}  // namespace kamino::engine
