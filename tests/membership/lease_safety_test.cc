// Tests the argument of docs/design/membership.md: managers come and go, nodes
// pause and restart, messages take time, clocks run at different rates. No view
// may drop a process while that may still answer reads under an older view. The
// managers have different failure timeouts, as while an operator changes it,
// and some nodes are of release 0.1.0: those do not report their leases, and
// keep the longest one.
#include <algorithm>
#include <deque>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "membership/manager/manager_core.h"
#include "tests/faults/planted.h"

namespace kamino::membership {
namespace {

constexpr absl::Duration kStep = absl::Milliseconds(10);
constexpr absl::Duration kBeat = absl::Milliseconds(100);
constexpr absl::Duration kTtl = absl::Seconds(3);
constexpr int kManagers = 3;
constexpr int kNodes = 4;
constexpr int kSteps = 6000;  // one minute
// The managers' failure timeouts.
constexpr absl::Duration kTimeouts[kManagers] = {
    absl::Seconds(1), absl::Milliseconds(700), absl::Seconds(6)};

// True time, and a clock that is off it by an offset and a rate.
struct Clock {
  double rate = 1;
  absl::Duration offset;
  absl::Time At(absl::Time real) const {
    return absl::UnixEpoch() + offset + (real - absl::UnixEpoch()) * rate;
  }
};

std::string HeapOf(int node, int number) {
  std::string heap(Registrations::kHeapIdBytes, static_cast<char>('a' + node));
  return heap.replace(0, 4, std::to_string(1000 + number % 9000));
}

struct Node {
  Clock clock;
  Member member;
  int heaps = 0;  // it has had before this one
  Condition condition = Condition::kFresh;
  bool registered = false;
  int manager = 0;                              // that it asks
  absl::Time next_beat = absl::InfinitePast();  // real time
  absl::Time resume = absl::InfinitePast();     // paused until then, real time
  absl::Time lease_until = absl::InfinitePast();  // on its clock
  uint64_t lease_view_id = 0;
  uint64_t lease_term = 0;
  bool old_release = false;
  int call = 0;  // the last; answers to earlier ones are ignored
  View view;

  // Decides as a node does whether it may answer a read.
  bool MayServe(absl::Time real) const {
    return view.IndexOf(member.node_id, member.incarnation) >= 0 &&
           view.id >= lease_view_id && clock.At(real) < lease_until;
  }
};

struct Manager {
  Manager(int its_index, const ManagerOptions& options)
      : index(its_index), core(options) {}
  const int index;  // among managers_
  Clock clock;
  ManagerCore core;
  bool leading = false;
  int64_t term = 0;
  uint64_t expected = 0;  // id of the stored view it knows
  absl::Time renewed;     // when it last asked etcd, real time
  int64_t seen = -1;      // of the leader's renewals, last
  absl::Time seen_since;  // on its clock
  // On its clock: until when leases of former leaders may run.
  absl::Time former_until = absl::InfinitePast();
  absl::Time paused_until = absl::InfinitePast();
  absl::Time cut_until = absl::InfinitePast();  // from etcd
};

// A request or an answer in flight.
struct Message {
  absl::Time arrives;
  int node;
  Member member;
  Condition condition;
  bool answer;
  bool is_register;
  absl::Time sent;  // on the node's clock
  int manager;
  absl::Status status;
  uint64_t lease_view_id;
  View view;
  uint64_t lease_term;
  absl::Duration lease;
  int call;
};

class World {
 public:
  explicit World(uint32_t seed) : random_(seed) {
    for (int i = 0; i < kManagers; ++i) {
      ManagerOptions options;
      options.cluster_id = "c";
      options.chain_length = kNodes;
      options.failure_timeout = kTimeouts[i];
      managers_.emplace_back(i, options);
      managers_.back().clock = AnyClock();
    }
    for (int i = 0; i < kNodes; ++i) {
      Node node;
      node.clock = AnyClock();
      const std::string id = "n" + std::to_string(i);
      node.member =
          Member{id, 1, id + ":1", {{"tcp", id + ":2"}}, 64, HeapOf(i, 0)};
      node.old_release = OneIn(4);
      nodes_.push_back(node);
    }
  }

  void Run() {
    for (int i = 0; i < kSteps && violation_.empty(); ++i) {
      real_ += kStep;
      Break();
      Deliver();
      for (int n = 0; n < kNodes; ++n) Beat(n);
      for (Manager& manager : managers_) Act(&manager);
      for (const Node& node : nodes_) served_ += node.MayServe(real_);
    }
  }

  int views() const { return views_; }
  int served() const { return served_; }
  int terms() const { return static_cast<int>(term_); }
  // Views that have dropped members while former leases could run.
  int early() const { return early_; }
  const std::string& violation() const { return violation_; }

 private:
  int Pick(int n) { return std::uniform_int_distribution<>(0, n - 1)(random_); }
  bool OneIn(int n) { return Pick(n) == 0; }

