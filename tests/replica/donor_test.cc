#include "replica/repair/donor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tests/faults/fault.h"
#include "tests/replica/expected_text.h"
#include "tests/replica/part_rig.h"
#include "tests/replica/transition_table.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::Hello;
using membership::View;

constexpr LinkId kLink = 2;
constexpr LinkId kOther = 4;

// The tail has applied operations 1 to 3, of objects a, b and c; 1 is cleaned.
struct DonorRig : PartRig {
  DonorRig() {
    options.window_chunks = 2;
    Append("a=1");
    ring->Clean(1);
    Append("b=2");
    Append("c=3");
    heap.objects = {{'a', "1"}, {'b', "2"}, {'c', "3"}};
  }

  std::string StateText() const {
    const char* const names[] = {"kIdle", "kCopying", "kFollowed"};
    std::string text = names[static_cast<int>(donor.state())];
    if (!donor.joining().empty()) absl::StrAppend(&text, " ", donor.joining());
    absl::StrAppend(&text, ", link ", downstream.link());
    if (donor.retains()) absl::StrAppend(&text, "; retains");
    return text;
  }

  void Begin(LinkId link, const std::string& name, int resume_after = -1) {
    Hello hello;
    hello.set_incarnation(1);
    hello.set_node_id(name);
    hello.set_resume(resume_after >= 0);
    hello.set_applied(resume_after >= 0 ? resume_after : 0);
    donor.Begin(link, hello, {}, /*confirmed=*/true, now);
    downstream.Pump();
  }

  // As at the end of a batch.
  void Continue() {
    donor.Continue(now);
    downstream.Pump();
  }

  // Whether that other node, which the manager invites, may join.
  bool Takes(const std::string& name) {
    Hello hello;
    hello.set_incarnation(1);
    hello.set_node_id(name);
    return donor.Refuse(hello, View{"c", 7, {Named("n1")}}, true, now).empty();
  }

  // Lets that time pass.
  void Pass(absl::Duration time) {
    for (const absl::Time end = now + time; now < end;) {
      now += absl::Milliseconds(20);
      Continue();
      donor.OnTick(now);
    }
  }

  // Fills at least half of the ring.
  void FillHalf() {
    const std::string large(ring->space().max_entry() - 192, 'x');
    while (ring->space().used() <= ring->space().total() / 2) Append(large);
  }

  TransferStats stats;
  Downstream downstream{options, ring.get(), &outbox};
  ChainContext Context() {
    return {&options,
            /*place=*/nullptr,
            ring.get(),
            /*record=*/nullptr,
            /*executor=*/nullptr,
            &heap,
            &outbox,
            &stats};
  }
  Donor donor{Context(), &downstream};
};

void Copy(DonorRig& rig) { rig.Begin(kLink, "n4"); }
void Follow(DonorRig& rig) { rig.Begin(kLink, "n4", 3); }

