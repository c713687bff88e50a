#include "replica/repair/mending.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/replica/expected_text.h"
#include "tests/replica/part_rig.h"
#include "tests/replica/text_entry.h"
#include "tests/replica/transition_table.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::Fetch;
using kamino::internal::v1::Fetched;

constexpr LinkId kNeighbour = 2;
constexpr LinkId kOther = 4;

struct MendingRig : PartRig {
  MendingRig() { Make(); }

  void Make() {
    mending.emplace(ring.get(), &heap, &outbox, options.fetch_timeout);
  }

  std::string StateText() const {
    const char* const names[] = {"kWhole", "kTorn", "kFetching"};
    return absl::StrCat(names[static_cast<int>(mending->state())], " ",
                        heap.Text());
  }

  void Take(Mending::Mended mended) {
    if (!mended.has_value()) return;
    Note(*mended == Mend::kForward ? "mended forward" : "mended back");
  }

  void Answer(LinkId link, uint64_t number, int pieces) {
    Fetched fetched;
    fetched.set_number(number);
    for (int i = 0; i < pieces; ++i) fetched.add_bytes(absl::StrCat("old", i));
    Take(mending->OnFetched(link, fetched, now));
  }

  std::optional<Mending> mending;
};

void Tear(MendingRig& rig) {
  rig.Append("a=1");
  rig.Append("a=2 b=2", /*applied=*/false);
  rig.Make();
}

// The origin of range 0 after the repair of an entry with that hash that wrote
// there.
RangeBook::Origin OriginAfter(Mend mend, uint64_t hash, bool differs) {
  MendingRig rig;
  const TextBatch batch("a=2");
  const engine::AfterImage image = {hash, {}};
  LogEntryDraft draft = batch.Draft(1);
  draft.image = &image;
  EXPECT_TRUE(rig.ring->Append(draft).ok());
  rig.heap.diverges = differs;
  rig.Make();
  (void)rig.mending->Begin(kNeighbour, mend, rig.now);
  Fetched fetched;
  fetched.set_number(1);
  fetched.add_bytes("2");
  EXPECT_EQ(rig.mending->OnFetched(kNeighbour, fetched, rig.now), mend);
  return rig.heap.book()->origin(0);
}

TEST(MendingTest, WhatTheHashesBearOutIsNotTheNeighboursWord) {
  using Origin = RangeBook::Origin;
  constexpr uint64_t kHash = 7;
  EXPECT_EQ(OriginAfter(Mend::kForward, kHash, false), Origin::kOwn);
  EXPECT_EQ(OriginAfter(Mend::kForward, kHash, true), Origin::kBorrowed);
  EXPECT_EQ(OriginAfter(Mend::kForward, 0, false), Origin::kBorrowed);
  EXPECT_EQ(OriginAfter(Mend::kBack, kHash, false), Origin::kBorrowed);
  const faults::Planted fault("mending-trusts-what-it-is-sent");
  EXPECT_EQ(OriginAfter(Mend::kForward, kHash, true), Origin::kOwn);
}

