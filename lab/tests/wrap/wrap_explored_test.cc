// WrAP's behaviour that only an explored build shows (engine/explore.h): which
// thread waits for which, and how far recovery reads.
#include <sched.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "engine/resource_error.h"
#include "gtest/gtest.h"
#include "lab/explore.h"
#include "lab/tests/wrap/fixture.h"
#include "lab/wrap/wrap_log.h"
#include "lab/wrap/wrap_recovery.h"
#include "tests/faults/planted.h"

namespace kamino::engine {
namespace {

using wrap_format::Link;
using wrap_format::Marker;

// --- A log full of closed wraps, which another thread retires.

thread_local bool is_test = false;
std::atomic<bool> test_waits{false};

void Yield() {
  if (is_test) test_waits = true;
  sched_yield();
}

class FullWrapLogTest : public WrapLogTest {
 protected:
  // Looks for room now: it waits for the other thread, which retires everything
  // meanwhile.
  absl::Status OpenMeanwhile() {
    for (size_t i = 0; i + 1 < kBuckets; ++i) Commit(Opened("text", 16 * i));
    std::atomic<bool> retiring{false};
    region_.SetDrainHook([&] {
      if (retiring.exchange(true)) return;
      while (!test_waits) sched_yield();
    });
    is_test = true;
    test_waits = false;
    yield_hook = &Yield;
    std::thread other([this] { log_->Retire(SIZE_MAX); });
    while (!retiring) sched_yield();
    Wrap wrap;
    const absl::Status opened = log_->Open(&wrap);
    other.join();
    yield_hook = nullptr;
    region_.SetDrainHook(nullptr);
    log_->Forget(&wrap);
    return opened;
  }
};

TEST_F(FullWrapLogTest, OpenUsesBucketsRetiredByAnotherThread) {
  const absl::Status opened = OpenMeanwhile();
  EXPECT_TRUE(opened.ok()) << opened;
}

TEST_F(FullWrapLogTest, PlantedFaultReportsTheWrapTooLarge) {
  faults::Planted planted("wrap-room-is-looked-for-once");
  EXPECT_EQ(ResourceOf(OpenMeanwhile()), Resource::kTransaction);
}

// --- Recovery trusts no length without a check.

class ReadOnTest : public WrapLogTest {
 protected:
  // How often recovery continues in another piece.
  uint64_t PiecesOf(const SimRegion::Image& image) {
    static BranchCounts<LabBranch> counts;
    for (auto& count : counts) count = 0;
    branch_counts<LabBranch> = &counts;
    const auto report = Recover(image);
    branch_counts<LabBranch> = nullptr;
    EXPECT_TRUE(report.ok()) << report.status();
    return counts[static_cast<size_t>(LabBranch::kWrapReadOn)];
  }

  // A wrap of five buckets; a client has stored bytes like a marker where the
  // second one begins.
  SimRegion::Image WithBytesLikeAMarker() {
    Marker marker{};
    marker.sequence = 2;
    marker.bytes = region_.size();
    std::string text(2200, 'x');
    const size_t begin =
        kBucketBytes - sizeof(Marker) - sizeof(Link) - sizeof(uint64_t);
    std::memcpy(&text[begin], &marker, sizeof(marker));
    Commit(Opened(text));
    const SimRegion::Image image = DurableOf(region_);
    EXPECT_EQ(
        std::memcmp(&image[layout_->BucketAt(1)], &marker, sizeof(marker)), 0);
    return image;
  }

  // The same, with a first link that names small pieces in a circle.
  SimRegion::Image WithACircle() {
    Commit(Opened(std::string(2200, 'x')));
    SimRegion::Image image = DurableOf(region_);
    const uint64_t piece = layout_->BucketAt(3);
    const Link link{piece, sizeof(Link) + 1};
    for (const uint64_t end :
         {layout_->BucketAt(1), piece + sizeof(Link) + 1}) {
      std::memcpy(&image[end - sizeof(link)], &link, sizeof(link));
    }
    return image;
  }
};

TEST_F(ReadOnTest, ClientBytesAreNotTakenForAMarker) {
  EXPECT_EQ(PiecesOf(WithBytesLikeAMarker()), 4u);
  EXPECT_EQ(Home(1), "x");
}

TEST_F(ReadOnTest, PlantedFaultTakesClientBytesForAMarker) {
  faults::Planted planted("wrap-marker-has-no-check-of-its-own");
  EXPECT_EQ(PiecesOf(WithBytesLikeAMarker()), 4u + 3u);
}

TEST_F(ReadOnTest, PiecesSmallerThanABucketAreIgnored) {
  EXPECT_EQ(PiecesOf(WithACircle()), 0u);
}

TEST_F(ReadOnTest, PlantedFaultFollowsACircleOfSmallPieces) {
  faults::Planted planted("wrap-pieces-of-any-size");
  EXPECT_GT(PiecesOf(WithACircle()), 1000u);
}

}  // namespace
}  // namespace kamino::engine
