// Reads at nodes that are not the tail: which of them may answer, of what, and
// when (docs/design/reads.md).
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "node/reads.h"
#include "replica/errors.h"
#include "tests/faults/planted.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

using kamino::v1::Reason;
using kamino::v1::REASON_NOT_CLEAN;
using kamino::v1::REASON_NOT_TAIL;
using kamino::v1::REASON_RECONFIGURING;

const std::vector<std::string> kAll = {"n1", "n2", "n3", "n4"};

// A node's answer: values, "-" for an absent one; or the reason of a refusal.
struct Answer {
  std::string values;
  Reason refused = kamino::v1::REASON_UNSPECIFIED;
  uint64_t version = 0;  // the highest
  uint64_t sequence = 0;
};

class CleanReadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rig_.StartAll();
    rig_.InstallView(kAll);
    rig_.Settle(3);
    Execute({Put("a", "1"), Put("b", "1"), Put("c", "1")});
  }

  void Execute(const std::vector<kamino::v1::Operation>& operations) {
    const auto issued = rig_.Submit(++client_, operations);
    rig_.Settle();
    ASSERT_TRUE(issued->acknowledged()) << issued->outcome.status;
  }

  // Executed by all but the tail, and acknowledged to no client.
  std::shared_ptr<Issued> ExecuteBeforeTheTail(
      const std::vector<kamino::v1::Operation>& operations) {
    rig_.Hold("n4");
    auto issued = rig_.Submit(++client_, operations);
    rig_.Settle(3);
    EXPECT_FALSE(issued->acknowledged());
    EXPECT_EQ(rig_.ring("n3").applied(), rig_.ring("n1").applied());
    EXPECT_LT(rig_.ring("n4").applied(), rig_.ring("n3").applied());
    return issued;
  }

  Answer Read(const std::string& name, const std::vector<std::string>& keys,
              ReadAt at = ReadAt::kAnyReplica) {
    kamino::v1::BatchGetRequest request;
    for (const std::string& key : keys) request.add_keys(key);
    kamino::v1::BatchGetResponse response;
    ChainNode& node = rig_.node(name);
    const absl::Status status = node.reads().Read(
        /*scope=*/nullptr,
        [&](engine::KeyValueReader& objects) {
          return ReadBatch(objects, request, &response);
        },
        at);
    Answer answer;
    answer.refused = replica::ReasonOf(status);
    answer.sequence = node.core().progress().settled();
    if (!status.ok()) return answer;
    for (const auto& result : response.results()) {
      answer.values += result.found() ? result.value() : "-";
      answer.version = std::max<uint64_t>(answer.version, result.version());
    }
    return answer;
  }

  ChainRig rig_;
  uint64_t client_ = 0;
};

TEST_F(CleanReadsTest, EveryNodeAnswersWhileNothingIsInFlight) {
  for (const std::string& name : kAll) {
    EXPECT_EQ(Read(name, {"a", "b", "nothing"}).values, "11-") << name;
  }
  EXPECT_EQ(rig_.node("n2").reads().stats().clean, 1u);
  EXPECT_EQ(rig_.node("n2").reads().stats().not_clean, 0u);
  EXPECT_EQ(rig_.node("n4").reads().stats().clean, 0u);  // the tail
}

TEST_F(CleanReadsTest, OnlyTheTailAnswersTailReads) {
  for (const char* name : {"n1", "n2", "n3"}) {
    EXPECT_EQ(Read(name, {"a"}, ReadAt::kTail).refused, REASON_NOT_TAIL);
  }
  EXPECT_EQ(Read("n4", {"a"}, ReadAt::kTail).values, "1");
}

TEST_F(CleanReadsTest, NoNodeReturnsMutationsThatTheTailLacks) {
  const uint64_t before = rig_.ring("n4").applied();
  const auto issued = ExecuteBeforeTheTail({Put("a", "2")});
  for (const char* name : {"n1", "n2", "n3"}) {
    EXPECT_EQ(Read(name, {"a"}).refused, REASON_NOT_CLEAN) << name;
    EXPECT_EQ(Read(name, {"b", "a"}).refused, REASON_NOT_CLEAN) << name;
    EXPECT_EQ(Read(name, {"a", "b"}).refused, REASON_NOT_CLEAN) << name;
    const Answer other = Read(name, {"b", "c", "nothing"});
    EXPECT_EQ(other.values, "11-") << name;
    EXPECT_EQ(other.sequence, before) << name;
    EXPECT_LE(other.version, before) << name;
  }
  EXPECT_EQ(Read("n4", {"a"}).values, "1");
  EXPECT_EQ(rig_.node("n2").reads().stats().clean, 1u);
  EXPECT_EQ(rig_.node("n2").reads().stats().not_clean, 3u);
  rig_.Hold("n4", false);
  rig_.Settle();
  EXPECT_TRUE(issued->acknowledged());
  for (const std::string& name : kAll) {
    EXPECT_EQ(Read(name, {"a", "b"}).values, "21") << name;
  }
}