TransitionTable<MendingRig> Table() {
  TransitionTable<MendingRig> table;
  table.AddState("kWhole", [](MendingRig&) {});
  table.AddState("kTorn", Tear);
  table.AddState("kTorn, by what touches nothing", [](MendingRig& rig) {
    rig.Append("nothing", /*applied=*/false);
    rig.Make();
  });
  table.AddState("kFetching, all of it", [](MendingRig& rig) {
    Tear(rig);
    (void)rig.mending->Begin(kNeighbour, Mend::kForward, rig.now);
  });
  table.AddState("kFetching, the first part", [](MendingRig& rig) {
    std::string operation;
    for (int i = 0; i < 1001; ++i) operation += "c=1 ";
    rig.Append(operation, /*applied=*/false);
    rig.Make();
    (void)rig.mending->Begin(kNeighbour, Mend::kBack, rig.now);
  });

  table.AddState("kFetching, adopted", [](MendingRig& rig) {
    rig.Append("a=1 b=2", /*applied=*/false);
    (void)rig.mending->Adopt(kNeighbour, rig.now);
  });
  table.AddState("kFetching, adopted, and a part was taken over",
                 [](MendingRig& rig) {
                   std::string operation;
                   for (int i = 0; i < 1002; ++i) operation += "c=1 ";
                   rig.Append(operation, /*applied=*/false);
                   (void)rig.mending->Adopt(kNeighbour, rig.now);
                   rig.Answer(kNeighbour, 1, 1000);
                 });

  table.AddInput("Begin forward", [](MendingRig& rig) {
    rig.Take(rig.mending->Begin(kNeighbour, Mend::kForward, rig.now));
  });
  table.AddInput("Begin back", [](MendingRig& rig) {
    rig.Take(rig.mending->Begin(kNeighbour, Mend::kBack, rig.now));
  });
  table.AddInput("OnFetched, two pieces",
                 [](MendingRig& rig) { rig.Answer(kNeighbour, 1, 2); });
  table.AddInput("OnFetched, 1000 pieces",
                 [](MendingRig& rig) { rig.Answer(kNeighbour, 1, 1000); });
  table.AddInput("OnFetched, another number",
                 [](MendingRig& rig) { rig.Answer(kNeighbour, 2, 2); });
  table.AddInput("OnFetched, another link",
                 [](MendingRig& rig) { rig.Answer(kOther, 1, 2); });
  table.AddInput("OnTick, too early",
                 [](MendingRig& rig) { rig.mending->OnTick(rig.now); });
  table.AddInput("OnTick, when due", [](MendingRig& rig) {
    rig.mending->OnTick(rig.now + rig.options.fetch_timeout);
  });
  table.AddInput("OnLinkClosed", [](MendingRig& rig) {
    rig.mending->OnLinkClosed(kNeighbour);
  });
  table.AddInput("OnLinkClosed, another link",
                 [](MendingRig& rig) { rig.mending->OnLinkClosed(kOther); });
  table.AddInput("Leave", [](MendingRig& rig) { rig.mending->Leave(); });
  table.AddInput("Forget", [](MendingRig& rig) { rig.mending->Forget(); });
  return table;
}

// Merges the equal pieces of a long Fetch.
std::string Shortened(std::string text) {
  const std::string piece = "192+1 ";
  for (size_t at = text.find(piece + piece); at != std::string::npos;
       at = text.find(piece + piece)) {
    size_t end = at;
    while (text.compare(end, piece.size(), piece) == 0) end += piece.size();
    text.replace(
        at, end - at,
        absl::StrCat("192+1 and ", (end - at) / piece.size() - 1, " more "));
  }
  return text;
}

TEST(MendingTest, WalksItsTable) {
  ExpectText("tests/replica/tables/mending.txt", Shortened(Table().Walk()));
}

TEST(MendingTest, AnObjectThatCannotBeMendedStopsTheNode) {
  MendingRig rig;
  rig.Append("~=1", /*applied=*/false);
  rig.Make();
  (void)rig.mending->Begin(kNeighbour, Mend::kForward, rig.now);
  rig.Answer(kNeighbour, 1, 1);
  EXPECT_TRUE(rig.outbox.failed());
  EXPECT_TRUE(rig.mending->torn());
}

struct SourceRig : PartRig {
  std::string StateText() const { return heap.Text(); }
  MendingSource source{ring.get(), &heap, &outbox};
};

Fetch Asks(char object, uint64_t received, uint32_t length = 1) {
  Fetch fetch;
  fetch.set_number(1);
  fetch.set_received(received);
  auto* intent = fetch.add_intents();
  intent->set_object(FakeHeap::kSpacing * (object - 'a' + 1));
  intent->set_length(length);
  return fetch;
}

TEST(MendingTest, ANeighbourAnswersByItsTable) {
  TransitionTable<SourceRig> table;
  table.AddState("a is in mutation 1, b in 1 and 2", [](SourceRig& rig) {
    rig.Append("a=1 b=1");
    rig.Append("b=2");
    rig.heap.objects = {{'a', "1"}, {'b', "2"}};
  });
  const auto add = [&table](const std::string& name, const Fetch& fetch) {
    table.AddInput("Answer " + name,
                   [fetch](SourceRig& rig) { rig.source.Answer(2, fetch); });
    table.AddInput("AnswerSuccessor " + name, [fetch](SourceRig& rig) {
      rig.source.AnswerSuccessor(2, fetch);
    });
  };
  add("a after 1", Asks('a', 1));
  add("b after 1", Asks('b', 1));
  add("b after 2", Asks('b', 2));
  add("no object", Asks('~', 2));
  add("too much", Asks('a', 2, (4u << 20) + 1));
  ExpectText("tests/replica/tables/mending_source.txt", table.Walk());
}

}  // namespace
}  // namespace kamino::replica
