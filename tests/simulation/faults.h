// What goes wrong in a run, drawn from its seed.
#ifndef KAMINO_TESTS_SIMULATION_FAULTS_H_
#define KAMINO_TESTS_SIMULATION_FAULTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/simulation/cluster.h"
#include "tests/simulation/random.h"

namespace kamino::simulation {

// Which kinds there are, and how often one strikes.
struct FaultPlan {
  absl::Duration interval = absl::Milliseconds(300);  // mean, between two
  int kills = 0;  // weights of each kind; 0: never
  int pauses = 0;
  int cuts = 0;
  int broken_links = 0;
  int slowness = 0;
  int managers = 0;
  int etcd = 0;
  int power_cuts = 0;  // of all nodes at once
  int lost_disks = 0;

  bool restarts = false;  // killed nodes come back

  static FaultPlan Draw(Random* random);
};

class Faults {
 public:
  Faults(Cluster* cluster, const FaultPlan& plan);

  // From now on, until Stop.
  void Start() { Next(); }
  // Everything is healed, everyone is up, or will be soon.
  void Stop();

  uint64_t struck() const { return struck_; }

 private:
  void Next();
  void Strike();
  void Kill();
  void PowerCut();
  void LoseDisk();
  void Pause();
  void CutSome();
  void Cut(const std::vector<std::string>& from,
           const std::vector<std::string>& to, absl::Duration time);
  void Slow();
  void StrikeManager();
  void StrikeEtcd();

  bool MayDie(const SimNode& node) const;
  // Whether the chain outlives the loss of this node for good.
  bool MayLose(const SimNode& node) const;
  void Disturb(const std::string& name, absl::Duration time);
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
  Random random_;
  bool stopped_ = false;
  uint64_t struck_ = 0;
  // Until when something is wrong with it.
  std::map<std::string, absl::Time> disturbed_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_FAULTS_H_
