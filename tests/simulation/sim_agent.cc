#include "tests/simulation/sim_agent.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "tests/faults/fault.h"

namespace kamino::simulation {

using membership::AgentCore;
using membership::PeerLeases;

namespace {

constexpr absl::Duration kCallDeadline = absl::Milliseconds(80);
constexpr absl::Duration kMinSpacing = absl::Milliseconds(5);

AgentCore::Options WithProcess(AgentCore::Options options, uint64_t life) {
  options.process = life + 1;
  return options;
}

}  // namespace

SimAgent::SimAgent(Process* process, TimedNetwork* network,
                   const std::map<std::string, SimManager*>* managers,
                   FindPeer find_peer, const AgentCore::Options& options,
                   Random random)
    : process_(process),
      network_(network),
      managers_(managers),
      find_peer_(std::move(find_peer)),
      random_(random),
      core_(WithProcess(options, process->life())) {}

absl::Status SimAgent::Start(const membership::Member& self,
                             membership::ViewSourceCallbacks callbacks) {
  core_.Begin(self, process_->Clock());
  callbacks_ = std::move(callbacks);
  AskForPeerLeases();
  WaitThenAsk(random_.Between(absl::ZeroDuration(), kCallDeadline));
  return absl::OkStatus();
}

void SimAgent::SetReport(const membership::NodeReport& report) {
  if (!process_->up()) return;
  if (std::exchange(told_, report.condition) != report.condition) {
    process_->Trace("is ", membership::ConditionName(report.condition));
  }
  core_.SetReport(report);
}

void SimAgent::AskToLeave() {
  core_.AskToLeave();
  RequestView();
}

void SimAgent::Surrender() {
  if (!process_->up()) return;
  process_->Trace("surrenders its lease");
  core_.Surrender();
  surrendered_ = true;
  RequestView();
}

void SimAgent::WaitThenAsk(absl::Duration wait) {
  process_->After(std::max(wait, kMinSpacing), [this, number = ++wait_] {
    if (number == wait_) Ask();
  });
}

void SimAgent::RequestView() {
  if (!calling_) WaitThenAsk(kMinSpacing);
}

void SimAgent::Ask() {
  ++wait_;
  if (core_.Rests(process_->Clock()) || core_.Hangs(process_->Clock())) {
    return WaitThenAsk(core_.interval());
  }
  calling_ = true;
  const auto call = std::make_shared<const Call>(core_.Next(process_->Clock()));
  const uint64_t number = ++call_;
  const auto answered = [this, number, call](const SimManager::Answer& answer) {
    if (number != call_) return;  // it was given up
    ++call_;
    OnAnswer(*call, answer);
  };
  const auto manager = managers_->find(call->manager);
  if (manager != managers_->end()) {
    // The agent may be gone when the call or the answer arrives.
    network_->Send(
        process_, manager->second,
        [network = network_, from = process_, to = manager->second,
         life = process_->life(), call, answered] {
          const auto answer =
              std::make_shared<const SimManager::Answer>(to->Serve(*call));
          network->Send(to, from, [from, life, answer, answered] {
            if (life == from->life()) answered(*answer);
          });
        });
  }
  process_->After(kCallDeadline, [answered] {
    SimManager::Answer answer;
    answer.status = absl::DeadlineExceededError("no answer");
    answered(answer);
  });
}

// --- Peer leases.

void SimAgent::AskForPeerLeases() {
  process_->After(core_.lease().peer_lease_interval(), [this] {
    for (const PeerLeases::Call& call :
         core_.lease().NextPeerLeaseCalls(process_->Clock())) {
      AskForPeerLease(call);
    }
    AskForPeerLeases();
  });
}

void SimAgent::AskForPeerLease(const PeerLeases::Call& call) {
  const auto over = std::make_shared<bool>(false);
  const auto answered = [this, call, over](const PeerLeases::Answer& answer) {
    if (!std::exchange(*over, true)) core_.lease().OnPeerLease(call, answer);
  };
  const Peer peer = find_peer_(call.node_id);
  network_->Send(
      process_, peer.process,
      [answered, call, peer, network = network_, from = process_,
       life = process_->life()] {
        SimAgent* const other = peer.agent();
        if (other == nullptr) return;
        membership::NodeLease& lease = other->core_.lease();
        const auto answer =
            lease.GrantPeerLease(call.request, peer.process->Clock());
        network->Send(peer.process, from, [from, life, answer, answered] {
          if (life == from->life()) answered(answer);
        });
      });
  process_->After(core_.lease().peer_lease_deadline(), [answered] {
    PeerLeases::Answer none;
    none.status = absl::DeadlineExceededError("no answer");
    answered(none);
  });
}

void SimAgent::OnAnswer(const Call& call, const SimManager::Answer& answer) {
  calling_ = false;
  Call asked = call;
  if (faults::FaultPlanted("membership-leases-from-the-answer")) {
    asked.sent = process_->Clock();
  }
  const AgentCore::Effects effects =
      core_.OnAnswer(asked, answer, process_->Clock());
  if (!effects.refused.ok()) {
    refused_ = true;
    return callbacks_.on_refused(effects.refused);
  }
  if (effects.view.has_value()) {
    process_->Trace("learns ", effects.view->ToString());
    callbacks_.on_view(*effects.view);
  }
  if (effects.invited.has_value()) callbacks_.on_invited(*effects.invited);
  if (effects.stop_permission.has_value()) {
    callbacks_.on_stop_permission(*effects.stop_permission);
  }
  WaitThenAsk(effects.wait);
}

}  // namespace kamino::simulation
