#include "replica/integrity/scrub.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/replica/describe.h"
#include "tests/replica/expected_text.h"
#include "tests/replica/part_rig.h"
#include "tests/replica/transition_table.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::ChainMessage;
using Compare = Scrub::Compare;

constexpr uint64_t kPosition = 9;

// n1, whose heap has a=1 and z=2, so that ranges 0 and 1 have the digests 11
// and 12. It compares one of them in ten seconds.
struct ScrubRig : PartRig {
  ScrubRig() {
    heap.objects = {{'a', "1"}, {'z', "2"}};
    options.scrub_bytes_per_s = heap.range_bytes() / 10;
    scrub.emplace(options, &heap);
  }

  std::string StateText() const {
    std::string text =
        scrub->state() == Scrub::State::kAsked ? "kAsked" : "kRests";
    absl::StrAppend(&text, ", next ", scrub->stats().next, ", passes ",
                    scrub->stats().passes, ", differences ",
                    scrub->stats().differences, ", unanswered ",
                    scrub->stats().unanswered);
    if (scrub->has_unresolved_range()) {
      absl::StrAppend(&text, ", unresolved ", *scrub->unresolved_range());
    }
    return text;
  }

  void Next() {
    const auto compare = scrub->Next(kPosition, now);
    if (!compare.has_value()) return Note("not due");
    ChainMessage message;
    *message.mutable_compare() = *compare;
    Note(Describe(message, ""));
  }
  void Tell() {
    const auto range = scrub->Tell(now);
    Note(range.has_value() ? absl::StrCat("range ", *range, " first")
                           : "nothing to tell");
  }
  void OnCompare(uint64_t number, uint64_t range) {
    ChainMessage message;
    Compare* compare = message.mutable_compare();
    compare->set_number(number);
    compare->set_range(range);
    compare->set_range_bytes(heap.range_bytes());
    compare->set_position(kPosition);
    const Scrub::Answer answer = scrub->OnCompare(compare, now);
    if (answer == Scrub::Answer::kVoted) Note(Describe(message, ""));
    if (answer == Scrub::Answer::kFirst) {
      Note(absl::StrCat("range ", *scrub->unresolved_range(), " first"));
    }
  }
  // Judges `range` by this node's vote and those of others.
  void Conclude(uint64_t range, const std::vector<uint64_t>& others) {
    if (scrub->state() != Scrub::State::kAsked) return Note("not asked");
    RangeVotes votes;
    votes.Add()->set_digest(heap.Digest(range));
    for (uint64_t other : others) votes.Add()->set_digest(other);
    for (int i = 0; i < votes.size(); ++i) {
      votes[i].set_node_id(absl::StrCat("n", i + 1));
    }
    (void)scrub->Conclude(votes, 0, now);
    Note(scrub->stats().last_found);
  }
  void Pass(absl::Duration time) {
    now += time;
    scrub->OnTick(now);
  }

  std::optional<Scrub> scrub;
};

TEST(ScrubTest, WalksItsTable) {
  using Rig = ScrubRig;
  TransitionTable<Rig> table;
  table.AddState("kRests", [](Rig&) {});
  table.AddState("kRests, one was compared", [](Rig& rig) {
    rig.Next();
    rig.Conclude(0, {11, 11});
  });
  table.AddState("kRests, range 1 unresolved", [](Rig& rig) {
    rig.OnCompare(5, 1);
    rig.Conclude(1, {13});
  });
  table.AddState("kAsked, as the head", [](Rig& rig) { rig.Next(); });
  table.AddState("kAsked by another", [](Rig& rig) { rig.OnCompare(5, 0); });

  table.AddInput("Next", [](Rig& rig) { rig.Next(); });
  table.AddInput("Next, ten seconds later", [](Rig& rig) {
    rig.now += absl::Seconds(10);
    rig.Next();
  });
  table.AddInput("OnCompare of 0", [](Rig& rig) { rig.OnCompare(6, 0); });
  table.AddInput("OnCompare of 1", [](Rig& rig) { rig.OnCompare(6, 1); });
  table.AddInput("OnCompare of 2", [](Rig& rig) { rig.OnCompare(6, 2); });
  table.AddInput("Conclude, agreed", [](Rig& rig) {
    rig.Conclude(0, {11, 11});
  });
  table.AddInput("Conclude, this one differs", [](Rig& rig) {
    rig.Conclude(0, {13, 13});
  });
  table.AddInput("Conclude, another one differs", [](Rig& rig) {
    rig.Conclude(0, {11, 13});
  });
  table.AddInput("Conclude, this one and another differ", [](Rig& rig) {
    rig.Conclude(0, {13, 13, 12});
  });
  table.AddInput("Conclude, all differ", [](Rig& rig) {
    rig.Conclude(0, {12, 13});
  });
  table.AddInput("OnFirst 1", [](Rig& rig) { rig.scrub->OnFirst(1, rig.now); });
  table.AddInput("Tell, twice, ten seconds between", [](Rig& rig) {
    rig.Tell();
    rig.now += absl::Seconds(10);
    rig.Tell();
  });
  table.AddInput("OnTick", [](Rig& rig) { rig.Pass(absl::Milliseconds(20)); });
  table.AddInput("OnTick, late", [](Rig& rig) { rig.Pass(absl::Seconds(1)); });
  table.AddInput("Leave", [](Rig& rig) { rig.scrub->Leave(); });
  table.AddInput("OnAlone", [](Rig& rig) { rig.scrub->OnAlone(); });
  table.AddInput("OnCopied", [](Rig& rig) { rig.scrub->OnCopied("n2"); });
  ExpectText("tests/replica/tables/scrub.txt", table.Walk());
}

