#include "replica/repair/neighbour_repair.h"

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

struct RepairRig : PartRig {
  RepairRig() { Make(); }

  void Make() {
    neighbour_repair.emplace(ring.get(), &heap, &outbox, options.fetch_timeout);
  }

  std::string StateText() const {
    const char* const names[] = {"kWhole", "kTorn", "kFetching"};
    return absl::StrCat(names[static_cast<int>(neighbour_repair->state())], " ",
                        heap.Text());
  }

  void Take(NeighbourRepair::Repaired repaired) {
    if (!repaired.has_value()) return;
    Note(*repaired == RepairDirection::kForward ? "repaired forward"
                                                : "repaired back");
  }

  void Answer(LinkId link, uint64_t number, int pieces) {
    Fetched fetched;
    fetched.set_number(number);
    for (int i = 0; i < pieces; ++i) fetched.add_bytes(absl::StrCat("old", i));
    Take(neighbour_repair->OnFetched(link, fetched, now));
  }

  std::optional<NeighbourRepair> neighbour_repair;
};

void Tear(RepairRig& rig) {
  rig.Append("a=1");
  rig.Append("a=2 b=2", /*applied=*/false);
  rig.Make();
}

// The origin of range 0 after the repair of an entry with that hash that wrote
// there.
RangeStates::Origin OriginAfter(RepairDirection direction, uint64_t hash,
                                bool differs) {
  RepairRig rig;
  const TextBatch batch("a=2");
  const engine::AfterImage image = {hash, {}};
  LogEntryDraft draft = batch.Draft(1);
  draft.image = &image;
  EXPECT_TRUE(rig.ring->Append(draft).ok());
  rig.heap.diverges = differs;
  rig.Make();
  (void)rig.neighbour_repair->Begin(kNeighbour, direction, rig.now);
  Fetched fetched;
  fetched.set_number(1);
  fetched.add_bytes("2");
  EXPECT_EQ(rig.neighbour_repair->OnFetched(kNeighbour, fetched, rig.now),
            direction);
  return rig.heap.range_states()->origin(0);
}

TEST(NeighbourRepairTest, AConfirmedHashKeepsTheRangeOwn) {
  using Origin = RangeStates::Origin;
  constexpr uint64_t kHash = 7;
  EXPECT_EQ(OriginAfter(RepairDirection::kForward, kHash, false), Origin::kOwn);
  EXPECT_EQ(OriginAfter(RepairDirection::kForward, kHash, true),
            Origin::kBorrowed);
  EXPECT_EQ(OriginAfter(RepairDirection::kForward, 0, false),
            Origin::kBorrowed);
  EXPECT_EQ(OriginAfter(RepairDirection::kBack, kHash, false),
            Origin::kBorrowed);
  const faults::Planted fault("repair-trusts-the-neighbour");
  EXPECT_EQ(OriginAfter(RepairDirection::kForward, kHash, true), Origin::kOwn);
}

TransitionTable<RepairRig> Table() {
  TransitionTable<RepairRig> table;
  table.AddState("kWhole", [](RepairRig&) {});
  table.AddState("kTorn", Tear);
  table.AddState("kTorn, by what touches nothing", [](RepairRig& rig) {
    rig.Append("nothing", /*applied=*/false);
    rig.Make();
  });
  table.AddState("kFetching, all of it", [](RepairRig& rig) {
    Tear(rig);
    (void)rig.neighbour_repair->Begin(kNeighbour, RepairDirection::kForward,
                                      rig.now);
  });
  table.AddState("kFetching, the first part", [](RepairRig& rig) {
    std::string operation;
    for (int i = 0; i < 1001; ++i) operation += "c=1 ";
    rig.Append(operation, /*applied=*/false);
    rig.Make();
    (void)rig.neighbour_repair->Begin(kNeighbour, RepairDirection::kBack,
                                      rig.now);
  });

  table.AddState("kFetching, adopted", [](RepairRig& rig) {
    rig.Append("a=1 b=2", /*applied=*/false);
    (void)rig.neighbour_repair->Adopt(kNeighbour, rig.now);
  });
  table.AddState("kFetching, adopted, and a part was taken over",
                 [](RepairRig& rig) {
                   std::string operation;
                   for (int i = 0; i < 1002; ++i) operation += "c=1 ";
                   rig.Append(operation, /*applied=*/false);
                   (void)rig.neighbour_repair->Adopt(kNeighbour, rig.now);
                   rig.Answer(kNeighbour, 1, 1000);
                 });

  table.AddInput("Begin forward", [](RepairRig& rig) {
    rig.Take(rig.neighbour_repair->Begin(kNeighbour, RepairDirection::kForward,
                                         rig.now));
  });
  table.AddInput("Begin back", [](RepairRig& rig) {
    rig.Take(rig.neighbour_repair->Begin(kNeighbour, RepairDirection::kBack,
                                         rig.now));
  });
  table.AddInput("OnFetched, two pieces",
                 [](RepairRig& rig) { rig.Answer(kNeighbour, 1, 2); });
  table.AddInput("OnFetched, 1000 pieces",
                 [](RepairRig& rig) { rig.Answer(kNeighbour, 1, 1000); });
  table.AddInput("OnFetched, another number",
                 [](RepairRig& rig) { rig.Answer(kNeighbour, 2, 2); });
  table.AddInput("OnFetched, another link",
                 [](RepairRig& rig) { rig.Answer(kOther, 1, 2); });
  table.AddInput("OnTick, too early",
                 [](RepairRig& rig) { rig.neighbour_repair->OnTick(rig.now); });
  table.AddInput("OnTick, when due", [](RepairRig& rig) {
    rig.neighbour_repair->OnTick(rig.now + rig.options.fetch_timeout);
  });
  table.AddInput("OnLinkClosed", [](RepairRig& rig) {
    rig.neighbour_repair->OnLinkClosed(kNeighbour);
  });
  table.AddInput("OnLinkClosed, another link", [](RepairRig& rig) {
    rig.neighbour_repair->OnLinkClosed(kOther);
  });
  table.AddInput("Leave",
                 [](RepairRig& rig) { rig.neighbour_repair->Leave(); });
  table.AddInput("Forget",
                 [](RepairRig& rig) { rig.neighbour_repair->Forget(); });
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

TEST(NeighbourRepairTest, WalksItsTable) {
  ExpectText("tests/replica/tables/neighbour_repair.txt",
             Shortened(Table().Walk()));
}

TEST(NeighbourRepairTest, AnObjectThatCannotBeRepairedStopsTheNode) {
  RepairRig rig;
  rig.Append("~=1", /*applied=*/false);
  rig.Make();
  (void)rig.neighbour_repair->Begin(kNeighbour, RepairDirection::kForward,
                                    rig.now);
  rig.Answer(kNeighbour, 1, 1);
  EXPECT_TRUE(rig.outbox.failed());
  EXPECT_TRUE(rig.neighbour_repair->torn());
}

struct SourceRig : PartRig {
  std::string StateText() const { return heap.Text(); }
  RepairSource source{ring.get(), &heap, &outbox};
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

TEST(NeighbourRepairTest, ANeighbourAnswersByItsTable) {
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
  ExpectText("tests/replica/tables/repair_source.txt", table.Walk());
}

}  // namespace
}  // namespace kamino::replica
