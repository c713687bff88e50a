// The head's behaviour when stored outcomes leave no room.
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/index/key_value.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "head/admission.h"
#include "tests/faults/planted.h"
#include "tests/head/admission_fixture.h"

namespace kamino::head {
namespace {

using replica::ReasonOf;
using ::testing::HasSubstr;

constexpr size_t kResultBytes = 60'000;

class OutcomeRoomTest : public AdmissionTest {
 protected:
  explicit OutcomeRoomTest(AdmissionOptions options = {})
      : AdmissionTest(options) {
    EXPECT_TRUE(Run(Put("large", std::string(kResultBytes, 'x'), 1)).ok());
  }

  // All clients are silent for an hour; later ones know the chain's position.
  void PassAnHour() {
    now_ += absl::Hours(1);
    since_ = ring_->applied();
  }

  // Until no request is ready.
  absl::Status Run(size_t index) {
    do {
      Execute();
      Complete();
    } while (admission_->has_ready());
    return StatusOf(index);
  }

  // One commit, whose outcome is large.
  size_t CommitLarge(uint64_t client, uint64_t number = 1) {
    kamino::v1::CommitRequest commit;
    commit.add_then_operations()->mutable_get()->set_key("large");
    return Submit(replica::kCommitFunction, commit.SerializeAsString(), client,
                  number);
  }

  // By clients from 100 on, until one is refused; returns that one.
  uint64_t CommitLargeUntilRefused(absl::Status* refused) {
    uint64_t client = 100;
    while ((*refused = Run(CommitLarge(client))).ok() && client < 1000) {
      ++client;
    }
    return client;
  }
};

void ExpectOverloaded(const absl::Status& status) {
  EXPECT_EQ(ReasonOf(status), kamino::v1::REASON_OVERLOADED) << status;
}

class BoundedResultsTest : public OutcomeRoomTest {
 protected:
  void ExpectAnEighth() {
    absl::Status refused;
    CommitLargeUntilRefused(&refused);
    ExpectOverloaded(refused);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("stored for retries"));
    const size_t bytes = under_.heap().stats().bytes_total;
    EXPECT_LE(admission_->stats().stored_result_bytes, bytes / 8);
    EXPECT_GE(admission_->stats().stored_result_bytes,
              bytes / 8 - kResultBytes - 1000);
  }
};

TEST_F(BoundedResultsTest, StoredResultsTakeAnEighthOfTheHeap) {
  ExpectAnEighth();
  // Other requests succeed, and a client with a large outcome gets another.
  EXPECT_TRUE(Run(Put("small", "1", 50)).ok());
  EXPECT_TRUE(Run(CommitLarge(100, 2)).ok());
}

TEST_F(BoundedResultsTest, ResultsBeyondTheBoundAreDetected) {
  faults::Planted fault("head-stores-results-without-bound");
  absl::Status refused;
  CommitLargeUntilRefused(&refused);
  EXPECT_GT(admission_->stats().stored_result_bytes,
            under_.heap().stats().bytes_total / 8);
}

TEST_F(BoundedResultsTest, ABatchKeepsTheBound) {
  size_t last = 0;
  for (uint64_t client = 100; client < 140; ++client) {
    last = CommitLarge(client);
  }
  ExpectOverloaded(Run(last));
  EXPECT_LE(admission_->stats().stored_result_bytes,
            under_.heap().stats().bytes_total / 8);
}

TEST_F(BoundedResultsTest, ResultsOfSilentClientsAreDropped) {
  absl::Status refused;
  const uint64_t client = CommitLargeUntilRefused(&refused);
  PassAnHour();
  const size_t before = CommitLarge(client);
  Execute();
  ExpectOverloaded(StatusOf(before));
  EXPECT_TRUE(Run(CommitLarge(client)).ok());
  EXPECT_GT(admission_->stats().evicted, 0u);
  // Clients with dropped outcomes that ask again are not executed again.
  since_ = 0;
  EXPECT_EQ(ReasonOf(Run(CommitLarge(100))), kamino::v1::REASON_CLIENT_EXPIRED);
}

TEST_F(BoundedResultsTest, ANewHeadKnowsTheBytesOfStoredResults) {
  absl::Status refused;
  CommitLargeUntilRefused(&refused);
  const uint64_t stored = admission_->stats().stored_result_bytes;
  EXPECT_GT(stored, 0u);
  admission_.reset();
  admission_ = std::make_unique<Admission>(AdmissionOptions(), &under_.store(),
                                           &state_, &core_);
  ASSERT_TRUE(admission_->Promote(now_, &actions_).ok());
  EXPECT_EQ(admission_->stats().stored_result_bytes, stored);
}

class FullHeapTest : public OutcomeRoomTest {
 protected:
  static AdmissionOptions AllOfTheHeap() {
    AdmissionOptions options;
    options.outcomes_share = 1;
    return options;
  }
  FullHeapTest() : OutcomeRoomTest(AllOfTheHeap()) {
    absl::Status refused;
    CommitLargeUntilRefused(&refused);
    EXPECT_EQ(ReasonOf(refused), kamino::v1::REASON_HEAP_FULL) << refused;
  }