TEST(ScrubTest, CountsWholePasses) {
  ScrubRig rig;
  for (int round = 0; round < 4; ++round) {
    rig.Next();
    rig.Conclude(round % 2, {rig.heap.Digest(round % 2)});
    rig.now += absl::Seconds(11);
  }
  EXPECT_EQ(rig.scrub->stats().passes, 2u);
  EXPECT_EQ(rig.scrub->stats().took, absl::Seconds(11));
  EXPECT_EQ(rig.scrub->stats().ended, rig.now - absl::Seconds(11));
}

TEST(ScrubTest, APassThatBeganElsewhereIsNotWhole) {
  ScrubRig rig;
  rig.OnCompare(5, 1);
  rig.Conclude(1, {12});
  EXPECT_EQ(rig.scrub->stats().passes, 0u);
  rig.OnCompare(6, 0);
  rig.Conclude(0, {11});
  EXPECT_EQ(rig.scrub->stats().passes, 0u);
  rig.OnCompare(7, 1);
  rig.Conclude(1, {12});
  EXPECT_EQ(rig.scrub->stats().passes, 1u);
}

TEST(ScrubTest, AWholePassConfirmsACopy) {
  ScrubRig rig;
  rig.scrub->OnCopied("n2");
  for (uint64_t range : {1, 0}) {
    EXPECT_FALSE(rig.scrub->confirmed());
    EXPECT_TRUE(rig.scrub_record.state().copied);
    EXPECT_EQ(rig.scrub_record.state().source, "n2");
    rig.OnCompare(5, range);
    rig.Conclude(range, {rig.heap.Digest(range)});
  }
  EXPECT_TRUE(rig.scrub->confirmed());
  EXPECT_FALSE(rig.scrub_record.state().copied);
}

TEST(ScrubTest, WithoutARateNothingIsCompared) {
  ScrubRig rig;
  rig.options.scrub_bytes_per_s = 0;
  Scrub scrub(rig.options, &rig.heap);
  EXPECT_FALSE(scrub.Next(kPosition, rig.now).has_value());
}

// A scrub that has finished its pass, and rests.
struct RestingRig : ScrubRig {
  RestingRig() {
    options.scrub_bytes_per_s = 1u << 30;
    options.scrub_min_pass = absl::Seconds(60);
    scrub.emplace(options, &heap);
    Pass();
  }
  // To the end of the present pass.
  void Pass() {
    const uint64_t passes = scrub->stats().passes;
    while (scrub->stats().passes == passes && Asks()) Agree();
  }
  void Agree() {
    const uint64_t digest = heap.Digest(scrub->stats().next);
    Conclude(scrub->stats().next, {digest, digest});
  }
  bool Asks() {
    now += absl::Milliseconds(10);
    return scrub->Next(kPosition, now).has_value();
  }

  const absl::Time began = now;
};

TEST(ScrubTest, APassRestsBeforeTheNext) {
  RestingRig rig;
  EXPECT_EQ(rig.scrub->stats().passes, 1u);
  EXPECT_FALSE(rig.Asks());
  rig.now = rig.began + rig.options.scrub_min_pass;
  EXPECT_TRUE(rig.Asks());
}

TEST(ScrubTest, UnresolvedRangesOfOthersAreComparedWhileItRests) {
  RestingRig rig;
  rig.scrub->OnFirst(1, rig.now);
  rig.now += rig.options.scrub_retry;
  EXPECT_TRUE(rig.Asks());
  rig.Conclude(1, {12, 12});
  EXPECT_FALSE(rig.Asks());
}

TEST(ScrubTest, ARangeComparedWhileItRestsIsNoPartOfTheNextPass) {
  for (const uint64_t told : {0, 1}) {
    RestingRig rig;
    EXPECT_TRUE(rig.scrub->stats().between_passes);
    rig.scrub->OnFirst(told, rig.now);
    rig.now += rig.options.scrub_retry;
    ASSERT_TRUE(rig.Asks());
    rig.Agree();
    EXPECT_TRUE(rig.scrub->stats().between_passes);
    EXPECT_EQ(rig.scrub->stats().next, 0u);
    const absl::Duration took = rig.scrub->stats().took;
    rig.now = rig.began + rig.options.scrub_min_pass;
    ASSERT_TRUE(rig.Asks());
    EXPECT_FALSE(rig.scrub->stats().between_passes);
    rig.Agree();
    rig.Pass();
    EXPECT_EQ(rig.scrub->stats().passes, 2u);
    EXPECT_EQ(rig.scrub->stats().took, took);
    EXPECT_TRUE(rig.scrub->stats().between_passes);
  }
}

