// A WrAP log on simulated memory, without a store.
#ifndef KAMINO_LAB_TESTS_WRAP_FIXTURE_H_
#define KAMINO_LAB_TESTS_WRAP_FIXTURE_H_

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "lab/wrap/wrap_layout.h"
#include "lab/wrap/wrap_log.h"
#include "lab/wrap/wrap_recovery.h"
#include "tests/engine/baselines/one_store.h"

namespace kamino::engine {

class WrapLogTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kBucketBytes = 512;
  static constexpr size_t kLogBytes = 8u << 10;
  static constexpr size_t kBuckets = 15;

  WrapLogTest() { Make(kBucketBytes); }

  void Make(uint64_t bucket_bytes) {
    log_.reset();
    heap_ = *Heap::CreateWithLog(&region_, wrap_format::kLabel, kLogBytes);
    ASSERT_TRUE(WrapLayout::Format(*heap_, bucket_bytes).ok());
    OpenLog();
  }

  void OpenLog() {
    layout_ = std::make_unique<WrapLayout>(*WrapLayout::Of(*heap_));
    log_ = std::make_unique<WrapLog>(*layout_, absl::ZeroDuration());
  }

  // The place for tests' stores: within the free block.
  uint64_t place() const { return heap_->root() + 8192; }

  // A wrap with a store there.
  Wrap Opened(const std::string& text, uint64_t offset = 0) {
    Wrap wrap;
    const absl::Status appended =
        log_->Append(&wrap, place() + offset, BytesOf(text));
    EXPECT_TRUE(appended.ok()) << appended;
    return wrap;
  }
  void Commit(Wrap wrap, uint64_t commit_sequence = 0) {
    log_->Close(&wrap, commit_sequence);
    log_->HandOver(std::move(wrap));
  }

  std::string Home(size_t length, uint64_t offset = 0) const {
    return {reinterpret_cast<const char*>(region_.base()) + place() + offset,
            length};
  }

  // Recovers the durable content, and replaces it; the log is as recovery left
  // it.
  absl::StatusOr<RecoveryReport> Crash() { return Recover(DurableOf(region_)); }
  absl::StatusOr<RecoveryReport> Recover(const SimRegion::Image& image) {
    log_.reset();
    region_.Reset(image.data());
    auto layout = WrapLayout::Of(*heap_);
    if (!layout.ok()) return layout.status();
    auto report = RecoverWraps(*layout);
    if (report.ok()) OpenLog();
    return report;
  }

  SimRegion region_{Heap::kMinTinyBytes};
  std::unique_ptr<Heap> heap_;  // on the medium itself
  std::unique_ptr<WrapLayout> layout_;
  std::unique_ptr<WrapLog> log_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_TESTS_WRAP_FIXTURE_H_