TEST(DonorTest, WalksItsTable) {
  using Rig = DonorRig;
  TransitionTable<Rig> table;
  table.AddState("kIdle", [](Rig&) {});
  table.AddState("kIdle, retains", [](Rig& rig) {
    Follow(rig);
    rig.donor.OnClosed(kLink, rig.now);
  });
  table.AddState("kCopying", Copy);
  table.AddState("kCopying, the window is full", [](Rig& rig) {
    Copy(rig);
    rig.options.window_chunks = 1;
    rig.donor.Continue(rig.now);
    rig.options.cut_bytes = 2;  // as much as is left
  });
  table.AddState("kFollowed", Follow);

  table.AddInput("Begin", [](Rig& rig) { rig.Begin(kOther, "n5"); });
  table.AddInput("Begin, has 2", [](Rig& rig) { rig.Begin(kOther, "n5", 2); });
  table.AddInput("Begin, has what is gone",
                 [](Rig& rig) { rig.Begin(kOther, "n5", 0); });
  table.AddInput("Begin, has more",
                 [](Rig& rig) { rig.Begin(kOther, "n5", 9); });
  table.AddInput("Continue", [](Rig& rig) { rig.Continue(); });
  table.AddInput("OnChunkAck, Continue", [](Rig& rig) {
    rig.donor.OnChunkAck(1);
    rig.Continue();
  });
  table.AddInput("KeepsRing", [](Rig& rig) {
    rig.Note(rig.donor.KeepsRing() ? "keeps" : "does not");
  });
  table.AddInput("KeepsRing, half full", [](Rig& rig) {
    rig.FillHalf();
    rig.Note(rig.donor.KeepsRing() ? "keeps" : "does not");
  });
  table.AddInput("OnTick, too early", [](Rig& rig) {
    if (rig.donor.OnTick(rig.now)) rig.Note("ends retaining");
  });
  table.AddInput("OnTick, after five seconds", [](Rig& rig) {
    if (rig.donor.OnTick(rig.now + rig.options.retain)) {
      rig.Note("ends retaining");
    }
  });
  table.AddInput("Forget", [](Rig& rig) { rig.donor.Forget(); });
  table.AddInput("OnClosed", [](Rig& rig) {
    if (rig.donor.OnClosed(kLink, rig.now)) rig.Note("was its link");
  });
  table.AddInput("OnClosed, another link", [](Rig& rig) {
    if (rig.donor.OnClosed(99, rig.now)) rig.Note("was its link");
  });
  table.AddInput("Leave, of the view", [](Rig& rig) {
    rig.donor.Leave(rig.now);
    rig.downstream.Leave();
  });
  table.AddInput("EndRetaining", [](Rig& rig) { rig.donor.EndRetaining(); });
  ExpectText("tests/replica/tables/donor.txt", table.Walk());
}

TEST(DonorTest, AnEndedTransferHasNoBytesLeft) {
  for (const bool completes : {true, false}) {
    DonorRig rig;
    Copy(rig);
    rig.options.window_chunks = 1;
    rig.donor.Continue(rig.now);
    EXPECT_GT(rig.stats.bytes_left, 0u);
    if (completes) {
      rig.options.window_chunks = 100;
      rig.options.cut_bytes = 1u << 30;
      rig.donor.Continue(rig.now);
    } else {
      rig.donor.Forget();
    }
    EXPECT_EQ(rig.stats.bytes_left, 0u) << completes;
  }
}

TEST(DonorTest, RefusesNodesThatCannotJoin) {
  DonorRig rig;
  const View view{"c", 7, {DonorRig::Named("n1"), DonorRig::Named("n2")}};
  Hello hello;
  hello.set_incarnation(1);
  EXPECT_EQ(rig.donor.Refuse(hello, view, true, rig.now),
            "a node without a name cannot join");
  hello.set_node_id("n2");
  EXPECT_EQ(rig.donor.Refuse(hello, view, true, rig.now), "n2 is in view 7");
  hello.set_node_id("n5");
  EXPECT_EQ(rig.donor.Refuse(hello, view, false, rig.now),
            "n1 cannot give its state to n5 now");
  EXPECT_EQ(rig.donor.Refuse(hello, view, true, rig.now), "");
  Copy(rig);
  EXPECT_EQ(rig.donor.Refuse(hello, view, true, rig.now),
            "n4 is joining just now");
  hello.set_node_id("n4");
  EXPECT_EQ(rig.donor.Refuse(hello, view, true, rig.now), "");
}

TEST(DonorTest, ANodeThatTakesNoChunksGivesWay) {
  DonorRig rig;
  rig.options.window_chunks = 1;
  Copy(rig);
  rig.Pass(absl::Milliseconds(200));
  rig.donor.OnChunkAck(1);
  rig.Pass(rig.options.joining_patience - absl::Milliseconds(40));
  EXPECT_FALSE(rig.Takes("n5"));
  EXPECT_TRUE(rig.Takes("n4"));
  rig.Pass(absl::Milliseconds(60));
  EXPECT_TRUE(rig.Takes("n5"));
  EXPECT_EQ(rig.donor.joining(), "n4");  // no node has asked yet
  rig.Begin(kOther, "n5");
  EXPECT_EQ(rig.donor.joining(), "n5");
  EXPECT_EQ(rig.downstream.link(), kOther);
  EXPECT_FALSE(rig.Takes("n4"));
}

