#include "replica/repair/joiner.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/replica/expected_text.h"
#include "tests/replica/part_rig.h"
#include "tests/replica/transition_table.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::ChainMessage;
using kamino::internal::v1::Hello;
using membership::View;

constexpr LinkId kLink = 1;

// Holds the state after operation 2, from a transfer that broke later.
struct JoinerRig : PartRig {
  JoinerRig() {
    options.node_id = "n4";
    ring->Restart(2, 1);
    heap.objects = {{'a', "1"}};
  }

  std::string StateText() const {
    const char* const names[] = {"kOff", "kAsking", "kReceiving", "kFollowing",
                                 "kCatchingUp"};
    std::string text =
        absl::StrCat(names[static_cast<int>(joiner.state())], ", link ",
                     joiner.link(), ", holds ", heap.Text());
    if (upstream.attached()) {
      absl::StrAppend(&text, "; upstream on ", upstream.link());
    }
    if (joiner.keeps_up()) absl::StrAppend(&text, "; keeps up");
    return text;
  }

  static View Chain(const std::vector<std::string>& names) {
    View view{"c", 7, {}};
    for (const auto& name : names) view.members.push_back(Named(name));
    return view;
  }

  void Take(const ChainMessage& message, bool may_resume = false) {
    switch (
        joiner.OnMessage(message, may_resume, /*may_catch_up=*/false, now)) {
      case Joiner::Effect::kNone:
        return;
      case Joiner::Effect::kHeapVoid:
        return Note("the heap is void");
      case Joiner::Effect::kHasHeap:
        return Note("has the heap");
    }
  }

  void Begin(bool resume, bool may_resume = false) {
    ChainMessage message;
    message.mutable_state_begin()->set_resume(resume);
    message.mutable_state_begin()->set_applied(3);
    Take(message, may_resume);
  }

  void Chunk(const std::string& snapshot = "b=2") {
    ChainMessage message;
    message.mutable_state_chunk()->set_snapshot(snapshot);
    Take(message);
  }

  TransferStats stats;
  Upstream upstream{options, ring.get(), &outbox};
  Joiner joiner{{&options, /*place=*/nullptr, ring.get(), /*record=*/nullptr,
                 /*executor=*/nullptr, &heap, &outbox, &stats},
                &upstream};
};

void Ask(JoinerRig& rig) {
  rig.joiner.OnInvited(true, rig.now);
  rig.joiner.Aim(rig.Chain({"n1", "n2"}), rig.now);
  rig.joiner.OnTick(rig.now);
  Hello hello;
  rig.joiner.OnOpened(kLink, rig.now, false, nullptr, &hello);
}

void AddStates(TransitionTable<JoinerRig>* table) {
  using Rig = JoinerRig;
  table->AddState("kOff", [](Rig&) {});
  table->AddState("kOff, outside, by the name of a member", [](Rig& rig) {
    rig.joiner.OnInvited(true, rig.now);
    rig.joiner.Aim(rig.Chain({"n1", "n4"}), rig.now);
  });
  table->AddState("kAsking, not invited", [](Rig& rig) {
    rig.joiner.Aim(rig.Chain({"n1", "n2"}), rig.now);
  });
  table->AddState("kAsking", Ask);
  table->AddState("kReceiving, one chunk came", [](Rig& rig) {
    Ask(rig);
    rig.Begin(false);
    rig.Chunk();
  });
  table->AddState("kFollowing", [](Rig& rig) {
    Ask(rig);
    rig.Begin(true, true);
  });
  table->AddState("kCatchingUp", [](Rig& rig) { rig.joiner.CatchUpTo(3); });
}

TEST(JoinerTest, WalksItsTable) {
  using Rig = JoinerRig;
  TransitionTable<Rig> table;
  AddStates(&table);
  table.AddInput("OnInvited, OnTick", [](Rig& rig) {
    rig.joiner.OnInvited(true, rig.now);
    rig.joiner.OnTick(rig.now);
  });
  table.AddInput("OnTick, after a second", [](Rig& rig) {
    rig.joiner.OnTick(rig.now + absl::Seconds(1));
  });
  table.AddInput("OnOpened", [](Rig& rig) {
    Hello hello;
    if (!rig.joiner.OnOpened(kLink, rig.now, true, nullptr, &hello)) return;
    rig.Note(absl::StrCat("Hello is due: applied ", hello.applied()));
  });
  table.AddInput("StateBegin, anew", [](Rig& rig) { rig.Begin(false); });
  table.AddInput("StateBegin, to go on",
                 [](Rig& rig) { rig.Begin(true, true); });
  table.AddInput("StateBegin, to go on; cannot",
                 [](Rig& rig) { rig.Begin(true, false); });
  table.AddInput("StateChunk, Acknowledge", [](Rig& rig) {
    rig.Chunk();
    rig.joiner.Acknowledge();
  });
  table.AddInput("StateChunk, damaged", [](Rig& rig) { rig.Chunk("b?2"); });
  table.AddInput("StateChunk, the end, Acknowledge", [](Rig& rig) {
    rig.Chunk("after 4");
    rig.joiner.Acknowledge();
  });
  table.AddInput("StateChunk, the end, too early",
                 [](Rig& rig) { rig.Chunk("after 2"); });
  table.AddInput("OnClosed",
                 [](Rig& rig) { rig.joiner.OnClosed(kLink, rig.now); });
  table.AddInput("OnClosed, another link",
                 [](Rig& rig) { rig.joiner.OnClosed(99, rig.now); });
  table.AddInput("OnRejected",
                 [](Rig& rig) { rig.joiner.OnRejected(kLink, rig.now); });
  table.AddInput("OnApplied, not so far", [](Rig& rig) {
    if (rig.joiner.OnApplied()) rig.Note("holds everything");
  });
  table.AddInput("OnApplied, so far", [](Rig& rig) {
    rig.Append("three");
    if (rig.joiner.OnApplied()) rig.Note("holds everything");
  });
  table.AddInput("Leave", [](Rig& rig) { rig.joiner.Leave(); });
  table.AddInput("Leave, CatchUpTo 9", [](Rig& rig) {
    rig.joiner.Leave();
    rig.joiner.CatchUpTo(9);
  });
  ExpectText("tests/replica/tables/joiner.txt", table.Walk());
}

}  // namespace
}  // namespace kamino::replica
