#include "replica/link/completions.h"

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

struct CompletionsRig : PartRig {
  std::string StateText() const {
    const char* const names[] = {"kOff", "kTail", "kHead"};
    return absl::StrCat(names[static_cast<int>(completions.state())], ", link ",
                        completions.link(),
                        completions.connected() ? " connected" : "",
                        ", completed ", completions.completed());
  }
  Completions completions{options, 3, &outbox};
};

TEST(CompletionsTest, WalksItsTable) {
  using Rig = CompletionsRig;
  const auto as_tail = [](Rig& rig) {
    rig.completions.EnterAsTail(rig.Named("n1"), rig.now);
  };
  TransitionTable<Rig> table;
  table.AddState("kOff", [](Rig&) {});
  table.AddState("kTail, dialing", as_tail);
  table.AddState("kTail, answered", [as_tail](Rig& rig) {
    as_tail(rig);
    rig.completions.OnSync(kDialed);
    rig.completions.Report(3);
  });
  table.AddState("kHead", [](Rig& rig) { rig.completions.EnterAsHead(); });
  table.AddState("kHead, connected", [](Rig& rig) {
    rig.completions.EnterAsHead();
    rig.completions.Accept(kAccepted);
  });

  table.AddInput("Leave, EnterAsTail", [as_tail](Rig& rig) {
    rig.completions.Leave();
    as_tail(rig);
  });
  table.AddInput("Leave, EnterAsHead", [](Rig& rig) {
    rig.completions.Leave();
    rig.completions.EnterAsHead();
  });
  table.AddInput("Leave", [](Rig& rig) { rig.completions.Leave(); });
  table.AddInput("OnOpened", [](Rig& rig) {
    Hello hello;
    if (rig.completions.OnOpened(kDialed, rig.now, &hello)) {
      rig.Note("Hello is due");
    }
  });
  table.AddInput("OnSync, Report 4", [](Rig& rig) {
    if (rig.completions.OnSync(kDialed)) rig.Note("was its link");
    rig.completions.Report(4);
  });
  table.AddInput("OnSync, another link", [](Rig& rig) {
    if (rig.completions.OnSync(99)) rig.Note("was its link");
  });
  table.AddInput("Owe, Report 4, Report 4", [](Rig& rig) {
    rig.completions.Owe();
    rig.completions.Report(4);
    rig.completions.Report(4);
  });
  table.AddInput("Report 4", [](Rig& rig) { rig.completions.Report(4); });
  table.AddInput("OnClosed, dialed",
                 [](Rig& rig) { rig.completions.OnClosed(kDialed, rig.now); });
  table.AddInput("OnClosed, accepted", [](Rig& rig) {
    rig.completions.OnClosed(kAccepted, rig.now);
  });
  table.AddInput("OnRejected", [](Rig& rig) {
    rig.completions.OnRejected(kDialed, rig.now);
  });
  table.AddInput("OnTick, after five seconds", [](Rig& rig) {
    rig.completions.OnTick(rig.now + absl::Seconds(5));
  });
  table.AddInput("CompleteTo 4",
                 [](Rig& rig) { rig.completions.CompleteTo(4); });
  table.AddInput("CompleteTo 3",
                 [](Rig& rig) { rig.completions.CompleteTo(3); });
  table.AddInput("Know 4", [](Rig& rig) { rig.completions.Know(4); });
  table.AddInput("Know 2", [](Rig& rig) { rig.completions.Know(2); });
  table.AddInput("Restart 2", [](Rig& rig) { rig.completions.Restart(2); });
  ExpectText("tests/replica/tables/completions.txt", table.Walk());
}

TEST(CompletionsTest, TheHeadTakesOneLinkAtATime) {
  CompletionsRig rig;
  rig.completions.EnterAsHead();
  rig.completions.Accept(2);
  rig.completions.Accept(4);
  EXPECT_EQ(rig.completions.link(), 4u);
  EXPECT_EQ(rig.outbox.Take().close, std::vector<LinkId>{2});
}

}  // namespace
}  // namespace kamino::replica