// Just often enough not to count as stopped.
TEST(DonorTest, AnUnsteadyNodeGivesWay) {
  DonorRig rig;
  rig.options.window_chunks = 1;
  rig.options.cut_bytes = 0;
  Copy(rig);
  rig.Pass(rig.options.joining_patience * 2 / 3);
  EXPECT_FALSE(rig.Takes("n5"));
  rig.donor.OnChunkAck(1);
  rig.Pass(rig.options.joining_patience * 2 / 3);
  EXPECT_TRUE(rig.Takes("n5"));
  EXPECT_TRUE(rig.Takes("n4"));
  rig.Begin(kOther, "n5");
  EXPECT_FALSE(rig.Takes("n4"));
}

// A joining node that was stopped for long soon catches up.
TEST(DonorTest, ALongPauseIsForgivenOnceTheNodeContinues) {
  DonorRig rig;
  for (int i = 0; i < 200; ++i) rig.Append("b");
  Follow(rig);
  const auto goes_on = [&](absl::Duration time) {
    for (const absl::Time end = rig.now + time; rig.now < end;) {
      rig.downstream.OnAppendAck(rig.downstream.acked() + 1);
      rig.Pass(absl::Milliseconds(100));
    }
  };
  goes_on(absl::Seconds(1));
  EXPECT_FALSE(rig.Takes("n5"));
  rig.Pass(absl::Minutes(10));
  EXPECT_TRUE(rig.Takes("n5"));
  goes_on(rig.options.joining_patience / 2);
  EXPECT_TRUE(rig.Takes("n5"));
  goes_on(rig.options.joining_patience);
  EXPECT_FALSE(rig.Takes("n5"));
}

TEST(DonorTest, AJoiningNodeThatIsSentNothingKeepsItsPlace) {
  DonorRig rig;
  rig.options.transfer_bytes_per_s = 1;  // for a chunk of three
  rig.options.cut_bytes = 0;
  Donor donor(rig.Context(), &rig.downstream);
  Hello hello;
  hello.set_incarnation(1);
  hello.set_node_id("n4");
  donor.Begin(kLink, hello, {}, /*confirmed=*/true, rig.now);
  donor.Continue(rig.now);
  donor.OnChunkAck(1);
  for (int i = 0; i < 4; ++i) donor.OnTick(rig.now + i * absl::Seconds(1));
  const View view{"c", 7, {DonorRig::Named("n1")}};
  hello.set_node_id("n5");
  EXPECT_EQ(donor.Refuse(hello, view, true, rig.now + absl::Seconds(4)),
            "n4 is joining just now");
}

// Clients write to everything as fast as they may: in each round to all of the
// heap, of which less is sent. The entries in flight are bounded.
struct BusyRig : DonorRig {
  static constexpr uint64_t kInFlight = 4;  // log entries

  BusyRig() {
    options.window_chunks = 1;
    heap.objects.clear();
    for (char c = 'a'; c <= 'z'; ++c) heap.objects[c] = "0";
    released = donor.MayComplete();
  }

  // Sends one chunk; true if clients wrote before it.
  bool Round() {
    now += absl::Milliseconds(1);
    bool wrote = false;
    while (ring->applied() < released + kInFlight) {
      const std::string name(1, static_cast<char>('a' + writes++ % 26));
      Append(name + "=1");
      heap.ExecutePart(name + "=1", 1);
      wrote = true;
    }
    if (takes) donor.OnChunkAck(++taken);
    Continue();
    donor.OnTick(now);
    released = donor.MayComplete();
    if (!donor.KeepsRing()) ring->Clean(released);
    return wrote;
  }

  uint64_t released = 0;
  uint64_t writes = 0;
  uint64_t taken = 0;
  bool takes = true;
};

// The number of passes that a transfer took; 0: it did not end.
uint64_t PassesUnderLoad() {
  BusyRig rig;
  Copy(rig);
  uint64_t most = 0;
  for (int i = 0; i < 5000; ++i) {
    rig.Round();
    most = std::max(most, rig.stats.pass);
    if (rig.donor.state() == Donor::State::kFollowed) return most;
  }
  return 0;
}

TEST(DonorTest, ATransferEndsUnderWriteLoad) {
  const uint64_t passes = PassesUnderLoad();
  EXPECT_GT(passes, 3u);
  EXPECT_LE(passes, 12u);
}

