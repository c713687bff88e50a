#include "replica/link/announcements.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/replica/part_rig.h"

namespace kamino::replica {
namespace {

using membership::View;

constexpr LinkId kLink = 5;
constexpr RequestIdentity kRequest = {1, 2, 3};
constexpr RequestIdentity kOther = {4, 5, 6};

// A node, by name, and the messages it sends.
struct Speaker : PartRig {
  Speaker(const std::string& name, uint64_t incarnation) {
    options.node_id = name;
    options.incarnation = incarnation;
  }
  // Its messages, as the other node receives them; that one is at `index` of
  // its view.
  std::vector<kamino::internal::v1::ChainMessage> Said() {
    std::vector<kamino::internal::v1::ChainMessage> said;
    for (const auto& send : outbox.Take().send) said.push_back(send.message);
    return said;
  }

  Announcements announcements{options, &record, &outbox};
};

View ViewOf(uint64_t id,
            const std::vector<std::pair<std::string, uint64_t>>& nodes) {
  View view{"c", id, {}};
  for (const auto& [name, incarnation] : nodes) {
    view.members.push_back(PartRig::Named(name));
    view.members.back().incarnation = incarnation;
  }
  return view;
}

class AnnouncementsTest : public ::testing::Test {
 protected:
  AnnouncementsTest() {
    const View view = ViewOf(2, {{"n1", 1}, {"n2", 1}});
    head_.announcements.Enter(view, 0);
    next_.announcements.Enter(view, 1);
  }

  bool Announce(const RequestIdentity& request, LinkId link = kLink) {
    return head_.announcements.Announce(request, link, /*alone=*/false);
  }
  // Delivers each node's messages to the other.
  void Exchange() {
    for (const auto& message : head_.Said()) {
      next_.announcements.OnAnnounce(message.announce(), kLink);
    }
    for (const auto& message : next_.Said()) {
      head_.announcements.OnAck(message.announce_ack());
    }
  }
  // The request that `to` learns of from the successor's memory.
  std::optional<RequestIdentity> NamedOf(Speaker* to) {
    kamino::internal::v1::Sync sync;
    next_.announcements.TellIn(&sync);
    to->announcements.OnSync(sync, kLink);
    return to->announcements.TakeQuarantined();
  }

  Speaker head_{"n1", 1};
  Speaker next_{"n2", 1};
};

TEST_F(AnnouncementsTest, ARequestIsExecutedOnceTheSuccessorKnows) {
  EXPECT_FALSE(Announce(kRequest));
  EXPECT_FALSE(Announce(kRequest));
  Exchange();
  EXPECT_TRUE(Announce(kRequest));
  EXPECT_FALSE(Announce(kOther));
}

TEST_F(AnnouncementsTest, AnAnnouncementIsSentOnceThereIsALink) {
  EXPECT_FALSE(Announce(kRequest, kNoLink));
  EXPECT_TRUE(head_.Said().empty());
  head_.announcements.OnSync({}, kLink);
  Exchange();
  EXPECT_TRUE(Announce(kRequest));
}

TEST_F(AnnouncementsTest, ANewSuccessorIsToldAgain) {
  Announce(kRequest);
  Exchange();
  head_.announcements.Enter(ViewOf(3, {{"n1", 1}, {"n3", 1}}), 0);
  EXPECT_FALSE(Announce(kRequest));
  head_.announcements.OnSync({}, kLink);
  EXPECT_EQ(head_.Said().size(), 1u);
}

TEST_F(AnnouncementsTest, TheSuccessorKnowsTheRequestOfADeadHead) {
  Announce(kRequest);
  Exchange();
  next_.announcements.Enter(ViewOf(3, {{"n2", 1}}), 0);
  EXPECT_EQ(next_.announcements.TakeQuarantined(), kRequest);
  EXPECT_EQ(next_.announcements.TakeQuarantined(), std::nullopt);
}

TEST_F(AnnouncementsTest, AReturningHeadLearnsItsLastRequest) {
  Announce(kRequest);
  Exchange();
  Speaker again("n1", 2);
  const View view = ViewOf(3, {{"n1", 2}, {"n2", 1}});
  again.announcements.Enter(view, 0);
  next_.announcements.Enter(view, 1);
  EXPECT_EQ(NamedOf(&again), kRequest);
}

TEST_F(AnnouncementsTest, TheRequestOfALivingHeadIsNotQuarantined) {
  Announce(kRequest);
  Exchange();
  EXPECT_EQ(NamedOf(&head_), std::nullopt);
}

TEST_F(AnnouncementsTest, AFinishedRequestIsForgotten) {
  Announce(kRequest);
  Exchange();
  head_.announcements.End(kLink);
  Exchange();
  next_.announcements.Enter(ViewOf(3, {{"n2", 1}}), 0);
  EXPECT_EQ(next_.announcements.TakeQuarantined(), std::nullopt);
}

TEST_F(AnnouncementsTest, ALostEndIsSentAgain) {
  Announce(kRequest);
  Exchange();
  head_.announcements.End(kNoLink);
  EXPECT_EQ(NamedOf(&head_), std::nullopt);
  Exchange();
  next_.announcements.Enter(ViewOf(3, {{"n2", 1}}), 0);
  EXPECT_EQ(next_.announcements.TakeQuarantined(), std::nullopt);
}

TEST_F(AnnouncementsTest,
       TheRequestOfAHeadWithAnotherSuccessorIsNotQuarantined) {
  Announce(kRequest);
  Exchange();
  next_.announcements.Enter(ViewOf(3, {{"n1", 1}, {"n3", 1}}), -1);
  next_.announcements.Enter(ViewOf(4, {{"n2", 1}}), 0);
  EXPECT_EQ(next_.announcements.TakeQuarantined(), std::nullopt);
}

TEST_F(AnnouncementsTest, AnAnnouncementToANonSuccessorIsRejected) {
  next_.announcements.Enter(ViewOf(3, {{"n1", 1}, {"n3", 1}, {"n2", 1}}), 2);
  Announce(kRequest);
  Exchange();
  EXPECT_FALSE(Announce(kRequest));
  EXPECT_EQ(next_.outbox.turned_down().malformed, 1u);
}

TEST_F(AnnouncementsTest, ALoneHeadFindsTheRequestInItsRecord) {
  EXPECT_TRUE(head_.announcements.Announce(kRequest, kNoLink, /*alone=*/true));
  Announcements again(head_.options, &head_.record, &head_.outbox);
  again.Enter(ViewOf(2, {{"n1", 1}}), -1);
  again.Enter(ViewOf(3, {{"n1", 2}}), 0);
  EXPECT_EQ(again.TakeQuarantined(), kRequest);
  head_.announcements.End(kNoLink);
  Announcements after_its_end(head_.options, &head_.record, &head_.outbox);
  EXPECT_EQ(after_its_end.TakeQuarantined(), std::nullopt);
}

}  // namespace
}  // namespace kamino::replica
