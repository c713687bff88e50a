#include "replica/log/objects_in_flight.h"

#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "replica/errors.h"
#include "replica/state/clean_reader.h"
#include "tests/faults/planted.h"
#include "tests/replica/text_entry.h"

namespace kamino::replica {
namespace {

using engine::ObjectId;
using engine::SimRegion;

const LogRing::HeapUuid kHeap = {1, 2, 3};

ObjectId IdOf(char letter) {
  return kObjectSpacing * static_cast<ObjectId>(letter - 'a' + 1);
}

class ObjectsInFlightTest : public ::testing::Test {
 protected:
  void Append(const std::string& text, uint32_t count = 1) {
    ASSERT_TRUE(AppendText(ring_.get(), text, count).ok());
  }
  // Those of the letters a to h that are in flight.
  std::string InFlight() {
    EXPECT_TRUE(in_flight_.CatchUp());
    std::string letters;
    for (char letter = 'a'; letter <= 'h'; ++letter) {
      if (in_flight_.MayHave(IdOf(letter))) letters += letter;
    }
    return letters;
  }

  SimRegion region_{LogRing::kMinBytes};
  std::unique_ptr<LogRing> ring_ = *LogRing::Create(&region_, kHeap);
  ObjectsInFlight in_flight_{ring_.get()};
};

TEST_F(ObjectsInFlightTest, EntriesCountUntilTheyAreCleaned) {
  EXPECT_EQ(InFlight(), "");
  Append("a=1 b=2");
  EXPECT_EQ(InFlight(), "ab");
  Append("c=3", 5);
  ring_->MarkApplied(1);
  EXPECT_EQ(InFlight(), "abc");  // applied here is not applied by all
  ring_->Clean(1);
  EXPECT_EQ(InFlight(), "c");
  Append("b=4");
  EXPECT_EQ(InFlight(), "bc");
  ring_->MarkApplied(7);
  ring_->Clean(6);
  EXPECT_EQ(InFlight(), "b");
  ring_->Clean(7);
  EXPECT_EQ(InFlight(), "");
}

TEST_F(ObjectsInFlightTest, AnObjectThatIsWrittenAgainStays) {
  Append("a=1");
  Append("a=2");
  ring_->MarkApplied(2);
  ring_->Clean(1);
  EXPECT_EQ(InFlight(), "a");
}

TEST_F(ObjectsInFlightTest, EntriesCleanedBeforeALookDoNotCount) {
  Append("a=1");
  Append("b=1");
  ring_->MarkApplied(2);
  ring_->Clean(2);
  Append("c=1");
  EXPECT_EQ(InFlight(), "c");
}

TEST_F(ObjectsInFlightTest, ARestartFindsTheEntriesInTheRing) {
  Append("a=1");
  Append("b=1");
  ring_->MarkApplied(1);
  ring_->PersistApplied();
  ring_ = *LogRing::Open(&region_, kHeap);
  ObjectsInFlight reopened(ring_.get());
  ASSERT_TRUE(reopened.CatchUp());
  EXPECT_TRUE(reopened.MayHave(IdOf('a')));
  EXPECT_TRUE(reopened.MayHave(IdOf('b')));
  EXPECT_FALSE(reopened.MayHave(IdOf('c')));
}

// An entry with the number of one that was dropped.
class RewrittenRingTest : public ObjectsInFlightTest {
 protected:
  std::string AfterATruncation() {
    Append("a=1");
    Append("b=1");
    EXPECT_EQ(InFlight(), "ab");
    ring_->TruncateAfter(1);
    Append("c=1");
    return InFlight();
  }
};

TEST_F(RewrittenRingTest, IsReadAgain) {
  EXPECT_EQ(AfterATruncation(), "ac");
  ring_->Restart(1, 5);
  EXPECT_EQ(InFlight(), "");
  Append("d=1");
  EXPECT_EQ(InFlight(), "d");
  const TextBatch other("e=1");
  ASSERT_TRUE(ring_->ReplaceLast(other.Draft(2)).ok());
  EXPECT_EQ(InFlight(), "e");
}

TEST_F(RewrittenRingTest, ARingThatIsNotReadAgainIsDetected) {
  faults::Planted fault("clean-reads-forget-no-entry");
  EXPECT_EQ(AfterATruncation(), "ab");
}

TEST_F(ObjectsInFlightTest, LooksAtABoundedNumberOfEntriesAtATime) {
  for (int i = 0; i < ObjectsInFlight::kEntriesAtOnce; ++i) Append("a=1");
  Append("b=1");
  EXPECT_FALSE(in_flight_.CatchUp());
  EXPECT_EQ(InFlight(), "ab");
}

TEST_F(ObjectsInFlightTest, FewObjectsShareAPlace) {
  Append("a=1");
  ASSERT_TRUE(in_flight_.CatchUp());
  int taken = 0;
  constexpr int kObjects = 100000;
  for (int i = 1; i <= kObjects; ++i) {
    taken += in_flight_.MayHave(static_cast<ObjectId>(i) * 4096) ? 1 : 0;
  }
  EXPECT_LT(taken, 4 * kObjects / static_cast<int>(ObjectsInFlight::kPlaces));
}

class OneByteObjects final : public engine::Reader {
 public:
  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId) override {
    return absl::MakeConstSpan(&byte_, 1);
  }

 private:
  const std::byte byte_{7};
};

TEST_F(ObjectsInFlightTest, ACleanReaderReadsNothingThatIsInFlight) {
  Append("a=1");
  ring_->MarkApplied(1);
  ASSERT_TRUE(in_flight_.CatchUp());
  OneByteObjects objects;
  CleanReader reader(&objects, &in_flight_);
  EXPECT_TRUE(reader.Read(IdOf('b')).ok());
  EXPECT_FALSE(reader.met_in_flight());
  EXPECT_EQ(ReasonOf(reader.Read(IdOf('a')).status()),
            kamino::v1::REASON_NOT_CLEAN);
  EXPECT_TRUE(reader.met_in_flight());
  EXPECT_TRUE(reader.Read(IdOf('b')).ok());
  EXPECT_TRUE(reader.met_in_flight());  // of all that was read
}

}  // namespace
}  // namespace kamino::replica