TEST(DonorTest, WritesThatNeverWaitAreDetected) {
  faults::PlantFault("joining-writes-never-wait");
  EXPECT_EQ(PassesUnderLoad(), 0u);
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

TEST(DonorTest, WritesContinueWhileTheRestIsSent) {
  BusyRig rig;
  Copy(rig);
  int wrote = 0;
  int rounds = 0;
  int longest = 0;
  for (int still = 0; rig.donor.state() == Donor::State::kCopying; ++rounds) {
    still = rig.Round() ? 0 : still + 1;
    wrote += still == 0;
    longest = std::max(longest, still);
    ASSERT_LT(rounds, 5000);
  }
  EXPECT_GT(wrote, rounds / 4);
  EXPECT_LE(longest, absl::ToInt64Milliseconds(Brake::kLongestHold));
}

// It delays writes for a short time only, and then not at all.
TEST(DonorTest, AStoppedNodeDoesNotStopWrites) {
  BusyRig rig;
  Copy(rig);
  while (!rig.donor.held_at().has_value()) rig.Round();
  rig.takes = false;
  const absl::Time stopped = rig.now;
  for (absl::Time wrote = rig.now;
       rig.now < stopped + rig.options.joining_patience;) {
    if (rig.Round()) wrote = rig.now;
    EXPECT_LE(rig.now - wrote, Brake::kLongestHold + absl::Milliseconds(2));
  }
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(rig.Round()) << i;
}

// Collects log lines.
class Lines final : public google::LogSink {
 public:
  explicit Lines(std::string text) : text_(std::move(text)) {
    google::AddLogSink(this);
  }
  ~Lines() override { google::RemoveLogSink(this); }

  void send(google::LogSeverity, const char*, const char*, int, const tm*,
            const char* message, size_t size) override {
    count_ += absl::StrContains(absl::string_view(message, size), text_);
  }
  int count() const { return count_; }

 private:
  const std::string text_;
  int count_ = 0;
};

// How long writes wait in a minute in which it takes something just often
// enough to be kept.
absl::Duration HeldByAnUnsteadyNode(int* told = nullptr) {
  Lines lines("with long pauses");
  BusyRig rig;
  Copy(rig);
  while (!rig.donor.held_at().has_value()) rig.Round();
  const absl::Duration pause =
      rig.options.joining_patience - absl::Milliseconds(200);
  const absl::Time end = rig.now + absl::Minutes(1);
  absl::Duration held;
  for (absl::Time took = rig.now; rig.now < end;) {
    rig.takes = rig.now - took >= pause;
    if (rig.takes) took = rig.now;
    if (!rig.Round()) held += absl::Milliseconds(1);
  }
  if (told != nullptr) *told = lines.count();
  return held;
}

TEST(DonorTest, AnUnsteadyNodeDoesNotHoldWritesForLong) {
  int told = 0;
  EXPECT_LE(HeldByAnUnsteadyNode(&told), absl::Seconds(4));
  EXPECT_EQ(told, 1);  // by the log
  faults::PlantFault("joining-writes-wait-for-an-unsteady-node");
  EXPECT_GT(HeldByAnUnsteadyNode(), absl::Seconds(30));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

TEST(DonorTest, APaceIsNotKeptIfATransferCouldNotEnd) {
  BusyRig rig;
  rig.options.transfer_bytes_per_s = 1;
  Donor donor(rig.Context(), &rig.downstream);
  Hello hello;
  hello.set_incarnation(1);
  hello.set_node_id("n4");
  donor.Begin(kLink, hello, {}, /*confirmed=*/true, rig.now);
  uint64_t taken = 0;
  for (int s = 0; s < 3600 && donor.state() == Donor::State::kCopying; ++s) {
    rig.now += absl::Seconds(1);
    for (uint64_t i = donor.MayComplete(); i + 4 > rig.ring->applied();) {
      const std::string name(1, static_cast<char>('a' + rig.writes++ % 26));
      rig.Append(name + "=1");
      rig.heap.ExecutePart(name + "=1", 1);
    }
    rig.ring->Clean(donor.MayComplete());
    donor.OnChunkAck(++taken);
    donor.Continue(rig.now);
    donor.OnTick(rig.now);
  }
  EXPECT_EQ(donor.state(), Donor::State::kFollowed);
}

// Nor must a joining node that has the heap, and takes entries more slowly than
// they come, begin again because of that.
TEST(DonorTest, WritesWaitForANodeThatCatchesUp) {
  BusyRig rig;
  Follow(rig);
  const std::string large(rig.ring->space().max_entry() / 4, 'x');
  rig.released = rig.donor.MayComplete();
  for (int i = 0; i < 500; ++i) {
    rig.now += absl::Milliseconds(1);
    while (rig.ring->applied() < rig.released + BusyRig::kInFlight) {
      rig.Append(large);
    }
    rig.Continue();
    if (i % 10 == 0 && rig.downstream.acked() < rig.downstream.sent()) {
      rig.downstream.OnAppendAck(rig.downstream.acked() + 1);
      rig.ring->Clean(rig.downstream.acked());
    }
    rig.donor.OnTick(rig.now);
    rig.released = std::max(rig.donor.MayComplete(), rig.ring->cleaned());
    EXPECT_TRUE(rig.donor.KeepsRing());
    ASSERT_EQ(rig.donor.state(), Donor::State::kFollowed) << i;
  }
}

// Its messages from the meantime are handled only after the pause.
TEST(DonorTest, APausedTailGivesTheJoiningNodeTheSameTime) {
  DonorRig rig;
  rig.options.cut_bytes = 0;
  Copy(rig);
  rig.Pass(absl::Seconds(1));
  rig.now += 2 * rig.options.joining_patience;
  EXPECT_FALSE(rig.Takes("n5"));
  rig.donor.OnTick(rig.now);
  EXPECT_FALSE(rig.Takes("n5"));
  // It has as much time as before, and no more.
  rig.Pass(absl::Seconds(1));
  EXPECT_FALSE(rig.Takes("n5"));
  rig.Pass(rig.options.joining_patience - absl::Seconds(1));
  EXPECT_TRUE(rig.Takes("n5"));
}

// It is alive, but the manager does not make it a member.
TEST(DonorTest, ABusyNodeThatHasCaughtUpGivesWay) {
  DonorRig rig;
  Follow(rig);
  for (int i = 0; i < 4; ++i) {
    rig.Append("a=" + std::to_string(i));
    rig.downstream.Pump();
    rig.downstream.OnAppendAck(rig.ring->received());
    rig.ring->Clean(rig.ring->received());
    rig.Pass(rig.options.joining_patience / 4);
    EXPECT_EQ(rig.Takes("n5"), i == 3) << i;
  }
  // A node that has yet to catch up may continue.
  rig.Begin(kOther, "n6");
  rig.donor.Forget();
  for (int i = 0; i < 8; ++i) rig.Append("b");
  rig.Begin(kLink, "n4", static_cast<int>(rig.ring->cleaned()));
  for (int i = 0; i < 4; ++i) {
    rig.downstream.OnAppendAck(rig.downstream.acked() + 1);
    rig.downstream.Pump();
    rig.Pass(rig.options.joining_patience / 5);
    EXPECT_FALSE(rig.Takes("n5")) << i;
  }
}

TEST(DonorTest, SendsNoFasterThanTheRate) {
  DonorRig rig;
  rig.options.transfer_bytes_per_s = 3;  // as a chunk has
  rig.options.cut_bytes = 0;
  Donor donor(rig.Context(), &rig.downstream);
  Hello hello;
  hello.set_incarnation(1);
  hello.set_node_id("n4");
  donor.Begin(kLink, hello, {}, /*confirmed=*/true, rig.now);
  int chunks = 0;
  for (int half_seconds = 0; half_seconds < 4; ++half_seconds) {
    donor.Continue(rig.now + half_seconds * absl::Milliseconds(500));
    const Actions actions = rig.outbox.Take();
    for (const Actions::Send& send : actions.send) {
      chunks += send.message.has_state_chunk();
    }
  }
  // The second is due after as long as the first takes at that rate.
  EXPECT_EQ(chunks, 2);
}

}  // namespace
}  // namespace kamino::replica