  size_t PutLarge(uint64_t client) {
    return Put("another", std::string(kResultBytes, 'y'), client);
  }

  void ExpectRoomOnceTheyAreSilent() {
    PassAnHour();
    const size_t first = PutLarge(5000);
    Execute();
    ExpectOverloaded(StatusOf(first));
    // The outcomes are dropped here, but not by the chain.
    EXPECT_EQ(admission_->stats().in_flight, 1u);
    Complete();
    EXPECT_TRUE(Run(PutLarge(5000)).ok());
    EXPECT_EQ(admission_->stats().evicted, 32u);
  }
};

TEST_F(FullHeapTest, OutcomesOfRecentClientsAreKept) {
  now_ += absl::Minutes(9);
  EXPECT_EQ(ReasonOf(Run(PutLarge(5000))), kamino::v1::REASON_HEAP_FULL);
  EXPECT_EQ(admission_->stats().evicted, 0u);
}

TEST_F(FullHeapTest, OutcomesOfSilentClientsAreDropped) {
  ExpectRoomOnceTheyAreSilent();
  // Longest silent first; 1 put the object.
  since_ = 0;
  EXPECT_EQ(ReasonOf(Run(CommitLarge(130))), kamino::v1::REASON_CLIENT_EXPIRED);
  const size_t kept = CommitLarge(131);
  ASSERT_TRUE(Run(kept).ok()) << StatusOf(kept);
  EXPECT_EQ(admission_->stats().repeated, 1u);
}

TEST_F(FullHeapTest, AHeadThatKeepsOutcomesIsDetected) {
  faults::Planted fault("head-keeps-outcomes-in-a-full-heap");
  PassAnHour();
  EXPECT_EQ(ReasonOf(Run(PutLarge(5000))), kamino::v1::REASON_HEAP_FULL);
}

// The decisions of head/reserve.h; more of them are in reserve_test.cc.
class FullOfOutcomesTest : public FullHeapTest {
 protected:
  FullOfOutcomesTest() { PutByNewClients(); }

  // Until one is refused, as there is no room for its outcome; returns how many
  // were not.
  int PutByNewClients() {
    for (int count = 0;; ++count) {
      const absl::Status status = Run(Put("large", "x", ++client_));
      if (status.ok()) continue;
      EXPECT_EQ(ReasonOf(status), kamino::v1::REASON_HEAP_FULL) << status;
      return count;
    }
  }
  absl::Status DeleteByNewClient() { return Run(Delete("large", ++client_)); }

