#include "replica/link/downstream.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/replica/expected_text.h"
#include "tests/replica/part_rig.h"
#include "tests/replica/transition_table.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::Hello;

constexpr LinkId kDialed = 1;
constexpr LinkId kAccepted = 2;

// Five operations are applied here, the fourth of three mutations: up to 7. The
// first is cleaned. Two at a time may be in flight.
struct DownstreamRig : PartRig {
  DownstreamRig() {
    Append("one");
    ring->Clean(1);
    Append("two");
    Append("three");
    (void)AppendText(ring.get(), "four", 3);
    ring->MarkApplied(6);
    Append("five");
  }

  std::string StateText() const {
    const char* const names[] = {"kNone", "kProbe", "kSnapshot", "kReplicate",
                                 "kFollow"};
    std::string text = names[static_cast<int>(downstream.state())];
    absl::StrAppend(&text, ", link ", downstream.link());
    if (downstream.replicates()) {
      absl::StrAppend(&text, ", sent ", downstream.sent(), ", acked ",
                      downstream.acked());
    }
    return text;
  }

  void Check(bool clean) {
    Note(clean ? "may be" : "cannot be");
    if (outbox.turned_down().malformed > 0) Note("malformed");
  }

  Downstream downstream{options, ring.get(), &outbox};
};

TEST(DownstreamTest, WalksItsTable) {
  using Rig = DownstreamRig;
  const auto enter = [](Rig& rig) {
    rig.downstream.Enter(rig.Named("n2"), rig.now);
  };
  const auto add_input = [](TransitionTable<Rig>& table) {
    table.AddInput("OnOpened", [](Rig& rig) {
      Hello hello;
      if (!rig.downstream.OnOpened(kDialed, rig.now, &hello)) return;
      rig.Note(absl::StrCat("Hello is due: applied ", hello.applied(),
                            ", cleaned ", hello.cleaned()));
    });
    table.AddInput("ContinueAfter 1, Pump", [](Rig& rig) {
      rig.downstream.ContinueAfter(1);
      rig.downstream.Pump();
    });
    table.AddInput("Pump", [](Rig& rig) { rig.downstream.Pump(); });
    table.AddInput("OnAppendAck 2, Pump", [](Rig& rig) {
      rig.downstream.OnAppendAck(2);
      rig.downstream.Pump();
    });
    table.AddInput("OnClosed, dialed",
                   [](Rig& rig) { rig.downstream.OnClosed(kDialed, rig.now); });
    table.AddInput("OnClosed, accepted", [](Rig& rig) {
      rig.downstream.OnClosed(kAccepted, rig.now);
    });
    table.AddInput("OnRejected, dialed", [](Rig& rig) {
      rig.downstream.OnRejected(kDialed, rig.now);
    });
    table.AddInput("OnRejected, accepted", [](Rig& rig) {
      rig.downstream.OnRejected(kAccepted, rig.now);
    });
    table.AddInput("OnTick, after five seconds", [](Rig& rig) {
      rig.downstream.OnTick(rig.now + absl::Seconds(5));
    });
    table.AddInput("Join", [](Rig& rig) { rig.downstream.Join(4); });
    table.AddInput("Leave", [](Rig& rig) { rig.downstream.Leave(); });
  };
  TransitionTable<Rig> table;
  table.AddState("kNone", [](Rig&) {});
  table.AddState("kProbe", enter);
  table.AddState("kReplicate", [enter](Rig& rig) {
    enter(rig);
    rig.downstream.ContinueAfter(1);
    rig.downstream.Pump();
  });
  table.AddState("kSnapshot", [](Rig& rig) { rig.downstream.Join(kAccepted); });
  table.AddState("kFollow", [](Rig& rig) {
    rig.downstream.Join(kAccepted);
    rig.downstream.ContinueAfter(1);
    rig.downstream.Pump();
  });
  add_input(table);
  table.AddInput("Leave, Enter", [enter](Rig& rig) {
    rig.downstream.Leave();
    enter(rig);
  });
  ExpectText("tests/replica/tables/downstream.txt", table.Walk());
}

TEST(DownstreamTest, TakesOnlyPossibleAcknowledgements) {
  using Rig = DownstreamRig;
  TransitionTable<Rig> table;
  table.AddState("2 and 3 are sent", [](Rig& rig) {
    rig.downstream.Enter(rig.Named("n2"), rig.now);
    rig.downstream.ContinueAfter(1);
    rig.downstream.Pump();
  });
  table.AddState("4-6 and 7 are sent as well", [](Rig& rig) {
    rig.downstream.Enter(rig.Named("n2"), rig.now);
    rig.downstream.ContinueAfter(1);
    rig.downstream.Pump();
    rig.downstream.OnAppendAck(3);
    rig.downstream.Pump();
  });
  table.AddState("2 and 3 are sent, and are to be sent again", [](Rig& rig) {
    rig.downstream.Enter(rig.Named("n2"), rig.now);
    rig.downstream.ContinueAfter(1);
    rig.downstream.Pump();
    rig.downstream.ContinueAfter(1);
  });
  for (uint64_t sequence : {0, 1, 2, 3, 5, 6, 7, 8}) {
    table.AddInput(absl::StrCat("OnAppendAck ", sequence),
                   [sequence](Rig& rig) {
                     rig.downstream.OnAppendAck(sequence);
                     if (rig.outbox.turned_down().malformed > 0) {
                       rig.Note("malformed");
                     }
                   });
    table.AddInput(absl::StrCat("OnCleaned ", sequence), [sequence](Rig& rig) {
      rig.Check(rig.downstream.OnCleaned(sequence));
    });
  }
  ExpectText("tests/replica/tables/downstream_acknowledgements.txt",
             table.Walk());
}

}  // namespace
}  // namespace kamino::replica