// As the range is unresolved, it is compared until that is settled.
TEST(ScrubTest, AnUnresolvedRangeIsNoPartOfTheNextPass) {
  RestingRig rig;
  rig.scrub->OnFirst(0, rig.now);
  rig.now += rig.options.scrub_retry;
  ASSERT_TRUE(rig.Asks());
  rig.Conclude(0, {13});
  EXPECT_TRUE(rig.scrub->has_unresolved_range());
  rig.now = rig.began + rig.options.scrub_min_pass;
  ASSERT_TRUE(rig.Asks());
  rig.Agree();
  EXPECT_FALSE(rig.scrub->has_unresolved_range());
  EXPECT_EQ(rig.scrub->stats().next, 0u);
}

TEST(ScrubTest, ANewViewEndsItsRest) {
  RestingRig rig;
  rig.scrub->Leave();
  EXPECT_TRUE(rig.Asks());
}

TEST(ScrubTest, AViewChangeWithinAPassStartsAWholePass) {
  RestingRig rig;
  rig.now = rig.began + rig.options.scrub_min_pass;
  ASSERT_TRUE(rig.Asks());
  rig.Agree();
  ASSERT_GT(rig.scrub->stats().next, 0u);
  rig.scrub->Leave();
  rig.Pass();
  EXPECT_EQ(rig.scrub->stats().passes, 2u);
  rig.Pass();  // at once
  EXPECT_EQ(rig.scrub->stats().passes, 3u);
  EXPECT_FALSE(rig.Asks());
}

TEST(ScrubTest, WithoutARateUnresolvedRangesAreComparedAgain) {
  ScrubRig rig;
  rig.options.scrub_bytes_per_s = 0;
  rig.OnCompare(5, 1);
  rig.Conclude(1, {13});
  rig.scrub.emplace(rig.options, &rig.heap);  // it starts again
  for (int round = 0; round < 2; ++round) {
    const auto compare = rig.scrub->Next(kPosition, rig.now);
    ASSERT_TRUE(compare.has_value());
    EXPECT_EQ(compare->range(), 1u);
    rig.Conclude(1, {13});
    EXPECT_FALSE(rig.scrub->Next(kPosition, rig.now).has_value());
    rig.now += rig.options.scrub_retry;
  }
  rig.Next();
  rig.Conclude(1, {12});
  EXPECT_FALSE(rig.scrub->has_unresolved_range());
  rig.now += rig.options.scrub_retry;
  EXPECT_FALSE(rig.scrub->Next(kPosition, rig.now).has_value());
}

TEST(ScrubTest, WithoutARateUnresolvedRangesOfOthersAreComparedOnce) {
  ScrubRig rig;
  rig.options.scrub_bytes_per_s = 0;
  rig.scrub.emplace(rig.options, &rig.heap);
  rig.scrub->OnFirst(1, rig.now);
  rig.now += rig.options.scrub_retry;
  const auto compare = rig.scrub->Next(kPosition, rig.now);
  ASSERT_TRUE(compare.has_value());
  EXPECT_EQ(compare->range(), 1u);
  rig.scrub->OnFirst(1, rig.now);  // it is in flight
  EXPECT_EQ(rig.scrub->state(), Scrub::State::kAsked);
  rig.Conclude(1, {12});
  rig.now += rig.options.scrub_retry;
  EXPECT_FALSE(rig.scrub->Next(kPosition, rig.now).has_value());
}

// If two nodes are wrong, the other one is expelled first.
TEST(ScrubTest, AWrongMemberIsUnresolvedUntilItsTurn) {
  const auto unresolved = [](const std::vector<uint64_t>& others) {
    ScrubRig rig;
    rig.Next();
    rig.Conclude(0, others);
    return rig.scrub->has_unresolved_range();
  };
  EXPECT_TRUE(unresolved({13, 13, 12}));
  EXPECT_FALSE(unresolved({13, 13}));      // its turn
  EXPECT_FALSE(unresolved({11, 13, 12}));  // the others'
  const faults::Planted planted("scrub-trusts-a-wrong-member");
  EXPECT_FALSE(unresolved({13, 13, 12}));
}

TEST(ScrubTest, WithoutAHeapItTakesNoPart) {
  ScrubRig rig;
  Scrub scrub(rig.options, nullptr);
  EXPECT_FALSE(scrub.takes_part());
  EXPECT_FALSE(scrub.has_unresolved_range());
  EXPECT_TRUE(scrub.confirmed());
  scrub.OnCopied("n2");
  scrub.OnAlone();
  scrub.OnWritten({{FakeHeap::kSpacing, 0, 8, engine::IntentKind::kWrite}});
  scrub.OnTick(rig.now);
  EXPECT_FALSE(scrub.Next(kPosition, rig.now).has_value());
}

}  // namespace
}  // namespace kamino::replica
