#include "replica/link/upstream.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/replica/expected_text.h"
#include "tests/replica/part_rig.h"
#include "tests/replica/transition_table.h"

namespace kamino::replica {
namespace {

using ::testing::HasSubstr;

constexpr LinkId kLink = 2;
constexpr LinkId kOther = 4;

// This node has received, and applied, operations 1 and 2; 1 is cleaned.
struct UpstreamRig : PartRig {
  UpstreamRig() {
    Append("one");
    ring->Clean(1);
    Append("two");
  }

  std::string StateText() const {
    const char* const names[] = {"kApart", "kInOrder", "kGap"};
    return absl::StrCat(names[static_cast<int>(upstream.state())], ", link ",
                        upstream.link(), ", received ", ring->received());
  }

  void Take(uint64_t first, const std::string& text, bool may_append = true) {
    TakeBytes(TextEntry(first, text), may_append);
  }

  void TakeBytes(const std::string& bytes, bool may_append = true) {
    if (upstream.Take(bytes, may_append)) Note("appended");
    if (outbox.turned_down().malformed > 0) Note("malformed");
  }

  // Sends the acknowledgements that are due.
  void Acknowledge() { upstream.Acknowledge(/*behind=*/false, now); }

  Upstream upstream{options, ring.get(), &outbox};
};

// Fills the ring up.
void Fill(UpstreamRig& rig) {
  const std::string large(rig.ring->space().max_entry() - 192, 'x');
  while (AppendText(rig.ring.get(), large).ok()) {
    rig.ring->MarkApplied(rig.ring->received());
  }
  rig.Take(rig.ring->received() + 1, large);
}

TEST(UpstreamTest, WalksItsTable) {
  using Rig = UpstreamRig;
  const auto attach = [](Rig& rig) { rig.upstream.Attach(kLink); };
  TransitionTable<Rig> table;
  table.AddState("kApart", [](Rig&) {});
  table.AddState("kApart, an acknowledgement is owed", [attach](Rig& rig) {
    attach(rig);
    rig.Take(3, "three");
    rig.upstream.OnClosed(kLink);
  });
  table.AddState("kInOrder", attach);
  table.AddState("kGap, behind a gap", [attach](Rig& rig) {
    attach(rig);
    rig.Take(4, "four");
    rig.Acknowledge();
  });
  table.AddState("kGap, the ring was full", [attach](Rig& rig) {
    attach(rig);
    Fill(rig);
  });
  table.AddState("kGap, may not append", [attach](Rig& rig) {
    attach(rig);
    rig.Take(3, "three", /*may_append=*/false);
  });

  const auto add = [&table](const std::string& name, auto input) {
    table.AddInput(name, [input](Rig& rig) {
      input(rig);
      rig.Acknowledge();
    });
  };
  add("Acknowledge", [](Rig&) {});
  add("Attach", [](Rig& rig) { rig.upstream.Attach(kLink); });
  add("Attach, another link", [](Rig& rig) { rig.upstream.Attach(kOther); });
  add("Detach", [](Rig& rig) { rig.upstream.Detach(); });
  add("OnClosed", [](Rig& rig) { rig.upstream.OnClosed(kLink); });
  add("OnClosed, another link",
      [](Rig& rig) { rig.upstream.OnClosed(kOther); });
  add("Leave, Attach", [](Rig& rig) {
    rig.upstream.Leave();
    rig.upstream.Attach(kOther);
  });
  add("Take, the next",
      [](Rig& rig) { rig.Take(rig.ring->received() + 1, "next"); });
  add("Take, the next; may not append",
      [](Rig& rig) { rig.Take(rig.ring->received() + 1, "next", false); });
  add("Take, one it has", [](Rig& rig) { rig.Take(2, "two"); });
  add("Take, behind a gap",
      [](Rig& rig) { rig.Take(rig.ring->received() + 2, "later"); });
  add("Take, nothing", [](Rig& rig) { rig.TakeBytes(""); });
  add("Take, number 0", [](Rig& rig) { rig.Take(0, "zero"); });
  add("Take, the next, damaged", [](Rig& rig) {
    std::string entry = TextEntry(rig.ring->received() + 1, "next");
    entry.back() ^= 1;
    rig.TakeBytes(entry);
  });
  add("Take, of another chain", [](Rig& rig) {
    const TextBatch batch("next");
    LogEntryDraft draft = batch.Draft(rig.ring->received() + 1);
    draft.chain_id = 2;
    rig.TakeBytes(draft.ToString());
  });
  add("AskAgain", [](Rig& rig) { rig.upstream.AskAgain(); });
  add("OnCleaned", [](Rig& rig) { rig.upstream.OnCleaned(); });
  add("OweCleanUp", [](Rig& rig) { rig.upstream.OweCleanUp(); });
  ExpectText("tests/replica/tables/upstream.txt", table.Walk());
}

// The acknowledgements and clean-ups that Acknowledge sends.
size_t SentBy(UpstreamRig& rig) {
  rig.Acknowledge();
  return rig.outbox.Take().send.size();
}

TEST(UpstreamTest, AcknowledgementsAreCombinedForAMoment) {
  UpstreamRig rig;
  rig.options.window_entries = 64;
  rig.options.ack_delay = absl::Milliseconds(2);
  rig.upstream.Attach(kLink);
  rig.Take(3, "three");
  EXPECT_EQ(SentBy(rig), 1u);  // after a silence: at once
  rig.now += absl::Milliseconds(1);
  rig.Take(4, "four");
  rig.upstream.OnCleaned();
  EXPECT_EQ(SentBy(rig), 0u);
  rig.now += absl::Milliseconds(1);
  EXPECT_EQ(SentBy(rig), 2u);
  EXPECT_EQ(SentBy(rig), 0u);
  rig.Take(6, "six");  // behind a gap: what comes meanwhile is lost on it
  EXPECT_EQ(SentBy(rig), 1u);
}

TEST(UpstreamTest, ManyEntriesAreAcknowledgedAtOnce) {
  UpstreamRig rig;
  rig.options.window_entries = 8;
  rig.options.ack_delay = absl::Hours(1);
  rig.upstream.Attach(kLink);
  rig.Take(3, "three");
  EXPECT_EQ(SentBy(rig), 1u);
  rig.Take(4, "four");
  EXPECT_EQ(SentBy(rig), 0u);
  rig.Take(5, "five");  // a quarter of the window
  EXPECT_EQ(SentBy(rig), 1u);
  // A ring that fills up, even by small entries.
  const std::string large(rig.ring->space().max_entry() - 192, 'x');
  rig.Take(6, large);
  EXPECT_EQ(SentBy(rig), 1u);
}

// The entry's error; the node continues.
std::string ProtocolErrorOf(UpstreamRig& rig) {
  EXPECT_FALSE(rig.outbox.failed());
  EXPECT_EQ(rig.ring->received(), 2u);
  const auto failed = rig.outbox.TakeFailedLinks();
  EXPECT_EQ(failed.size(), 1u);
  if (failed.empty()) return "";
  EXPECT_EQ(failed[0].link, kLink);
  return failed[0].why;
}

TEST(UpstreamTest, AMalformedEntryEndsTheLink) {
  UpstreamRig rig;
  rig.options.heap_bytes = 1 << 20;
  rig.upstream.Attach(kLink);
  rig.Take(3, std::string(rig.ring->space().max_entry() + 1, 'x'));
  EXPECT_THAT(ProtocolErrorOf(rig), HasSubstr("the ring takes at most"));
  rig.TakeBytes("");
  EXPECT_THAT(ProtocolErrorOf(rig), HasSubstr("a log entry is cut off"));
  const TextBatch batch("next");
  LogEntryDraft draft = batch.Draft(3);
  draft.chain_id = 2;
  rig.TakeBytes(draft.ToString());
  EXPECT_THAT(ProtocolErrorOf(rig), HasSubstr("of chain 2"));
  rig.TakeBytes(batch.Draft(3, rig.outbox.view_id() + 1).ToString());
  EXPECT_THAT(ProtocolErrorOf(rig), HasSubstr("of view 8, in view 7"));
}

TEST(UpstreamTest, AWriteBeyondTheHeapEndsTheLink) {
  UpstreamRig rig;
  rig.options.heap_bytes = 1 << 20;
  rig.upstream.Attach(kLink);
  const TextBatch batch("next");
  for (const engine::Intent& intent :
       {engine::Intent{1 << 20, 0, 1, engine::IntentKind::kWrite},
        engine::Intent{1 << 19, 1 << 19, 1, engine::IntentKind::kWrite},
        engine::Intent{~uint64_t{0}, 8, 8, engine::IntentKind::kFree},
        engine::Intent{0, 8, 8, engine::IntentKind::kWrite}}) {
    const engine::WriteSet write_set = {intent};
    LogEntryDraft draft = batch.Draft(3);
    draft.write_set = &write_set;
    rig.TakeBytes(draft.ToString());
    EXPECT_THAT(ProtocolErrorOf(rig),
                HasSubstr("beyond the heap's 1048576 bytes"));
  }
}

TEST(UpstreamTest, AnEntryThatOverlapsReceivedOnesEndsTheLink) {
  UpstreamRig rig;
  rig.upstream.Attach(kLink);
  const TextBatch batch("two", /*count=*/2);
  rig.TakeBytes(batch.Draft(2).ToString());
  EXPECT_THAT(ProtocolErrorOf(rig),
              HasSubstr("mutations 2 to 3 begins before"));
}

}  // namespace
}  // namespace kamino::replica
