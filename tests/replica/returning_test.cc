#include "replica/repair/returning.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/replica/expected_text.h"
#include "tests/replica/part_rig.h"
#include "tests/replica/transition_table.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::Hello;
using kamino::internal::v1::Sync;

std::string NameOf(Returning::Word word) {
  const char* const names[] = {"absent", "silent", "agrees", "holds more"};
  return names[static_cast<int>(word)];
}

// This node has received operations 1 to 3 and applied 1 and 2; 1 is cleaned.
struct ReturningRig : PartRig {
  ReturningRig() {
    Append("one");
    ring->Clean(1);
    Append("two");
    Append("three", /*applied=*/false);
    Make(Returning::State::kReturned);
  }

  void Make(Returning::State state) { returning.emplace(ring.get(), state); }

  std::string StateText() const {
    std::string text = returning->trusted() ? "kTrusted" : "kReturned";
    absl::StrAppend(&text, ", ", NameOf(returning->before()), " before, ",
                    NameOf(returning->after()), " after");
    if (returning->outrun()) absl::StrAppend(&text, "; outrun");
    if (!returning->may_append()) absl::StrAppend(&text, "; may not append");
    return text;
  }

  void OnHello(uint64_t applied, uint64_t cleaned, bool behind = false) {
    Hello hello;
    hello.set_applied(applied);
    hello.set_cleaned(cleaned);
    Note(returning->OnHello(hello, behind) ? "agreed" : "not agreed");
  }

  void OnSync(uint64_t received, bool behind = false) {
    Sync sync;
    sync.set_received(received);
    sync.set_behind(behind);
    const Returning::Verdict verdict = returning->OnSync(sync);
    Note(verdict.agrees
             ? "agreed"
             : absl::StrCat("not agreed: ", verdict.reason,
                            verdict.useless ? "; it begins anew" : ""));
  }

  std::optional<Returning> returning;
};

TEST(ReturningTest, WalksItsTable) {
  using Rig = ReturningRig;
  TransitionTable<Rig> table;
  table.AddState("kTrusted", [](Rig& rig) {
    rig.Make(Returning::State::kTrusted);
    rig.returning->Enter(true, true);
  });
  table.AddState("kReturned, outside", [](Rig&) {});
  table.AddState("kReturned, as head",
                 [](Rig& rig) { rig.returning->Enter(false, true); });
  table.AddState("kReturned, as tail",
                 [](Rig& rig) { rig.returning->Enter(true, false); });
  table.AddState("kReturned, between two",
                 [](Rig& rig) { rig.returning->Enter(true, true); });
  table.AddState("kReturned, both agree", [](Rig& rig) {
    rig.returning->Enter(true, true);
    rig.OnHello(3, 1);
    rig.OnSync(2);
  });
  table.AddState("kReturned, both agree, and all is applied", [](Rig& rig) {
    rig.returning->Enter(true, true);
    rig.OnHello(3, 1);
    rig.OnSync(2);
    rig.ring->MarkApplied(3);
  });
  table.AddState("kReturned, both hold more", [](Rig& rig) {
    rig.returning->Enter(true, true);
    rig.OnHello(9, 9);
    rig.OnSync(9);
  });

  table.AddInput("Enter, as head",
                 [](Rig& rig) { rig.returning->Enter(false, true); });
  table.AddInput("Enter, alone",
                 [](Rig& rig) { rig.returning->Enter(false, false); });
  table.AddInput("Leave", [](Rig& rig) { rig.returning->Leave(); });
  table.AddInput("Forget", [](Rig& rig) { rig.returning->Forget(); });
  table.AddInput("OnHello, agrees", [](Rig& rig) { rig.OnHello(3, 1); });
  table.AddInput("OnHello, has applied less",
                 [](Rig& rig) { rig.OnHello(2, 1); });
  table.AddInput("OnHello, has cleaned more",
                 [](Rig& rig) { rig.OnHello(9, 3); });
  table.AddInput("OnHello, the same; behind",
                 [](Rig& rig) { rig.OnHello(9, 3, true); });
  table.AddInput("OnSync, agrees", [](Rig& rig) { rig.OnSync(2); });
  table.AddInput("OnSync, has received less", [](Rig& rig) { rig.OnSync(0); });
  table.AddInput("OnSync, received less, behind",
                 [](Rig& rig) { rig.OnSync(0, true); });
  table.AddInput("OnSync, has received more", [](Rig& rig) { rig.OnSync(3); });
  table.AddInput("OnSync, received more, behind",
                 [](Rig& rig) { rig.OnSync(3, true); });
  table.AddInput("Check", [](Rig& rig) { rig.returning->Check(); });
  ExpectText("tests/replica/tables/returning.txt", table.Walk());
}

}  // namespace
}  // namespace kamino::replica
