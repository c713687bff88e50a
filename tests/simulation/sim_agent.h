// A node's membership agent in simulated time;
// membership/agent/membership_agent.h runs it on a thread and over gRPC.
#ifndef KAMINO_TESTS_SIMULATION_SIM_AGENT_H_
#define KAMINO_TESTS_SIMULATION_SIM_AGENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "membership/agent/agent_core.h"
#include "membership/agent/view_source.h"
#include "tests/simulation/random.h"
#include "tests/simulation/sim_manager.h"
#include "tests/simulation/timed_network.h"
#include "tests/simulation/world.h"

namespace kamino::simulation {

// One for each life of the process. All its arguments outlive it.
class SimAgent final : public membership::ViewSource {
 public:
  // Another node's process, and its current agent.
  struct Peer {
    Process* process;
    std::function<SimAgent*()> agent;  // null while it is down
  };
  using FindPeer = std::function<Peer(const std::string& node_id)>;

  SimAgent(Process* process, TimedNetwork* network,
           const std::map<std::string, SimManager*>* managers,
           FindPeer find_peer, const membership::AgentCore::Options& options,
           Random random);

  absl::Status Start(const membership::Member& self,
                     membership::ViewSourceCallbacks callbacks) override;
  void RestBeforeStart(absl::Duration rest) override {
    core_.RestUntil(process_->Clock() + rest);
  }
  void Stop() override { core_.lease().End(); }
  bool LeaseValid(uint64_t view_id) const override {
    return core_.lease().Valid(view_id, process_->Clock());
  }
  absl::Duration FailureTimeout() const override {
    return core_.lease().FailureTimeout();
  }
  void RequestView() override;
  void NoteProgress() override { core_.NoteProgress(process_->Clock()); }
  void AskToLeave() override;
  void Surrender() override;
  void SetReport(const membership::NodeReport& report) override;

  // Whether the cluster rejects this node.
  bool refused() const { return refused_; }
  bool has_surrendered() const { return surrendered_; }

 private:
  using Call = membership::AgentCore::Call;

  void AskForPeerLeases();
  void AskForPeerLease(const membership::PeerLeases::Call& call);
  void WaitThenAsk(absl::Duration wait);
  void Ask();
  void OnAnswer(const Call& call, const SimManager::Answer& answer);

  Process* const process_;
  TimedNetwork* const network_;
  const std::map<std::string, SimManager*>* const managers_;
  const FindPeer find_peer_;
  Random random_;
  membership::AgentCore core_;
  membership::ViewSourceCallbacks callbacks_;
  membership::Condition told_ = membership::Condition::kUnknown;  // the trace
  bool refused_ = false;
  bool surrendered_ = false;
  uint64_t call_ = 0;  // the one that is outstanding
  uint64_t wait_ = 0;  // the wait for the next one
  bool calling_ = false;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_SIM_AGENT_H_
