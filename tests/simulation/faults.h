// The faults of a run, drawn from its seed.
#ifndef KAMINO_TESTS_SIMULATION_FAULTS_H_
#define KAMINO_TESTS_SIMULATION_FAULTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/simulation/cluster.h"
#include "tests/simulation/operator.h"
#include "tests/simulation/random.h"

namespace kamino::simulation {

// The aim of a run, in addition to random faults.
enum class Scenario {
  kAny,
  // The head or the tail continues in a view that is over: it is cut from the
  // managers, or wakes up, while clients and its neighbours reach it.
  kStaleEnds,
  // A chain of two, so that one node is head and tail while the other joins.
  kShortChain,
  // Old copies of nodes' files are put back, one after the other.
  kOldCopies,
  // One leader after the other is cut off, stopped, or left with a deposed
  // member of etcd, while an end of the chain hears no other manager.
  kLeaders,
  // etcd's store is put back from older copies, or emptied.
  kOldStore,
  // Old copies of all nodes' files are put back, and no manager remembers them.
  kAllOld,
};

// The kinds of faults, and how often one strikes.
struct FaultPlan {
  absl::Duration interval = absl::Milliseconds(300);  // mean, between two
  int kills = 0;  // weights of each kind; 0: never
  int pauses = 0;
  int cuts = 0;
  int broken_links = 0;
  int slowness = 0;
  int managers = 0;
  int etcd = 0;
  int deposed = 0;     // a member of etcd and a leader continue alone
  int power_cuts = 0;  // of all nodes at once
  int lost_disks = 0;
  int old_copies = 0;   // of a node's files are put back
  int mixed_files = 0;  // of some of a node's files only
  int errors = 0;       // a node computes a wrong result
  int crashing = 0;     // a request ends the head that executes it
  int decay = 0;        // a bit of an unread object flips in a heap
  int rot = 0;          // bits of a node's files flip while it is down
  int all_old = 0;      // old copies of all nodes' files are put back
  int old_stores = 0;   // etcd's, put back or emptied
  int hidden = 0;       // managers, from each node for a time of its own
  int stale_ends = 0;
  int storms = 0;     // several die again and again
  int operators = 0;  // take nodes out and add them
  int stops = 0;      // planned stops of one node, several, or all
  int heads = 0;      // the head falls for long, the next one for a moment

  uint64_t damaged_one_in = 0;          // chunks of a state transfer; 0: none
  uint64_t damaged_entries_one_in = 0;  // log entries in flight
  bool restarts = false;                // killed nodes come back

  static FaultPlan Draw(Scenario scenario, Random* random);
};

class Faults {
 public:
  Faults(Cluster* cluster, const FaultPlan& plan);

  // From now on, until Stop.
  void Start();
  // Heals all links and starts every node, now or soon.
  void Stop();

  // After Stop: operators have finished their work.
  bool over() const { return !operator_.busy(); }
  // A member holds corrupt bits.
  bool AnyNodeDecays() const;
  // A corrupt node was the whole chain: its data is the chain's from then on.
  bool only_decayed_are_left() const { return only_decayed_are_left_; }

  uint64_t struck() const { return struck_; }

 private:
  void Next();
  void Strike();
  bool AnyNodeErrs() const;
  void StrikeLightly();
  void Kill();
  void KillHeads();
  void StopSome();
  void StopInOrder(SimNode* node, absl::Duration down);
  void CutOnceSurrendered(SimNode* node);
  void AwaitStop(SimNode* node, absl::Duration down);
  void Storm();
  // The processes that end.
  enum class Churning { kProcesses, kMachines, kBoth };
  void Churn(SimNode* node, absl::Time until, Churning how);
  void ChurnManager(SimManager* manager, absl::Time until);
  void ChangeMembers();
  void Maintain(SimNode* node);
  // Finalizes a release now and then, as an operator does.
  void FinalizeLater();
  void Doom(SimNode* node, Crash crash, uint64_t most_drains);
  void PowerCut();
  // The node among those that died at once that returns long before all others
  // and is to continue alone; null: none.
  SimNode* DrawSurvivor(const std::vector<SimNode*>& dying);
  void LoseDisk();
  void PutBackCopy();
  void PutBack(SimNode* node, const SimNode::Copy& copy);
  void PutBackAll();
  void PutBackAll(const std::map<std::string, SimNode::Copy>& copies);
  void PutNewestBack(const std::map<std::string, SimNode::Copy>& newest);
  void MixFiles();
  bool Err();
  void SendCrashing();
  void Rot();
  bool Decay();
  void TakeOutDecayed();
  SimNode* WrongMember() const;
  void WatchDecayed();
  bool OthersHold(const SimNode& node) const;
  void LookAfter(SimNode* node);
  void TakeOutDifferent(SimNode* node);
  void Repair(SimNode* node);
  void Pause();
  void CutSome();
  void Cut(const std::vector<std::string>& from,
           const std::vector<std::string>& to, absl::Duration time);
  void Slow();
  SimNode* AnEnd();
  void LeaveBehind();
  void LeaveBehindWithLeader(const SimNode& node);
  void StrikeManager();
  void StrikeEtcd();
  void DeposeEtcdMember();
  void HideManagers();
  void PutBackStore();
  // A damaged node, or one of another cluster, sends impossible messages,
  // repeatedly in every run.
  void TalkNonsense();
  // Acts as an operator who recovers from an old store, also when faults stop.
  void Operate();
  // All nodes are up, and that manager knows what each of them holds.
  bool HearsAll(const SimManager& manager) const;

  // Any one node that holds everything can continue without the others.
  bool NodesRepairLocally() const;
  // A node has a stale copy, and the others may not know yet.
  bool AnyNodeIsOld() const;
  bool MayDie(const SimNode& node) const;
  // Whether another node or the node itself can repair it. A node that is the
  // only one left, and was torn before it became head, cannot continue: more
  // than f failures, which no run may cause. Where nodes roll back locally it
  // can, unless another node has a stale copy: then a node that knows must be
  // up.
  bool MayTear(const SimNode& node) const;
  // Whether the chain survives if this node is lost for good.
  bool MayLose(const SimNode& node) const;
  void Disturb(const std::string& name, absl::Duration time);
  // The view may drop the node although it is up.
  void Unsettle(const std::string& name, absl::Duration time);
  void Restart(SimNode* node, absl::Duration time);
  SimNode* AnyNode();
  absl::Duration Between(int least_ms, int most_ms) {
    return random_.Between(absl::Milliseconds(least_ms),
                           absl::Milliseconds(most_ms));
  }
  void After(absl::Duration time, std::function<void()> event);

  Cluster* const cluster_;
  World* const world_;
  const FaultPlan plan_;
  Operator operator_;
  Random random_;
  Random nonsense_;  // a stream of its own: other faults stay the same
  Random releases_;  // likewise
  bool stopped_ = false;
  uint64_t struck_ = 0;
  bool all_are_old_ = false;            // no other fault strikes meanwhile
  bool decays_ = false;                 // some node did
  bool only_decayed_are_left_ = false;  // once set, their data is the chain's
  // Until when cuts that were drawn before take effect.
  absl::Time cuts_until_ = absl::InfinitePast();
  // The next fault; it returns whether it has struck.
  bool (Faults::*due_)() = nullptr;
  // Until when a node is disturbed.
  std::map<std::string, absl::Time> disturbed_;
  std::map<std::string, absl::Time> unsettled_;
  // The only node that hears the leader, while it is unsettled.
  std::string left_alone_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_FAULTS_H_
