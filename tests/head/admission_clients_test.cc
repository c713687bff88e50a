// Which clients' outcomes the head keeps, and which it drops to make room.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "head/admission.h"
#include "replica/errors.h"
#include "replica/procedure.h"
#include "tests/faults/fault.h"
#include "tests/head/admission_fixture.h"

namespace kamino::head {
namespace {

using replica::ReasonOf;

class TwoClientsTest : public AdmissionTest {
 protected:
  static AdmissionOptions Two() {
    AdmissionOptions options;
    options.max_clients = 2;
    options.evict_at_once = 1;
    return options;
  }
  TwoClientsTest() : AdmissionTest(Two()) {}
};

TEST_F(TwoClientsTest, ANewClientTakesThePlaceOfTheOldestIdleOne) {
  Put("a", "1", 10);
  Execute();
  Complete();
  now_ += absl::Seconds(1);
  Put("a", "1", 11);
  Execute();
  Complete();
  const size_t too_soon = Put("a", "1", 12);
  Execute();
  EXPECT_EQ(ReasonOf(StatusOf(too_soon)), kamino::v1::REASON_OVERLOADED);
  now_ += absl::Hours(1);
  const size_t later = Put("a", "1", 12);
  Execute();
  Complete();
  EXPECT_TRUE(StatusOf(later).ok());
  EXPECT_EQ(admission_->stats().evicted, 1u);
  // Its first number as well as the next one: it may have been executed.
  for (const uint64_t number : {1, 2}) {
    const size_t forgotten = Put("a", "again", 10, number);
    Execute();
    EXPECT_EQ(ReasonOf(StatusOf(forgotten)), kamino::v1::REASON_CLIENT_EXPIRED);
  }
  EXPECT_EQ(Get("a"), "1");
}

class ManyClientsTest : public AdmissionTest {
 protected:
  static constexpr uint64_t kClients = 200;
  static AdmissionOptions Many() {
    AdmissionOptions options;
    options.max_clients = kClients;
    return options;
  }
  ManyClientsTest() : AdmissionTest(Many()) {
    for (uint64_t client = 1; client <= kClients; ++client) {
      Put("a", "1", client);
      if (client % 20 == 0) Run();
    }
    EXPECT_EQ(admission_->stats().clients, kClients);
    now_ += absl::Hours(1);
    since_ = ring_->applied();
  }

  // Until no request waits for a lock.
  void Run() {
    do {
      Execute();
      Complete();
    } while (admission_->has_ready());
    ring_->Clean(ring_->applied());
  }

