// A manager process: membership::ManagerLoop with simulated time and calls.
#ifndef KAMINO_TESTS_SIMULATION_SIM_MANAGER_H_
#define KAMINO_TESTS_SIMULATION_SIM_MANAGER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "membership/agent/agent_core.h"
#include "membership/manager/manager_loop.h"
#include "tests/simulation/random.h"
#include "tests/simulation/sim_etcd.h"
#include "tests/simulation/timed_network.h"
#include "tests/simulation/world.h"

namespace kamino::simulation {

class SimManager final : public Process {
 public:
  using Answer = membership::AgentCore::Answer;

  struct Options {
    membership::ManagerOptions core;
    absl::Duration leader_ttl = absl::Seconds(1);
    // The identity of a node's calls, by its name; null: they are in the clear.
    std::function<std::string(const std::string& node)> identity_of = nullptr;
  };

  SimManager(World* world, TimedNetwork* network, SimEtcd* etcd,
             const std::string& name, const Options& options);

  void Start();
  void Kill();  // kill -9: all it knew is gone

  // As it believes.
  bool leads() const;

  // Whether this manager leads, and that node has reported in this life
  // recently.
  bool Hears(const std::string& node, uint64_t incarnation) const;
  // The nodes and the condition that the chain waits for, where it leads.
  std::string WhyWaits() const;
  // An operator's command, where it leads: continue with what nodes hold, if
  // the store is behind, or all nodes have old copies.
  void Recover(bool force);
  // Another command; fails where it does not lead.
  absl::Status Administer(
      absl::FunctionRef<absl::Status(membership::ManagerCore*, absl::Time)>
          request);
  // Whether it leads and expels that member as a suspect.
  bool Suspects(const std::string& node) const;
  // The view it uses, where it leads.
  const membership::View& view() const { return loop_->core().view(); }

  // Where it leads: a stranger registers, and a damaged member reports, both
  // with impossible values.
  void HearNonsense(Random* random);

  // A node's call, as it arrives here.
  Answer Serve(membership::AgentCore::Call call);

 private:
  void StepAfter(absl::Duration wait);
  void Step();
  void Call(membership::EtcdCall call);

  TimedNetwork* const network_;
  SimEtcd* const etcd_;
  const Options options_;
  std::unique_ptr<membership::ManagerLoop> loop_;
  uint64_t call_ = 0;  // the one that is outstanding
  uint64_t wait_ = 0;  // the wait for the next one
  bool calling_ = false;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_SIM_MANAGER_H_
