#include "replica/repair/catch_up_history.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/replica/no_copy.h"
#include "tests/replica/part_rig.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::Hello;
using membership::View;

// Keeps what the history tells it to.
struct RememberingCopy final : public NoCopy {
  void KeepChanges(uint64_t since, const LogRing&) override {
    kept.push_back(since);
  }
  void ForgetChangesBefore(uint64_t since) override {
    while (!kept.empty() && kept.front() < since) kept.erase(kept.begin());
  }
  void ForgetChanges() override { kept.clear(); }
  bool KnowsChangesAfter(uint64_t sequence) const override {
    return !kept.empty() && kept.front() <= sequence;
  }

  std::vector<uint64_t> kept;
};

class CatchUpHistoryTest : public testing::Test {
 protected:
  static View Of(uint64_t id, const std::vector<std::string>& names) {
    View view{"c", id, {}};
    for (const std::string& name : names) {
      view.members.push_back(PartRig::Named(name));
    }
    view.digest = 100 + id;
    for (uint64_t before = id; before-- > 1;) {
      view.ancestors.push_back(100 + before);
    }
    view.epoch = 1;
    return view;
  }

  // A view of these members; n1 is this node.
  void See(const std::vector<std::string>& names, bool whole = true,
           uint64_t epoch = 1) {
    View next = Of(view.id + 1, names);
    next.epoch = epoch;
    history.OnView(view, Has(view), next, Has(next), whole, rig.now);
    view = next;
  }
  static bool Has(const View& view) {
    for (const auto& member : view.members) {
      if (member.node_id == "n1") return true;
    }
    return false;
  }

  // Executes an entry of the view, and cleans up to `cleaned`.
  void Execute(uint64_t of_view, uint64_t cleaned) {
    const TextBatch batch("a=1");
    ASSERT_TRUE(
        rig.ring->Append(batch.Draft(rig.ring->received() + 1, of_view)).ok());
    rig.ring->MarkApplied(rig.ring->received());
    history.OnApplied();
    rig.ring->PersistApplied();
    rig.ring->Clean(cleaned);
  }

  // The plan for a node that was last in that view: "after 3", or the reason.
  std::string For(uint64_t member_view, uint64_t applied, uint64_t digest = 0,
                  uint64_t epoch = 1) {
    Hello hello;
    hello.set_member_view(member_view);
    hello.set_member_view_digest(digest == 0 ? 100 + member_view : digest);
    hello.set_applied(applied);
    hello.set_epoch(epoch);
    const CatchUpHistory::Plan plan = history.For(hello);
    if (!plan.changes_after.has_value()) {
      EXPECT_NE(plan.why, "");
      return std::string(NameOf(plan.reason));
    }
    return absl::StrCat("after ", *plan.changes_after);
  }

  PartRig rig;
  RememberingCopy copy;
  View view;
  CatchUpHistory history{rig.options, rig.ring.get(), &copy};
};

TEST_F(CatchUpHistoryTest, RemembersChangesAfterTheCommonPosition) {
  See({"n1", "n2", "n3"});
  for (int i = 1; i <= 4; ++i) Execute(1, i - 1);
  EXPECT_TRUE(copy.kept.empty());
  See({"n1", "n3"});
  EXPECT_EQ(copy.kept, std::vector<uint64_t>{3});
  EXPECT_EQ(For(1, 3), "after 3");
  EXPECT_EQ(For(1, 4), "after 4");
  EXPECT_EQ(For(1, 9), "after 4");          // its surplus exists nowhere else
  EXPECT_EQ(For(1, 2), "changes_unknown");  // an old copy
}

TEST_F(CatchUpHistoryTest, MutationsThatLaterViewsReplacedDoNotCount) {
  See({"n2", "n1"});
  Execute(1, 0);
  Execute(1, 1);
  See({"n1"});
  Execute(2, 2);
  Execute(2, 3);
  EXPECT_EQ(For(1, 4), "after 2");
  EXPECT_EQ(For(2, 4), "after 4");
}

// Entries of an earlier view may still come.
TEST_F(CatchUpHistoryTest, AViewBeginsWithItsFirstEntry) {
  See({"n2", "n3", "n1"});
  Execute(1, 0);
  See({"n3", "n1"});
  Execute(1, 1);
  Execute(1, 1);
  Execute(2, 1);
  EXPECT_EQ(For(1, 7), "after 3");
}