// Absent, as a leaf of the index says that is being changed.
TEST_F(CleanReadsTest, NoNodeReadsPastALeafInFlight) {
  ExecuteBeforeTheTail({Delete("b"), Put("bb", "1")});
  for (const char* name : {"n1", "n2", "n3"}) {
    for (const char* key : {"b", "bb", "nothing", "c"}) {
      EXPECT_EQ(Read(name, {key}).refused, REASON_NOT_CLEAN)
          << name << " " << key;
    }
  }
}

TEST_F(CleanReadsTest, AReaderThatIgnoresTheIndexIsDetected) {
  faults::Planted fault("clean-reads-look-at-values-alone");
  ExecuteBeforeTheTail({Delete("b")});
  EXPECT_EQ(Read("n2", {"b"}).values, "-");
  EXPECT_EQ(Read("n4", {"b"}).values, "1");
}

TEST_F(CleanReadsTest, AReaderThatChecksOnlyTheLastObjectIsDetected) {
  faults::Planted fault("clean-reads-look-at-the-last-object");
  ExecuteBeforeTheTail({Put("a", "2")});
  EXPECT_EQ(Read("n2", {"a", "b"}).values, "21");
}

TEST_F(CleanReadsTest, AReaderThatTakesAppliedForCleanIsDetected) {
  faults::Planted fault("clean-reads-take-applied-for-clean");
  ExecuteBeforeTheTail({Put("a", "2")});
  EXPECT_EQ(Read("n2", {"a"}).values, "2");
  EXPECT_EQ(Read("n4", {"a"}).values, "1");
}

// The clean-up has not come yet, whatever the tail has applied.
TEST_F(CleanReadsTest, ANodeRefusesUntilItReceivesTheCleanUp) {
  rig_.SetFilter([](const std::string&, const std::string& to,
                    ChainRig::ChainMessage* message, std::string*) {
    return !(to == "n2" && message->has_clean_up());
  });
  const auto issued = rig_.Submit(++client_, {Put("a", "2")});
  rig_.Settle(3);
  EXPECT_TRUE(issued->acknowledged());
  EXPECT_EQ(Read("n4", {"a"}).values, "2");
  EXPECT_EQ(Read("n3", {"a"}).values, "2");
  EXPECT_EQ(Read("n2", {"a"}).refused, REASON_NOT_CLEAN);
}

TEST_F(CleanReadsTest, ANodeWithoutLeaseRefuses) {
  rig_.SetLease("n2", false);
  EXPECT_EQ(Read("n2", {"a"}).refused, REASON_RECONFIGURING);
  rig_.SetLease("n2", true);
  EXPECT_EQ(Read("n2", {"a"}).values, "1");
}

TEST_F(CleanReadsTest, ANodeThatIgnoresItsLeaseIsDetected) {
  faults::Planted fault("clean-reads-without-lease");
  rig_.SetLease("n2", false);
  EXPECT_EQ(Read("n2", {"a"}).values, "1");
}

// The view goes on without it, and it does not know: its lease has run out.
TEST_F(CleanReadsTest, AnExpelledNodeRefuses) {
  rig_.StoreView({"n1", "n3", "n4"});
  rig_.SetLease("n2", false);
  for (const char* name : {"n1", "n3", "n4"}) rig_.Tell(name);
  rig_.Settle();
  Execute({Put("a", "2")});
  EXPECT_EQ(Read("n2", {"a"}).refused, REASON_RECONFIGURING);
  EXPECT_EQ(Read("n3", {"a"}).values, "2");
  rig_.Tell("n2");
  rig_.SetLease("n2", true);
  rig_.Settle(1);
  EXPECT_EQ(Read("n2", {"a"}).refused, REASON_NOT_TAIL);  // it is outside
}