  // A commit that writes that many existing objects.
  size_t Commit(uint64_t objects, uint64_t client, uint64_t number) {
    kamino::v1::CommitRequest commit;
    for (uint64_t i = 0; i < objects; ++i) {
      auto* put = commit.add_then_operations()->mutable_put();
      put->set_key(absl::StrCat("object", i));
      put->set_value("v");
    }
    const size_t index = Submit(replica::kCommitFunction,
                                commit.SerializeAsString(), client, number);
    Run();
    return index;
  }
};

TEST_F(ManyClientsTest, ManyOutcomesAreDroppedAtOnce) {
  size_t evicting = 0;
  for (uint64_t client = 1001; client <= 1064; ++client) {
    const uint64_t before = admission_->stats().evicted;
    const size_t put = Put("a", "2", client);
    Run();
    ASSERT_TRUE(StatusOf(put).ok()) << StatusOf(put);
    ASSERT_LE(admission_->stats().clients, kClients);
    evicting += admission_->stats().evicted != before;
  }
  EXPECT_EQ(admission_->stats().evicted, 64u);
  EXPECT_EQ(evicting, 2u);
}

// Its own writes leave no room in a transaction for those of many evictions.
TEST_F(ManyClientsTest, AnEvictingTransactionMayBeAsLargeAsAnyOther) {
  uint64_t number = 1;
  uint64_t fits = 0;  // the most objects
  // New objects take more room: repeats until all of them exist.
  for (uint64_t before = 1; before != fits;) {
    before = fits;
    fits = 0;
    for (uint64_t step = 32768; step > 0; step /= 2) {
      const size_t tried = Commit(fits + step, kClients, ++number);
      if (StatusOf(tried).ok()) {
        fits += step;
      } else {
        ASSERT_EQ(ReasonOf(StatusOf(tried)), kamino::v1::REASON_TOO_LARGE)
            << StatusOf(tried);
      }
    }
  }
  ASSERT_GT(fits, 100u);
  ASSERT_LT(fits, 65535u) << "nothing is too large";
  const size_t large = Commit(fits - 14, 2000, 1);
  EXPECT_TRUE(StatusOf(large).ok()) << StatusOf(large);
  EXPECT_EQ(admission_->stats().evicted, 1u) << fits << " objects fit";
}

// Log entries that have no room for all evictions of one time.
class SmallEntriesTest : public AdmissionTest {
 protected:
  static constexpr uint64_t kClients = 100;
  static AdmissionOptions Many() {
    AdmissionOptions options;
    options.max_clients = kClients;
    options.evict_at_once = kClients;
    return options;
  }
  static replica::ChainOptions SmallEntries() {
    replica::ChainOptions options = CoreOptions();
    options.max_entry_bytes = 2048;
    return options;
  }
  SmallEntriesTest() : AdmissionTest(Many(), SmallEntries()) {
    for (uint64_t client = 1; client <= kClients; ++client) {
      Put("a", "1", client);
      Run();
    }
    EXPECT_EQ(admission_->stats().clients, kClients);
    now_ += absl::Hours(1);
    since_ = ring_->applied();
  }
  ~SmallEntriesTest() override { faults::PlantFault(""); }

