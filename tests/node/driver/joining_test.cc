// A node joins while the chain executes: what goes wrong on the way, each case
// forced (Kamino-Tx, section 5.2).
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replica/builtins.h"
#include "replica/errors.h"
#include "tests/faults/fault.h"
#include "tests/node/driver/chain_rig.h"
#include "tests/node/driver/snapshot_chunk.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::ChainMessage;
using membership::Condition;
using replica::snapshot_format::Kind;
using Moment = ChainRig::Moment;

class JoiningTest : public ::testing::Test {
 protected:
  explicit JoiningTest(ChainRig::Options options = {}) : rig_(options) {}

  // Three nodes that hold objects of zeros and of others in turn, so that the
  // heap goes over in many chunks; and n4, outside.
  void SetUp() override {
    rig_.SetFilter([this](const std::string& from, const std::string& to,
                          ChainMessage* message,
                          std::string*) { return Pass(from, to, message); });
    rig_.StartAll();
    rig_.InstallView({"n1", "n2", "n3"});
    rig_.Settle(3);
    for (int i = 0; i < 12; ++i) {
      Submit(Put(absl::StrCat("zeros", i), std::string(8192, '\0')));
      Submit(Put(absl::StrCat("bytes", i), std::string(6000, 'a' + i)));
      rig_.Settle(1);
    }
    rig_.Settle();
    ASSERT_EQ(rig_.Difference(), "");
  }

  bool Pass(const std::string& from, const std::string& to,
            ChainMessage* message) {
    if (message->has_state_chunk()) {
      ++chunks_;
      bytes_ += message->state_chunk().snapshot().size();
    }
    return !filter_ || filter_(from, to, message);
  }

  // By a client of its own, which has one request under way at most.
  std::shared_ptr<Issued> Submit(const kamino::v1::Operation& operation) {
    return rig_.Submit(++client_, {operation});
  }

  // A step, with something to execute every now and then.
  bool StepUnderLoad() {
    if (++steps_ % 20 == 0) {
      Submit(Patch(absl::StrCat("bytes", steps_ / 20 % 12), steps_ % 5000,
                   absl::StrCat("at step ", steps_)));
    }
    if (steps_ % 50 == 0) rig_.Tick();
    return rig_.Step();
  }

  bool attached() { return rig_.node("n4").core().links().joiner.keeps_up(); }

  void RunUntilAttached() {
    for (int i = 0; i < 20000 && !attached(); ++i) StepUnderLoad();
    ASSERT_TRUE(attached());
  }

  void RunUntilChunks(int chunks) {
    for (int i = 0; i < 20000 && chunks_ < chunks; ++i) StepUnderLoad();
    ASSERT_EQ(chunks_, chunks);
    ASSERT_FALSE(attached());
  }

  // It gets its place, and everything goes on.
  void Append() {
    rig_.Settle();
    rig_.InstallView({"n1", "n2", "n3", "n4"});
    rig_.Settle();
    EXPECT_EQ(rig_.Difference(), "");
    const auto more = Submit(Put("more", std::string(700, 'm')));
    const auto gone = Submit(Delete("bytes3"));
    rig_.Settle();
    EXPECT_TRUE(more->acknowledged() && gone->acknowledged());
    EXPECT_EQ(rig_.Difference(), "");
  }

  replica::TransferStats transfer(const std::string& name) {
    return rig_.node(name).core().transfer();
  }
  // As a client would: what a tail says of an object.
  absl::StatusOr<std::string> ReadAtTail(const std::string& name,
                                         const std::string& key) {
    std::string value;
    absl::Status read = rig_.node(name).reads().Read(
        nullptr, [&](engine::KeyValueReader& objects) {
          auto entry = objects.Get(key);
          if (!entry.ok()) return entry.status();
          value = std::string(entry->value);
          return absl::OkStatus();
        });
    if (!read.ok()) return read;
    return value;
  }