  // Up to a thousandth fast or slow, more than any real clock.
  Clock AnyClock() {
    return Clock{1 + (Pick(2001) - 1000) * 1e-6, absl::Seconds(Pick(1000))};
  }

  absl::Duration Delay() {
    return absl::Milliseconds(OneIn(50) ? Pick(2000) : Pick(30));
  }

  void Break() {
    if (OneIn(600)) {
      managers_[Pick(kManagers)].paused_until =
          real_ + absl::Milliseconds(Pick(6000));
    }
    if (OneIn(900)) {
      managers_[Pick(kManagers)].cut_until =
          real_ + absl::Milliseconds(Pick(9000));
    }
    Node& node = nodes_[Pick(kNodes)];
    if (OneIn(700)) node.resume = real_ + absl::Milliseconds(Pick(2500));
    if (OneIn(1500)) {  // kill -9 and start again, once without the heap
      if (OneIn(4)) {
        LoseHeap(&node);
      } else {
        Restart(&node);
        if (node.condition != Condition::kFresh) {
          node.condition = OneIn(2) ? Condition::kTorn : Condition::kSound;
        }
      }
    }
    // An operator who starts over with an empty etcd once the chain is short.
    if (stored_.members.size() == 1 && OneIn(100)) StartOver();
  }

  // All processes end; everything starts from nothing.
  void StartOver() {
    messages_.clear();
    stored_ = View();
    for (Manager& manager : managers_) {
      manager.core.LoseLeadership();
      manager.leading = false;
    }
    leader_ = -1;
    ++renewals_;
    for (Node& node : nodes_) LoseHeap(&node);
  }

  void Restart(Node* node) {
    node->member.incarnation++;
    node->registered = false;
    node->lease_until = absl::InfinitePast();
    node->lease_view_id = 0;
    node->lease_term = 0;
    node->view = View();
  }

  void LoseHeap(Node* node) {
    Restart(node);
    const int index = static_cast<int>(node - nodes_.data());
    node->member.heap_id = HeapOf(index, ++node->heaps);
    node->condition = Condition::kFresh;
  }

  void Beat(int n) {
    Node& node = nodes_[n];
    if (real_ < node.resume || real_ < node.next_beat) return;
    node.next_beat = real_ + kBeat;
    Message message{};
    message.arrives = real_ + Delay();
    message.node = n;
    message.member = node.member;
    message.condition = node.condition;
    message.is_register = !node.registered;
    message.sent = node.clock.At(real_);
    message.view = node.view;
    message.lease_term = node.old_release ? 0 : node.lease_term;
    message.call = ++node.call;
    if (OneIn(100)) node.manager = Pick(kManagers);
    message.manager = node.manager;
    messages_.push_back(message);
  }

  void Deliver() {
    std::deque<Message> due;
    for (auto it = messages_.begin(); it != messages_.end();) {
      const bool held = it->answer
                            ? real_ < nodes_[it->node].resume
                            : real_ < managers_[it->manager].paused_until;
      if (it->arrives <= real_ && !held) {
        due.push_back(*it);
        it = messages_.erase(it);
      } else {
        ++it;
      }
    }
    for (Message& message : due) {
      if (message.answer) {
        OnAnswer(message);
      } else {
        OnRequest(&message);
      }
    }
  }

  void OnRequest(Message* message) {
    Manager& manager = managers_[message->manager];
    const absl::Time now = manager.clock.At(real_);
    if (!manager.core.IsLeader(now)) {
      // The agent would be told the same.
      if (nodes_[message->node].manager == message->manager) {
        nodes_[message->node].manager = Pick(kManagers);
      }
      return;
    }
    const Member& member = message->member;
    NodeReport report = {message->view.id, message->condition};
    report.lease_term = message->lease_term;
    message->status =
        message->is_register
            ? manager.core.Register("c", member, report, now)
            : manager.core.Heartbeat(
                  "c", {member.node_id, member.incarnation, report}, now);
    message->view = manager.core.view();
    message->lease_view_id = manager.core.view().id;
    message->lease_term = manager.core.lease_term();
    message->lease = manager.core.options().lease();
    message->answer = true;
    message->arrives = real_ + Delay();
    messages_.push_back(*message);
  }

  void OnAnswer(const Message& message) {
    Node& node = nodes_[message.node];
    if (node.member.incarnation != message.member.incarnation) return;
    if (message.call != node.call) return;
    if (absl::IsNotFound(message.status)) node.registered = false;
    if (!message.status.ok()) return;
    if (message.is_register) node.registered = true;
    if (message.view.id > node.view.id) node.view = message.view;
    if (node.view.IndexOf(node.member.node_id, node.member.incarnation) >= 0) {
      node.condition = Condition::kSound;  // repaired, if it had to be
    }
    const absl::Time until = message.sent + message.lease;
    node.lease_until =
        node.old_release ? std::max(node.lease_until, until) : until;
    node.lease_term = message.lease_term;
    node.lease_view_id = std::max(node.lease_view_id, message.lease_view_id);
  }