// A quick restart on a copy of its disk from before a mutation.
class ReturnedReadsTest : public CleanReadsTest {
 protected:
  void GoBack() {
    // Until that "a" is cleaned is durable.
    const size_t bytes = rig_.ring("n2").space().total() / 2;
    for (size_t put = 0; put < bytes; put += 1000) {
      Execute({Put("d", std::string(1000, 'd'))});
    }
    const SimDisk::Images copy = rig_.CopyDisk("n2");
    Execute({Put("a", "2")});
    rig_.CutPower("n2", 7);
    rig_.PutBack("n2", copy);
    rig_.Start("n2");
    rig_.SetFilter([](const std::string&, const std::string& to,
                      ChainRig::ChainMessage*,
                      std::string*) { return to != "n2"; });
    rig_.InstallView(kAll);
    rig_.Settle(2);
    ASSERT_EQ(rig_.node("n2").core().soundness().condition(),
              membership::Condition::kReturned);
  }
};

TEST_F(ReturnedReadsTest, AReturningNodeRefusesUntilConfirmed) {
  GoBack();
  EXPECT_EQ(Read("n2", {"a"}).refused, REASON_RECONFIGURING);
}

TEST_F(ReturnedReadsTest, AnUnconfirmedNodeThatAnswersIsDetected) {
  faults::Planted fault("clean-reads-at-one-that-has-returned");
  GoBack();
  EXPECT_EQ(Read("n2", {"a"}).values, "1");
}

TEST_F(CleanReadsTest, ARestartedNodeAnswersOnceConfirmed) {
  rig_.CutPower("n3", 3);
  rig_.Start("n3");
  rig_.InstallView(kAll);
  rig_.Settle();
  EXPECT_EQ(Read("n3", {"a", "b"}).values, "11");
}

// The next head completes the operations that were in flight at the old one.
TEST_F(CleanReadsTest, ANewHeadAnswersOnceInFlightEntriesComplete) {
  ExecuteBeforeTheTail({Put("a", "2")});
  rig_.CutPower("n1", 1);
  rig_.InstallView({"n2", "n3", "n4"});
  rig_.Settle(3);
  EXPECT_EQ(Read("n2", {"a"}).refused, REASON_NOT_CLEAN);
  EXPECT_EQ(Read("n3", {"a"}).refused, REASON_NOT_CLEAN);
  EXPECT_EQ(Read("n2", {"b"}).values, "1");
  rig_.Hold("n4", false);
  rig_.Settle();
  for (const char* name : {"n2", "n3", "n4"}) {
    EXPECT_EQ(Read(name, {"a"}).values, "2") << name;
  }
}

// A new tail makes clean what it has applied, even if the old tail lacked it.
TEST_F(CleanReadsTest, ANewTailCleansEntriesThatTheOldOneLacked) {
  ExecuteBeforeTheTail({Put("a", "2")});
  rig_.CutPower("n4", 1);
  rig_.InstallView({"n1", "n2", "n3"});
  rig_.Settle();
  for (const char* name : {"n1", "n2", "n3"}) {
    EXPECT_EQ(Read(name, {"a"}).values, "2") << name;
  }
}

// One that has got its heap by a transfer has cleaned nothing itself.
TEST_F(CleanReadsTest, AJoinedNodeAnswersReads) {
  const auto join = [&](const std::string& name,
                        const std::vector<std::string>& members) {
    rig_.Start(name);
    rig_.Tell(name);
    rig_.Invite(name);
    rig_.Settle(40);
    ASSERT_TRUE(rig_.up(name)) << rig_.fatal(name);
    EXPECT_GT(rig_.node(name).core().transfer().begun, 0u) << name;
    rig_.InstallView(members);
    rig_.Settle();
  };
  rig_.CutPower("n2", 1);
  rig_.InstallView({"n1", "n3", "n4"});
  rig_.Settle();
  Execute({Put("a", "2")});
  join("n2", {"n1", "n3", "n4", "n2"});
  if (HasFatalFailure()) return;
  EXPECT_EQ(Read("n2", {"a", "b"}, ReadAt::kTail).values, "21");
  EXPECT_EQ(Read("n4", {"a", "b"}).values, "21");
  rig_.CutPower("n4", 1);
  rig_.InstallView({"n1", "n3", "n2"});
  rig_.Settle();
  Execute({Put("a", "3")});
  // Then n2 is the tail no longer.
  join("n4", {"n1", "n3", "n2", "n4"});
  if (HasFatalFailure()) return;
  const uint64_t clean = rig_.node("n2").reads().stats().clean;
  for (const char* name : {"n1", "n3", "n2", "n4"}) {
    EXPECT_EQ(Read(name, {"a", "b"}).values, "31") << name;
  }
  EXPECT_EQ(rig_.node("n2").reads().stats().clean, clean + 1);
}

}  // namespace
}  // namespace kamino::node