  ChainRig rig_;
  std::function<bool(const std::string& from, const std::string& to,
                     ChainMessage*)>
      filter_;
  int chunks_ = 0;
  size_t bytes_ = 0;  // in them
  uint64_t client_ = 0;
  uint64_t steps_ = 0;
};

TEST_F(JoiningTest, ReceivesTheHeapWhileTheChainExecutes) {
  const uint64_t before = rig_.ring("n1").received();
  rig_.Invite("n4");
  RunUntilAttached();
  EXPECT_GT(chunks_, 20);
  EXPECT_GT(rig_.ring("n1").received(), before + 5);
  EXPECT_EQ(transfer("n3").begun, 1u);
  EXPECT_EQ(transfer("n4").damaged, 0u);
  Append();
}

// The manager compares what nodes hold: a node that joined must not be taken to
// hold what it had before.
class ReportTest : public JoiningTest {
 protected:
  bool CursorsAreOfTheHeapItGot() {
    rig_.Invite("n4");
    RunUntilAttached();
    EXPECT_NE(rig_.report("n4").caught_up_view, 0u);
    const auto& ring = rig_.ring("n4");
    return rig_.report("n4").cursors ==
           membership::Cursors{ring.received(), ring.applied(), ring.cleaned()};
  }
};

TEST_F(ReportTest, CursorsMatchTheRestOfTheReport) {
  EXPECT_TRUE(CursorsAreOfTheHeapItGot());
}