  // One round of a manager's thread, against a correct etcd.
  void Act(Manager* manager) {
    if (real_ < manager->paused_until) return;
    const int index = manager->index;
    const absl::Time now = manager->clock.At(real_);
    const bool cut = real_ < manager->cut_until;
    const bool mine = !cut && leader_ == index && term_ == manager->term;
    if (!manager->leading) {
      if (cut) return;
      if (manager->seen != renewals_) {
        manager->seen = renewals_;
        manager->seen_since = now;
      }
      if (leader_ >= 0 && now - manager->seen_since < kTtl) return;
      leader_ = index;
      manager->term = ++term_;
      manager->leading = true;
      manager->expected = stored_.id;
      manager->former_until = now + former_leases_;
      manager->core.BecomeLeader(stored_, former_leases_, now, {},
                                 static_cast<uint64_t>(term_));
      Renew(manager);
      return;
    }
    if (mine && real_ - manager->renewed > kTtl / 3) Renew(manager);
    if (!manager->core.IsLeader(now)) {
      manager->leading = false;
      manager->core.LoseLeadership();
      return;
    }
    const auto view = manager->core.ProposeView(now);
    if (!view.has_value() || !OneIn(20)) return;  // the write is slow
    if (!mine || manager->expected != stored_.id) return;
    CheckDropped(*view, now < manager->former_until);
    ++views_;
    stored_ = *view;
    manager->expected = stored_.id;
    manager->core.OnViewStored(stored_);
  }

  void Renew(Manager* manager) {
    manager->renewed = real_;
    const absl::Time now = manager->clock.At(real_);
    manager->core.ExtendLeadership(now + kTtl * 0.9);
    former_leases_ =
        std::max(manager->core.options().lease(), manager->former_until - now);
    ++renewals_;
  }

  // The claim itself.
  void CheckDropped(const View& next, bool former_leases_run) {
    ASSERT_EQ(next.id, stored_.id + 1);
    ASSERT_FALSE(next.members.empty());
    for (const Node& node : nodes_) {
      const Member& member = node.member;
      if (next.IndexOf(member.node_id, member.incarnation) >= 0) continue;
      early_ += former_leases_run &&
                stored_.IndexOf(member.node_id, member.incarnation) >= 0;
      if (!node.MayServe(real_)) continue;
      violation_ = absl::StrCat(member.node_id, ".", member.incarnation,
                                " still serves in ", node.view.ToString(),
                                " at ", next.ToString());
    }
    // Nor may an answer in flight let it serve again.
    for (const Message& message : messages_) {
      const Node& node = nodes_[message.node];
      const Member& member = node.member;
      if (!message.answer || !message.status.ok() ||
          member.incarnation != message.member.incarnation ||
          message.call != node.call ||
          message.view.IndexOf(member.node_id, member.incarnation) < 0 ||
          next.IndexOf(member.node_id, member.incarnation) >= 0) {
        continue;
      }
      if (message.sent + message.lease <= node.clock.At(real_)) continue;
      violation_ = absl::StrCat(member.node_id, ".", member.incarnation,
                                " will serve in ", message.view.ToString(),
                                " at ", next.ToString());
    }
  }

  std::mt19937 random_;
  absl::Time real_ = absl::UnixEpoch();
  std::deque<Manager> managers_;
  std::vector<Node> nodes_;
  std::deque<Message> messages_;

  // etcd.
  View stored_;
  int leader_ = -1;
  int64_t term_ = 0;
  int64_t renewals_ = 0;
  absl::Duration former_leases_;  // as the last renewal has it

  std::string violation_;
  int early_ = 0;
  int views_ = 0;
  int served_ = 0;
};

constexpr uint32_t kSeeds = 60;

TEST(LeaseSafetyTest, NoViewDropsAProcessThatMayServe) {
  int views = 0;
  int served = 0;
  int terms = 0;
  int early = 0;
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    world.Run();
    ASSERT_EQ(world.violation(), "");
    ASSERT_FALSE(HasFailure());
    views += world.views();
    served += world.served();
    terms += world.terms();
    early += world.early();
  }
  // The runs had the events that the claim is about.
  EXPECT_GT(views, 100);
  EXPECT_GT(terms, 100);
  EXPECT_GT(served, 100000);
  // Former leases did not delay the views of a manager that grants shorter
  // ones.
  EXPECT_GT(early, 0);
}

bool SomeViewDropsAProcessThatMayServe() {
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    World world(seed);
    world.Run();
    if (!world.violation().empty()) return true;
  }
  return false;
}

TEST(LeaseSafetyTest, AManagerThatTakesAFormerLeaseForItsOwnIsDetected) {
  faults::Planted fault("membership-believes-any-renewal");
  EXPECT_TRUE(SomeViewDropsAProcessThatMayServe());
}

}  // namespace
}  // namespace kamino::membership
