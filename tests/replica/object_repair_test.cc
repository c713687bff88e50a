// The reads of a node that adopts entries that it has not begun: the objects
// they touch, and nothing else of the heap, however large it is.
#include "replica/state/object_repair.h"

#include <memory>
#include <string>

#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "replica/procedure.h"
#include "replica/state/heap_executor.h"
#include "replica/state/state_machine.h"
#include "tests/faults/planted.h"

namespace kamino::replica {
namespace {

using engine::Heap;
using engine::IntentKind;
using engine::ObjectId;

constexpr uint32_t kSize = 112;

class AdoptingTest : public ::testing::Test {
 protected:
  AdoptingTest()
      : region_(1u << 20),
        heap_(*Heap::CreateWithLog(&region_, "test", 4096)),
        state_(&procedures_, heap_->root()),
        executor_(heap_.get(), &state_) {
    written_ = NewObject();
    freed_ = NewObject();
    unreadable_ = NewObject();
    allocated_ = *heap_->Reserve(kSize);
    capacity_ = static_cast<uint32_t>(heap_->BlockPayload(allocated_).size());
    heap_->Release(allocated_);
    // A walk that visits it fails.
    region_.base()[unreadable_ - 16 + 7] = std::byte{0xff};
    region_.base()[unreadable_ - 16] = std::byte{0xff};
  }

  ObjectId NewObject() {
    const ObjectId id = *heap_->Reserve(kSize);
    heap_->states().MarkAllocated(id);
    region_.Drain();
    return id;
  }

  absl::Status Adopt() {
    engine::WriteSet intents = {{written_, 8, 3, IntentKind::kWrite},
                                {freed_, 0, 0, IntentKind::kFree},
                                {allocated_, 0, capacity_, IntentKind::kAlloc}};
    ObjectRepair::Order(RepairDirection::kForward, &intents);
    absl::Status begun = executor_.BeginRepair(intents, /*interrupted=*/false);
    if (!begun.ok()) return begun;
    for (const engine::Intent& intent : intents) {
      const std::string bytes(intent.length, 'x');
      begun = executor_.RepairIntent(intent, bytes, RepairDirection::kForward);
      if (!begun.ok()) return begun;
    }
    return absl::OkStatus();
  }

  engine::SimRegion region_;
  std::unique_ptr<Heap> heap_;
  ProcedureRegistry procedures_;
  StateMachine state_;
  HeapExecutor executor_;
  ObjectId written_, freed_, unreadable_, allocated_;
  uint32_t capacity_;
};

TEST_F(AdoptingTest, VisitsOnlyTouchedObjects) {
  const auto objects = heap_->stats().objects;
  ASSERT_FALSE(heap_->Payload(unreadable_).ok());
  const absl::Status adopted = Adopt();
  ASSERT_TRUE(adopted.ok()) << adopted;
  const auto written = *heap_->Payload(written_);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(written.data()) + 8, 3),
            "xxx");
  EXPECT_FALSE(heap_->Payload(freed_).ok());
  EXPECT_TRUE(heap_->Payload(allocated_).ok());
  EXPECT_EQ(heap_->stats().objects, objects);  // one more, one less
  // A walk would have met it.
  EXPECT_FALSE(heap_->Load().ok());
}

TEST_F(AdoptingTest, AWalkIsDetected) {
  faults::Planted fault("adopting-walks-the-heap");
  EXPECT_FALSE(Adopt().ok());
}

TEST_F(AdoptingTest, AMissingObjectDiverges) {
  const engine::WriteSet intents = {{unreadable_, 0, 1, IntentKind::kWrite}};
  EXPECT_EQ(executor_.BeginRepair(intents, false).code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(AdoptingTest, BytesOfAnotherLengthAreRefused) {
  const engine::Intent intent = {written_, 8, 3, IntentKind::kWrite};
  ASSERT_TRUE(executor_.BeginRepair({intent}, false).ok());
  for (const char* bytes : {"", "xx", "xxxx"}) {
    EXPECT_EQ(
        executor_.RepairIntent(intent, bytes, RepairDirection::kForward).code(),
        absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(
      executor_.RepairIntent(intent, "xxx", RepairDirection::kForward).ok());
}

// As when a node with an older copy receives completed entries again.
TEST(RepairOrderTest, TheLastIntentOfAReusedBlockCounts) {
  const engine::Intent write = {64, 0, 8, IntentKind::kWrite};
  const engine::Intent free = {64, 0, 48, IntentKind::kFree};
  const engine::Intent taken = {64, 0, 32, IntentKind::kAlloc};
  const engine::Intent made = {192, 0, 32, IntentKind::kAlloc};
  const engine::Intent given_up = {192, 0, 32, IntentKind::kFree};
  const engine::Intent beside = {320, 0, 8, IntentKind::kWrite};
  const engine::WriteSet all = {made,  write, free,    beside,
                                taken, write, given_up};
  const auto ordered = [&all](RepairDirection direction) {
    engine::WriteSet intents = all;
    ObjectRepair::Order(direction, &intents);
    return intents;
  };
  const engine::WriteSet forward = {taken, beside, write, given_up};
  EXPECT_EQ(ordered(RepairDirection::kForward), forward);
  EXPECT_EQ(ordered(RepairDirection::kBack),
            engine::WriteSet({free, write, beside, made}));
  const faults::Planted planted("repair-assumes-blocks-are-used-once");
  EXPECT_NE(ordered(RepairDirection::kForward), forward);
}

}  // namespace
}  // namespace kamino::replica