TEST_F(ReportTest, OldCursorsAreDetected) {
  faults::PlantFault("node-reports-old-cursors");
  EXPECT_FALSE(CursorsAreOfTheHeapItGot());
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

// A node that was a member knows a summary of the heap that it had. What it is
// sent must not be compared by that.
class SummaryTest : public JoiningTest {
 protected:
  // Whether n3, head on a heap that it got while it ran, sees that something
  // has changed since it was a member before.
  bool SeesChangesWhileItWasAway() {
    rig_.Settle();  // time enough to sum up
    const uint64_t since = rig_.ring("n3").applied();
    rig_.InstallView({"n1", "n2"});
    // More than the ring holds: it cannot go on where it was.
    for (int i = 0; i < 30; ++i) {
      Submit(Put("bytes5", std::string(6000, 'A' + i % 20)));
      rig_.Settle(1);
    }
    rig_.Invite("n3");
    for (int i = 0;
         i < 2000 && !rig_.node("n3").core().links().joiner.keeps_up(); ++i) {
      rig_.Settle(1);
    }
    EXPECT_EQ(transfer("n3").begun, 1u);
    EXPECT_GT(chunks_, 0);
    rig_.InstallView({"n1", "n2", "n3"});
    rig_.Settle();
    rig_.InstallView({"n3"});
    rig_.Settle();
    auto fenced = std::make_shared<Issued>();
    kamino::v1::CommitRequest commit;
    auto* range = commit.add_preconditions()->mutable_range_unchanged();
    range->set_start_key("bytes");
    range->set_end_key("bytes9");
    range->set_sequence(since);
    commit.set_fail_on_conflict(true);
    fenced->request.function = replica::kCommitFunction;
    fenced->request.arguments = commit.SerializeAsString();
    fenced->request.client_id = ++client_;
    fenced->request.number = 1;
    rig_.Retry(fenced);
    rig_.Settle();
    EXPECT_EQ(fenced->answers, 1);
    return replica::ReasonOf(fenced->outcome.status) ==
           kamino::v1::REASON_CONFLICT;
  }
};

TEST_F(SummaryTest, IsForgottenWithTheHeap) {
  EXPECT_TRUE(SeesChangesWhileItWasAway());
}

TEST_F(SummaryTest, ASummaryThatOutlivesTheHeapIsDetected) {
  faults::PlantFault("summary-outlives-the-heap");
  EXPECT_FALSE(SeesChangesWhileItWasAway());
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

// Each bit counts: of the data, of where they go, of how many zeros there are.
TEST_F(JoiningTest, ADamagedChunkBeginsTheTransferAgain) {
  const auto flip = [](int which, ChainMessage* message) {
    std::string* bytes = message->mutable_state_chunk()->mutable_snapshot();
    auto record = RecordOf(*bytes);
    switch (which) {
      case 0:
        if (record.kind != Kind::kData) return false;
        (*bytes)[bytes->size() / 2] ^= 4;
        return true;
      case 1:
        record.offset ^= 4096;
        break;
      case 2:
        if (record.kind != Kind::kZeros) return false;
        record.length ^= 64;
        break;
      default:
        record.checksum ^= 1;
    }
    Replace(record, bytes);
    return true;
  };
  int flipped = 0;
  filter_ = [&](const std::string&, const std::string&, ChainMessage* message) {
    const bool due = message->has_state_chunk() && flipped < 4 &&
                     chunks_ > 5 * (flipped + 1);
    if (due && flip(flipped, message)) ++flipped;
    return true;
  };
  rig_.Invite("n4");
  RunUntilAttached();
  EXPECT_EQ(flipped, 4);
  EXPECT_EQ(transfer("n4").damaged, 4u);
  EXPECT_EQ(transfer("n4").begun, 5u);
  EXPECT_EQ(transfer("n3").begun, 5u);
  Append();
}

TEST_F(JoiningTest, ALostChunkIsDetected) {
  bool lost = false;
  filter_ = [&](const std::string&, const std::string&, ChainMessage* message) {
    if (!message->has_state_chunk() || chunks_ < 4 || lost) return true;
    lost = true;
    return false;
  };
  rig_.Invite("n4");
  RunUntilAttached();
  EXPECT_TRUE(lost);
  EXPECT_EQ(transfer("n4").damaged, 1u);
  EXPECT_EQ(transfer("n4").begun, 2u);
  Append();
}

TEST_F(JoiningTest, ABrokenLinkBeginsTheTransferAgain) {
  rig_.Invite("n4");
  RunUntilChunks(6);
  rig_.BreakLinks("n3", "n4");
  RunUntilAttached();
  EXPECT_EQ(transfer("n4").begun, 2u);
  EXPECT_EQ(transfer("n4").damaged, 0u);
  Append();
}

// The tail has kept the operations that the node lacks: no chunk is sent again.
TEST_F(JoiningTest, ABrokenLinkResumesAmongOperations) {
  rig_.Invite("n4");
  RunUntilAttached();
  rig_.Settle(2);
  const int chunks = chunks_;
  for (int i = 1; i <= 5; ++i) {
    rig_.BreakLinks("n3", "n4");
    const auto missed = Submit(Put(absl::StrCat("missed", i), "value"));
    rig_.Settle(2);
    EXPECT_TRUE(missed->acknowledged());  // the chain does not wait for it
    rig_.Settle();
    EXPECT_TRUE(attached());
    EXPECT_EQ(transfer("n4").begun, 1u + i);
    EXPECT_EQ(rig_.ring("n4").applied(), rig_.ring("n3").applied());
  }
  EXPECT_EQ(chunks_, chunks);
  Append();
}

// Not for ever: then it needs the heap again.
TEST_F(JoiningTest, OperationsAreKeptForAWhileOnly) {
  rig_.Invite("n4");
  RunUntilAttached();
  rig_.Settle(2);
  const int chunks = chunks_;
  rig_.Invite("n4", false);
  rig_.Settle(1);
  rig_.BreakLinks("n3", "n4");
  Submit(Put("missed", "value"));
  rig_.Settle();
  EXPECT_GT(rig_.ring("n1").space().used(), 0u);
  rig_.Settle(220);  // more than ChainOptions::retain
  EXPECT_EQ(rig_.ring("n1").space().used(), 0u);
  rig_.Invite("n4");
  RunUntilAttached();
  EXPECT_GT(chunks_, chunks);
  Append();
}

TEST_F(JoiningTest, BeginsAgainAfterACrashWhileItReceives) {
  rig_.Invite("n4");
  for (const int chunks : {3, 9, 22}) {
    RunUntilChunks(chunks_ + chunks);
    ASSERT_EQ(rig_.node("n4").core().soundness().condition(),
              Condition::kReceiving);
    rig_.CutPower("n4", chunks);
    rig_.Settle(1);
    rig_.Start("n4");
    ASSERT_TRUE(rig_.up("n4")) << rig_.fatal("n4");
    EXPECT_EQ(rig_.node("n4").core().soundness().condition(),
              Condition::kReceiving);
    rig_.Invite("n4");
  }
  RunUntilAttached();
  EXPECT_EQ(transfer("n3").begun, 4u);
  Append();
}

// The chain completes the operation without it: no node can repair the
// operation that it was executing.
TEST_F(JoiningTest, BeginsAgainAfterACrashInAnOperation) {
  rig_.Invite("n4");
  RunUntilAttached();
  rig_.Settle(2);
  rig_.CutPowerAt("n4", Moment::kDrain, 1);
  Submit(Put("bytes0", std::string(6000, 'Z')));
  rig_.Settle(2);
  ASSERT_TRUE(rig_.tear("n4").torn());
  Submit(Put("bytes0", std::string(6000, 'z')));
  rig_.Settle(2);
  rig_.Start("n4");
  EXPECT_EQ(rig_.node("n4").core().soundness().condition(),
            Condition::kReceiving);
  rig_.Invite("n4");
  RunUntilAttached();
  Append();
}

// One that stopped between two operations has lost nothing.
TEST_F(JoiningTest, ResumesAfterACrashBetweenOperations) {
  rig_.Invite("n4");
  RunUntilAttached();
  rig_.Settle(2);
  const int chunks = chunks_;
  rig_.CutPower("n4", 5);
  const auto missed = Submit(Put("bytes0", std::string(6000, 'Z')));
  rig_.Settle(2);
  EXPECT_TRUE(missed->acknowledged());
  rig_.Start("n4");
  EXPECT_EQ(rig_.node("n4").core().soundness().condition(), Condition::kBehind);
  rig_.Invite("n4");
  RunUntilAttached();
  EXPECT_EQ(chunks_, chunks);
  Append();
}

// A node must have all that was acknowledged without it before it answers
// reads.
TEST_F(JoiningTest, ServesNoReadBeforeItHasItsPredecessorsEntries) {
  rig_.Invite("n4");
  RunUntilAttached();
  rig_.Settle(2);
  rig_.Hold("n4");
  const auto missed = Submit(Put("bytes0", "new"));
  rig_.Settle(2);
  ASSERT_TRUE(missed->acknowledged());
  rig_.BreakLinks("n3", "n4");  // what was on its way is lost
  rig_.InstallView({"n1", "n2", "n3", "n4"});
  rig_.Settle(1);
  rig_.Hold("n4", false);
  int refused = 0;
  bool served = false;
  for (int i = 0; i < 2000 && !served; ++i) {
    if (!rig_.Step()) rig_.Tick();
    if (!rig_.node("n4").core().place().is_tail()) continue;
    const auto value = ReadAtTail("n4", "bytes0");
    if (value.ok()) {
      served = true;
      EXPECT_EQ(*value, "new");
    } else {
      ++refused;
      EXPECT_EQ(rig_.node("n4").core().soundness().condition(),
                Condition::kBehind);
    }
  }
  EXPECT_TRUE(served);
  EXPECT_GT(refused, 1);
  rig_.Settle();
  EXPECT_EQ(rig_.Difference(), "");
}

constexpr uint64_t kPace = 100000;  // bytes a second

class PacedJoiningTest : public JoiningTest {
 protected:
  PacedJoiningTest() : JoiningTest(Paced()) {}
  static ChainRig::Options Paced() {
    ChainRig::Options options;
    options.transfer_bytes_per_s = kPace;
    return options;
  }
};

TEST_F(PacedJoiningTest, TheHeapIsSentAtTheAllowedRate) {
  rig_.Invite("n4");
  const absl::Time begin = rig_.now();
  size_t last_bytes = 0;
  absl::Time last = begin;
  for (int i = 0; i < 2000 && !attached(); ++i) {
    if (rig_.Step()) continue;
    rig_.Tick();
    if (bytes_ > last_bytes) last = rig_.now();
    last_bytes = bytes_;
  }
  ASSERT_TRUE(attached());
  // All but the cut, which is sent at once, and 50 ms' worth that was saved.
  const double least_s = (bytes_ - 32e3 - 0.05 * kPace) / kPace;
  EXPECT_GT(bytes_, 200000u);
  EXPECT_GE(absl::ToDoubleSeconds(last - begin), least_s);
  EXPECT_LE(absl::ToDoubleSeconds(last - begin), least_s + 0.5);
  Append();
}

// A node that is the whole chain lets another join. An object is deleted once
// so many messages and requests have been dealt with. Whether the cut came in
// the batch that did it, when the head has not yet flushed that the object's
// space is free.
bool DeleteWhileOneJoins(int inputs, uint64_t parity) {
  ChainRig::Options options;
  options.names = {"n1", "n2"};
  ChainRig rig(options);
  bool cut = false;
  rig.SetTap([&](const std::string&, uint64_t, const ChainMessage& message,
                 absl::string_view) { cut = cut || EndsSnapshot(message); });
  // Each acknowledgement that comes makes room for two chunks: the second can
  // be sent, or the cut, by a batch that has to do with something else. Whether
  // the cut is a second one depends on how many chunks there are.
  rig.SetFilter([parity](const std::string&, const std::string&,
                         ChainMessage* sent, std::string*) {
    return !sent->has_state_chunk_ack() ||
           sent->state_chunk_ack().chunks() % 2 == parity;
  });
  rig.StartAll();
  rig.InstallView({"n1"});
  rig.Settle(3);
  // The last chunk is so large that there is room for the operation's pages
  // after it.
  for (const size_t bytes : {6000, 60000}) {
    rig.Submit(1, {Put(absl::StrCat("zeros", bytes), std::string(8192, '\0'))});
    rig.Settle(1);
    rig.Submit(1, {Put(absl::StrCat("bytes", bytes), std::string(bytes, 'b'))});
    rig.Settle(1);
  }
  rig.Invite("n2");
  for (int i = 0; i < inputs; ++i) {
    if (!rig.Step()) rig.Tick();
  }
  const uint64_t before = rig.ring("n1").received();
  const auto gone = rig.Submit(1, {Delete("bytes6000")});
  bool at_once = false;
  for (int i = 0; i < 1000 && rig.ring("n1").received() == before; ++i) {
    const bool cut_before = cut;
    if (!rig.Step()) rig.Tick();
    at_once = cut && !cut_before;
  }
  rig.Settle();
  EXPECT_TRUE(rig.node("n2").core().links().joiner.keeps_up());
  rig.InstallView({"n1", "n2"});
  rig.Settle();
  EXPECT_TRUE(gone->acknowledged());
  EXPECT_EQ(rig.Difference(), "");
  return at_once;
}

TEST(JoiningASingleNodeTest, TheCutHasUnflushedBytesOfTheHead) {
  int at_once = 0;
  for (const uint64_t parity : {0, 1}) {
    for (int inputs = 0; inputs < 120; ++inputs) {
      SCOPED_TRACE(absl::StrCat(inputs, " inputs, parity ", parity));
      at_once += DeleteWhileOneJoins(inputs, parity);
    }
  }
  EXPECT_GT(at_once, 0);
}

}  // namespace
}  // namespace kamino::node