TEST_F(CatchUpHistoryTest, ChangesAreForgottenOnceANodeReturns) {
  See({"n1", "n2", "n3"});
  Execute(1, 1);
  See({"n1", "n2"});
  Execute(2, 2);
  See({"n1"});
  EXPECT_EQ(copy.kept, (std::vector<uint64_t>{1, 2}));
  See({"n1", "n3"});
  EXPECT_EQ(copy.kept, std::vector<uint64_t>{2});
  See({"n1", "n3", "n2"});
  EXPECT_TRUE(copy.kept.empty());
  EXPECT_EQ(For(4, 2), "changes_unknown");
}

TEST_F(CatchUpHistoryTest, ChangesAreForgottenAfterKeepChanges) {
  See({"n1", "n2", "n3"});
  See({"n1", "n2"});
  rig.now += rig.options.keep_changes / 2;
  Execute(2, 1);
  See({"n1"});
  rig.now += rig.options.keep_changes / 2;
  history.OnTick(rig.now);
  EXPECT_EQ(copy.kept, (std::vector<uint64_t>{0, 1}));
  rig.now += absl::Seconds(1);
  history.OnTick(rig.now);
  EXPECT_EQ(copy.kept, std::vector<uint64_t>{1});
  rig.now += rig.options.keep_changes;
  history.OnTick(rig.now);
  EXPECT_TRUE(copy.kept.empty());
}

TEST_F(CatchUpHistoryTest, GenerationsAreBounded) {
  std::vector<std::string> names = {"n1"};
  for (int i = 2; i <= 15; ++i) names.push_back(absl::StrCat("n", i));
  See(names);
  while (names.size() > 1) {
    Execute(view.id, view.id);
    names.pop_back();
    See(names);
  }
  EXPECT_EQ(history.generations(), CatchUpHistory::kMostGenerations);
  EXPECT_EQ(copy.kept.size(), CatchUpHistory::kMostGenerations);
  EXPECT_EQ(For(14, 14), "after 14");
}

TEST_F(CatchUpHistoryTest, ViewsBeforeMembershipAreUnknown) {
  See({"n2", "n3"});
  See({"n2", "n3", "n1"});
  See({"n2", "n1"});
  EXPECT_EQ(For(1, 0), "history_unknown");
  EXPECT_EQ(For(2, 0), "after 0");
  // Nor does a former view of which it was a member.
  See({"n2"});
  See({"n2", "n1"});
  EXPECT_EQ(For(2, 0), "history_unknown");
  EXPECT_TRUE(copy.kept.empty());
}

TEST_F(CatchUpHistoryTest, ViewsAreToldApartByDigestAndEpoch) {
  See({"n1", "n2"});
  See({"n1"});
  EXPECT_EQ(For(1, 0), "after 0");
  EXPECT_EQ(For(1, 0, /*digest=*/7), "history_unknown");
  EXPECT_EQ(For(0, 0), "nothing_held");
  EXPECT_EQ(For(1, 0, 0, /*epoch=*/2), "nothing_held");
  EXPECT_EQ(For(9, 0), "history_unknown");
}

TEST_F(CatchUpHistoryTest, AForcedRecoveryForgetsAll) {
  See({"n1", "n2"});
  See({"n1"});
  See({"n1"}, /*whole=*/true, /*epoch=*/2);
  EXPECT_TRUE(copy.kept.empty());
  EXPECT_EQ(For(2, 0, 0, /*epoch=*/2), "history_unknown");
}

TEST_F(CatchUpHistoryTest, NothingIsRememberedOfATornHeap) {
  See({"n1", "n2", "n3"});
  See({"n1", "n2"});
  See({"n1"}, /*whole=*/false);
  EXPECT_TRUE(copy.kept.empty());
  EXPECT_EQ(For(1, 0), "changes_unknown");
}

TEST_F(CatchUpHistoryTest, RemembersNothingWhenTurnedOff) {
  rig.options.keep_changes = absl::ZeroDuration();
  See({"n1", "n2"});
  See({"n1"});
  EXPECT_TRUE(copy.kept.empty());
}

}  // namespace
}  // namespace kamino::replica