  uint64_t client_ = 10000;
};

TEST_F(FullOfOutcomesTest, ADeleteByANewClientIsExecuted) {
  const absl::Status deleted = DeleteByNewClient();
  EXPECT_TRUE(deleted.ok()) << deleted;
}

TEST_F(FullOfOutcomesTest, AHeadThatRefusesDeletesIsDetected) {
  faults::Planted fault("head-refuses-what-frees-room");
  EXPECT_EQ(ReasonOf(DeleteByNewClient()), kamino::v1::REASON_HEAP_FULL);
}

TEST_F(FullOfOutcomesTest, AHeadWithoutReserveIsDetected) {
  faults::Planted fault("head-keeps-no-reserve");
  EXPECT_GT(PutByNewClients(), 100);
  EXPECT_EQ(ReasonOf(DeleteByNewClient()), kamino::v1::REASON_HEAP_FULL);
}

// A full heap in which every second one of many small objects was deleted
// since: more than the reserve is free, in pieces of that size.
class SmallPiecesTest : public OutcomeRoomTest {
 protected:
  SmallPiecesTest() {
    while (objects_ < kMany) EXPECT_TRUE(PutNew(kSmall).ok());
    for (const size_t size : {kResultBytes, kSmall}) {
      while (PutNew(size).ok()) {
      }
    }
    // A head without reserve leaves it so.
    const uint64_t kept = under_.heap().reserve().bytes_kept;
    under_.heap().KeepReserve(0);
    for (const size_t size : {kResultBytes, kSmall}) {
      while (PutNew(size).ok()) {
      }
    }
    under_.heap().KeepReserve(kept);
    for (int i = 0; FreeBytes() < kept + kept / 4 && i < kMany; i += 2) {
      kamino::v1::DeleteRequest del;
      del.set_key(KeyOf(i));
      const absl::Status deleted =
          Run(Submit(replica::kDeleteFunction, del.SerializeAsString(), kKnown,
                     ++number_));
      EXPECT_TRUE(deleted.ok()) << deleted;
    }
    EXPECT_GE(FreeBytes(), kept);
    EXPECT_LT(under_.heap().reserve().bytes_whole, kept);
  }

  static constexpr int kMany = 5000;
  static constexpr size_t kSmall = 100;
  static constexpr uint64_t kKnown = 1;  // its outcome is stored

  static std::string KeyOf(int object) { return absl::StrCat("o", object); }
  absl::Status PutNew(size_t bytes) {
    absl::Status put =
        Run(Put(KeyOf(objects_), std::string(bytes, 's'), kKnown, ++number_));
    if (put.ok()) ++objects_;
    return put;
  }
  uint64_t FreeBytes() {
    const engine::HeapStats stats = under_.heap().stats();
    return stats.bytes_total - stats.bytes_used;
  }

  int objects_ = 0;
  uint64_t number_ = 1;
};

TEST_F(SmallPiecesTest, AreLeftToBecomePages) {
  EXPECT_EQ(ReasonOf(PutNew(kSmall)), kamino::v1::REASON_HEAP_FULL);
}

TEST_F(SmallPiecesTest, AHeadThatFillsThemIsDetected) {
  faults::Planted fault("head-fills-what-deletes-leave");
  const absl::Status put = PutNew(kSmall);
  EXPECT_TRUE(put.ok()) << put;
}

TEST_F(FullHeapTest, AClientThatRetriesMeanwhileIsKept) {
  PassAnHour();
  PutLarge(5000);
  const size_t repeated = CommitLarge(100);
  EXPECT_TRUE(Run(repeated).ok()) << StatusOf(repeated);
  EXPECT_EQ(admission_->stats().repeated, 1u);
  const size_t again = CommitLarge(100);
  EXPECT_TRUE(Run(again).ok()) << StatusOf(again);
  EXPECT_EQ(admission_->stats().repeated, 2u);
}

// The outcome that is dropped for it does not make room enough.
TEST_F(OutcomeRoomTest, AnOversizedPutIsNotOverloadedForever) {
  absl::Status status;
  for (uint64_t number = 2; status.ok(); ++number) {
    status = Run(Put(absl::StrCat("object", number),
                     std::string(kResultBytes, 'o'), 1, number));
  }
  EXPECT_EQ(ReasonOf(status), kamino::v1::REASON_HEAP_FULL) << status;
  PassAnHour();
  const std::string huge(engine::kMaxValueBytes, 'z');
  status = Run(Put("huge", huge, 5000));
  ExpectOverloaded(status);
  for (int tries = 0; tries < 100; ++tries) {
    if (ReasonOf(status) != kamino::v1::REASON_OVERLOADED) break;
    now_ += absl::Milliseconds(100);
    status = Run(Put("huge", huge, 5000));
  }
  EXPECT_EQ(ReasonOf(status), kamino::v1::REASON_HEAP_FULL) << status;
}

}  // namespace
}  // namespace kamino::head