  void Run() {
    do {
      Execute();
      Complete();
    } while (admission_->has_ready());
    ring_->Clean(ring_->applied());
  }
};

TEST_F(SmallEntriesTest, ANewClientEvictsNoMoreThanTheEntryTakes) {
  const size_t put = Put("a", "2", 1001);
  Run();
  EXPECT_TRUE(StatusOf(put).ok()) << StatusOf(put);
  EXPECT_EQ(admission_->stats().evicted, 1u);
}

TEST_F(SmallEntriesTest, AHeadThatEvictsAsManyAgainIsDetected) {
  faults::PlantFault("head-evicts-as-many-again");
  const size_t put = Put("a", "2", 1001);
  Run();
  EXPECT_EQ(ReasonOf(StatusOf(put)), kamino::v1::REASON_TOO_LARGE);
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

class FewClientsTest : public AdmissionTest {
 protected:
  static AdmissionOptions Few() {
    AdmissionOptions options;
    options.max_clients = 4;
    options.evict_at_once = 2;
    return options;
  }
  FewClientsTest() : AdmissionTest(Few()) {}

  // How many outcomes are stored.
  size_t Stored() {
    engine::HeapReader reader(&under_.heap());
    size_t stored = 0;
    EXPECT_TRUE(state_
                    .VisitClients(reader,
                                  [&](uint64_t, const auto&) {
                                    ++stored;
                                    return true;
                                  })
                    .ok());
    return stored;
  }
};

TEST_F(FewClientsTest, ABatchOfNewClientsKeepsTheClientLimit) {
  std::vector<size_t> puts;
  for (uint64_t i = 0; i < 10; ++i) {
    puts.push_back(Put(absl::StrCat("k", i), "v", 10 + i, 1 + i % 3));
  }
  Execute();
  Complete();
  EXPECT_EQ(Stored(), 4u);
  EXPECT_EQ(admission_->stats().clients, 4u);
  size_t refused = 0;
  for (size_t put : puts) {
    if (StatusOf(put).ok()) continue;
    ++refused;
    EXPECT_EQ(ReasonOf(StatusOf(put)), kamino::v1::REASON_OVERLOADED);
  }
  EXPECT_EQ(refused, 6u);
}

TEST_F(FewClientsTest, ManyNewClientsTakeTheRoomOfIdleOnes) {
  uint64_t client = 10;
  for (int round = 0; round < 20; ++round) {
    now_ += absl::Hours(1);
    since_ = ring_->applied();
    std::vector<size_t> puts;
    for (int i = 0; i < 3; ++i) {
      puts.push_back(Put(absl::StrCat("k", i), "v", ++client));
    }
    for (int i = 0; i < 8; ++i) {  // those that meet a lock wait for it
      Execute();
      Complete();
    }
    for (size_t put : puts) {
      ASSERT_TRUE(StatusOf(put).ok()) << StatusOf(put);
    }
    ASSERT_LE(Stored(), 4u);
    ASSERT_EQ(Stored(), admission_->stats().clients);
  }
}

TEST_F(FewClientsTest, AClientOfTheBatchKeepsItsPlace) {
  for (uint64_t client = 10; client < 14; ++client) {
    Put("a", "1", client);
    Execute();
    Complete();
  }
  now_ += absl::Hours(1);
  // By the time it is executed, it was last heard long ago.
  const size_t oldest = Put("a", "2", 10, 2);
  now_ += absl::Hours(1);
  since_ = ring_->applied();
  Put("b", "1", 20);
  for (int i = 0; i < 4; ++i) {
    Execute();
    Complete();
  }
  ASSERT_TRUE(StatusOf(oldest).ok()) << StatusOf(oldest);
  const size_t repeated = Put("a", "2", 10, 2);
  Execute();
  Complete();
  ASSERT_TRUE(StatusOf(repeated).ok()) << StatusOf(repeated);
  EXPECT_EQ(outcomes_[repeated]->sequence, outcomes_[oldest]->sequence);
  EXPECT_LE(Stored(), 4u);
}

class FewerClientsTest : public FewClientsTest {
 protected:
  ~FewerClientsTest() override { faults::PlantFault(""); }

  // Four clients have outcomes, and are silent, under a head that keeps two.
  void Promote(size_t evict_at_once) {
    for (uint64_t client = 10; client < 14; ++client) {
      Put("a", "1", client);
      Execute();
      Complete();
    }
    admission_.reset();
    AdmissionOptions fewer;
    fewer.max_clients = 2;
    fewer.evict_at_once = evict_at_once;
    admission_ =
        std::make_unique<Admission>(fewer, &under_.store(), &state_, &core_);
    ASSERT_TRUE(admission_->Promote(now_, &actions_).ok());
    EXPECT_EQ(admission_->stats().clients, 4u);
    Complete();
    now_ += absl::Hours(1);
  }

  absl::Status PutBy(uint64_t client, uint64_t number) {
    since_ = ring_->applied();
    const size_t put = Put("a", "2", client, number);
    Execute();
    Complete();
    return StatusOf(put);
  }
};

TEST_F(FewerClientsTest, APromotedHeadDropsExcessClients) {
  Promote(/*evict_at_once=*/1);
  for (uint64_t number = 2; number < 5; ++number) {
    EXPECT_TRUE(PutBy(13, number).ok());
  }
  EXPECT_EQ(Stored(), 2u);
  EXPECT_EQ(admission_->stats().clients, 2u);
}

// More are too many for one request to drop, and none of them asks any more.
TEST_F(FewerClientsTest, NewClientsEvictExcessClients) {
  Promote(/*evict_at_once=*/2);
  EXPECT_EQ(PutBy(20, 1), absl::OkStatus());
  EXPECT_EQ(Stored(), 3u);
  EXPECT_EQ(PutBy(21, 1), absl::OkStatus());
  EXPECT_EQ(Stored(), 2u);
  // The two that are left were heard just now.
  EXPECT_EQ(ReasonOf(PutBy(22, 1)), kamino::v1::REASON_OVERLOADED);
}

TEST_F(FewerClientsTest, NewClientsDoNotGrowAnExcess) {
  Promote(/*evict_at_once=*/1);
  for (uint64_t client = 20; client < 24; ++client) {
    EXPECT_EQ(PutBy(client, 1), absl::OkStatus());
    EXPECT_EQ(Stored(), 4u);
  }
  EXPECT_EQ(ReasonOf(PutBy(24, 1)), kamino::v1::REASON_OVERLOADED);
}

TEST_F(FewerClientsTest, AHeadThatRefusesNewClientsForeverIsDetected) {
  faults::PlantFault("head-drops-all-that-are-too-many-or-none");
  Promote(/*evict_at_once=*/2);
  for (uint64_t client = 20; client < 30; ++client) {
    EXPECT_EQ(ReasonOf(PutBy(client, 1)), kamino::v1::REASON_OVERLOADED);
    now_ += absl::Hours(1);
  }
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

// A procedure is withdrawn while clients still repeat calls of it.
class WithdrawnTest : public AdmissionTest {
 protected:
  WithdrawnTest() : AdmissionTest(Options(&withdrawn_)) {
    procedures_.Register(kProcedure, [](replica::ProcedureContext& context,
                                        absl::string_view key) {
      absl::Status put = context.Put(key, "1");
      return put.ok() ? absl::StatusOr<std::string>("made") : put;
    });
  }
  ~WithdrawnTest() override { faults::PlantFault(""); }

  static AdmissionOptions Options(const bool* withdrawn) {
    AdmissionOptions options;
    options.check_in_force = [withdrawn](absl::string_view function) {
      if (function != kProcedure || !*withdrawn) return absl::OkStatus();
      return replica::MakeError(kamino::v1::REASON_UNKNOWN_PROCEDURE,
                                "withdrawn");
    };
    return options;
  }

  // A call before the withdrawal, and the same afterwards.
  RequestOutcome CallTwice() {
    Submit(kProcedure, "a", /*client=*/10);
    Execute();
    Complete();
    withdrawn_ = true;
    const size_t again = Submit(kProcedure, "a", /*client=*/10);
    Execute();
    Complete();
    return std::move(*outcomes_.at(again));
  }

  static constexpr char kProcedure[] = "test.make";
  bool withdrawn_ = false;
};

TEST_F(WithdrawnTest, AClientLearnsTheOutcomeOfItsEarlierCall) {
  const RequestOutcome again = CallTwice();
  EXPECT_EQ(again.status, absl::OkStatus());
  EXPECT_EQ(again.result, "made");
  const size_t waits = Submit(kProcedure, "b", /*client=*/10, /*number=*/2);
  const size_t other = Submit(kProcedure, "b", /*client=*/11);
  const size_t put = Put("c", "1", /*client=*/12);
  Execute();
  Complete();
  EXPECT_EQ(ReasonOf(StatusOf(waits)), kamino::v1::REASON_UNKNOWN_PROCEDURE);
  EXPECT_EQ(ReasonOf(StatusOf(other)), kamino::v1::REASON_UNKNOWN_PROCEDURE);
  EXPECT_EQ(StatusOf(put), absl::OkStatus());
  EXPECT_EQ(Get("b"), "absent");
}

// Requests that wait when the view changes.
TEST_F(WithdrawnTest, AWaitingCallIsRefused) {
  const size_t waits = Submit(kProcedure, "b", /*client=*/10);
  withdrawn_ = true;
  Execute();
  EXPECT_EQ(ReasonOf(StatusOf(waits)), kamino::v1::REASON_UNKNOWN_PROCEDURE);
}

TEST_F(WithdrawnTest, AHeadThatForgetsTheOutcomeIsDetected) {
  faults::PlantFault("head-refuses-withdrawn-calls-that-are-over");
  EXPECT_EQ(ReasonOf(CallTwice().status), kamino::v1::REASON_UNKNOWN_PROCEDURE);
}

}  // namespace
}  // namespace kamino::head
