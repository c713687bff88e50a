#include "lab/wrap/view_region.h"

#include <memory>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "lab/tests/wrap/fixture.h"

namespace kamino::engine {
namespace {

class ViewRegionTest : public WrapLogTest {
 protected:
  ViewRegionTest() { view_ = *ViewRegion::Load(*layout_, log_.get()); }

  void Store(const std::string& text, uint64_t offset) {
    std::memcpy(At(offset), text.data(), text.size());
  }
  std::byte* At(uint64_t offset) { return view_->base() + place() + offset; }

  std::unique_ptr<ViewRegion> view_;
};

TEST_F(ViewRegionTest, MirrorsTheMediumExceptTheLog) {
  EXPECT_EQ(view_->size(), region_.size());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(view_->base()) % 4096, 0u);
  EXPECT_EQ(std::memcmp(view_->base(), region_.base(), layout_->log_begin()),
            0);
  EXPECT_EQ(std::memcmp(view_->base() + layout_->log_end(),
                        region_.base() + layout_->log_end(),
                        region_.size() - layout_->log_end()),
            0);
}

// A transaction stores beside it, and may be aborted.
TEST_F(ViewRegionTest, AFlushCoversOnlyItsBytes) {
  Store("before", 0);
  Store("flushed", 8);
  Store("behind", 15);
  view_->Persist(At(8), 7);
  EXPECT_EQ(log_->Retire(SIZE_MAX), 1u);
  EXPECT_EQ(Home(24), std::string(8, '\0') + "flushed" + std::string(9, '\0'));
  const auto report = Crash();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(Home(24), std::string(8, '\0') + "flushed" + std::string(9, '\0'));
}

TEST_F(ViewRegionTest, ADrainMakesTheThreadsFlushesDurable) {
  Store("mine", 0);
  view_->Flush(At(0), 4);
  std::thread([this] {
    Store("other", 64);
    view_->Flush(At(64), 5);
    view_->Drain();
    view_->Drain();  // of nothing
  }).join();
  // The other wrap is closed, this one is not.
  EXPECT_EQ(log_->Retire(SIZE_MAX), 1u);
  EXPECT_EQ(Home(4), std::string(4, '\0'));
  EXPECT_EQ(Home(5, 64), "other");
  Store("MINE", 0);  // after the flush
  view_->Drain();
  EXPECT_EQ(log_->Retire(SIZE_MAX), 1u);
  EXPECT_EQ(Home(4), "mine");
}

TEST_F(ViewRegionTest, CopyFlushIsDurableAfterADrain) {
  view_->CopyFlush(At(3), "copied", 6);
  EXPECT_EQ(std::memcmp(At(3), "copied", 6), 0);
  view_->Drain();
  const auto report = Crash();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(Home(6, 3), "copied");
}

}  // namespace
}  // namespace kamino::engine
