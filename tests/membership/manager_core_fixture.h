#ifndef KAMINO_TESTS_MEMBERSHIP_MANAGER_CORE_FIXTURE_H_
#define KAMINO_TESTS_MEMBERSHIP_MANAGER_CORE_FIXTURE_H_

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "membership/manager/manager_core.h"

namespace kamino::membership {

inline constexpr absl::Duration kTimeout = absl::Seconds(1);
inline constexpr absl::Duration kBeat = absl::Milliseconds(100);
inline constexpr absl::Duration kMs = absl::Milliseconds(1);

// A restarted node has the same heap.
inline Member Node(const std::string& id, uint64_t incarnation = 1) {
  const std::string heap(Registrations::kHeapIdBytes, id.back());
  return Member{id,       incarnation, id + ":1", {{"tcp", id + ":2"}},
                64 << 20, heap};
}

// A node whose heap was lost.
inline Member Replacement(const std::string& id, uint64_t incarnation) {
  Member member = Node(id, incarnation);
  member.heap_id = std::string(Registrations::kHeapIdBytes, '+');
  return member;
}

inline std::string Names(const View& view) {
  std::string names;
  for (const Member& member : view.members) {
    names += member.node_id + "." + std::to_string(member.incarnation) + " ";
  }
  return names;
}

// A core that leads for ever, unless a test changes that, with time moved by
// hand.
class ManagerCoreTest : public testing::Test {
 protected:
  static ManagerOptions Options() {
    ManagerOptions options;
    options.cluster_id = "c";
    options.chain_length = 3;
    options.failure_timeout = kTimeout;
    options.heartbeat_interval = kBeat;
    options.max_nodes = 5;
    return options;
  }

  ManagerCoreTest() { Lead(View()); }

  void Lead(const View& view) {
    core_.BecomeLeader(view, Options().lease(), now_);
    core_.ExtendLeadership(absl::InfiniteFuture());
  }

  // Each member has reported to this leader: it grants leases.
  void HearMembers() {
    for (const Member& member : core_.view().members) {
      Beat(member.node_id, member.incarnation).IgnoreError();
    }
  }

  absl::Status Register(const Member& member,
                        Condition condition = Condition::kFresh) {
    return core_.Register("c", member, {.condition = condition}, now_);
  }
  absl::Status Beat(const std::string& id, uint64_t incarnation = 1,
                    Condition condition = Condition::kSound,
                    uint64_t caught_up_view = 0) {
    return core_.Heartbeat(
        "c",
        {id,
         incarnation,
         {core_.view().id, condition, caught_up_view, cursors_[id]}},
        now_);
  }
  absl::Status Return(const std::string& id, const Cursors& cursors) {
    cursors_[id] = cursors;
    return core_.Register(
        "c", Node(id, 2),
        {.condition = Condition::kReturned, .cursors = cursors}, now_);
  }

  // Lets time pass while those nodes send heartbeats and get that answer, and
  // stores the core's proposals.
  void Pass(absl::Duration time, const std::vector<Member>& beating,
            Condition condition = Condition::kSound,
            absl::StatusCode answer = absl::StatusCode::kOk) {
    const absl::Time end = now_ + time;
    while (now_ < end) {
      now_ += std::min(kBeat, end - now_);
      for (const Member& member : beating) {
        EXPECT_EQ(Beat(member.node_id, member.incarnation, condition).code(),
                  answer);
        core_.stops().CallAgainAfter(member.node_id,
                                     now_);  // as the manager does
      }
      if (auto view = core_.ProposeView(now_)) core_.OnViewStored(*view);
    }
  }

  void FormChain() {
    for (const Member& member : all_) {
      ASSERT_EQ(Register(member), absl::OkStatus());
    }
    auto view = core_.ProposeView(now_);
    ASSERT_TRUE(view.has_value());
    core_.OnViewStored(*view);
  }

  std::map<std::string, Cursors> cursors_;  // as nodes say in heartbeats
  const std::vector<Member> all_ = {Node("n1"), Node("n2"), Node("n3")};
  absl::Time now_ = absl::FromUnixSeconds(1000);
  ManagerCore core_{Options()};
};

}  // namespace kamino::membership

#endif  // KAMINO_TESTS_MEMBERSHIP_MANAGER_CORE_FIXTURE_H_
