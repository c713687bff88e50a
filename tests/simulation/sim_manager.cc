#include "tests/simulation/sim_manager.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "membership/records.h"
#include "tests/faults/fault.h"

namespace kamino::simulation {

using membership::AgentCore;
using membership::EtcdAnswer;
using membership::EtcdCall;
using membership::ManagerLoop;

namespace {

constexpr absl::Duration kEtcdDeadline = absl::Milliseconds(300);

// A node with an old copy is kept out by the manager, which knows what members
// hold, and by its neighbours, which know what the manager learns with a
// heartbeat late. So a fault of the neighbours' check takes the manager's away
// as well.
bool OldCopiesGoUnseen() {
  return faults::FaultPlanted("old-copies-are-for-neighbours-to-see") ||
         faults::FaultPlanted("chain-trusts-a-returning-node") ||
         faults::FaultPlanted("chain-stops-at-stale-successor");
}

// More than any run has, and no more than a manager believes.
constexpr uint64_t kEverything = uint64_t{1} << 50;

// As if each node held everything, until it reports that it is outrun.
template <typename Request>
void Boast(Request* request) {
  kamino::v1::NodeReport* report = request->mutable_report();
  if (report->condition() == kamino::v1::CONDITION_OUTRUN) return;
  report->mutable_cursors()->set_applied(kEverything);
}

// A report of a member of the view with one wrong field.
membership::NodeReport Nonsense(const membership::View& view, Random* random) {
  constexpr uint64_t kAbsurd = std::numeric_limits<uint64_t>::max();
  membership::NodeReport report;
  report.condition = membership::Condition::kSound;
  report.view_id = report.member_view = view.id;
  report.view_digest = view.digest;
  report.view_epoch = report.epoch = view.epoch;
  report.cluster_uuid = view.cluster_uuid;
  switch (random->Pick(6)) {
    case 0:
      report.view_id = kAbsurd - random->Pick(100);
      break;
    case 1:
      report.view_id = 0;
      report.member_view = kAbsurd - random->Pick(100);
      break;
    case 2:
      report.epoch = kAbsurd - random->Pick(100);
      break;
    case 3:
      report.cursors = {kAbsurd, kAbsurd, kAbsurd - random->Pick(100)};
      break;
    case 4:  // which it does not show
      report.view_id = report.member_view = view.id + 1 + random->Pick(9);
      report.view_digest = random->Next();
      break;
    default:  // of no cluster
      report.view_id = 0;
      report.cluster_uuid.clear();
      report.member_view = view.id + 1 + random->Pick(9);
      break;
  }
  return report;
}

}  // namespace

SimManager::SimManager(World* world, TimedNetwork* network, SimEtcd* etcd,
                       const std::string& name, const Options& options)
    : Process(world, name), network_(network), etcd_(etcd), options_(options) {}

void SimManager::Start() {
  Trace("starts");
  ManagerLoop::Options options;
  options.core = options_.core;
  options.name = name();
  options.leader_ttl = options_.leader_ttl;
  // No two lives of managers share one, nor do the numbers that leaderships
  // add.
  options.process =
      (static_cast<uint64_t>(name().back()) << 32) + ((life() + 1) << 16);
  loop_ = std::make_unique<ManagerLoop>(options);
  calling_ = false;
  Begin();
  Step();
}

void SimManager::Kill() {
  Trace("dies");
  End();
  loop_.reset();
}

bool SimManager::leads() const {
  return up() && loop_->core().IsLeader(Clock());
}

bool SimManager::Hears(const std::string& node, uint64_t incarnation) const {
  if (!leads()) return false;
  const auto known = loop_->core().nodes(Clock());
  return std::any_of(known.begin(), known.end(), [&](const auto& each) {
    return each.state.alive && each.state.member.node_id == node &&
           each.state.member.incarnation == incarnation;
  });
}

bool SimManager::Suspects(const std::string& node) const {
  return leads() && loop_->core().removals().suspects().Is(node);
}

std::string SimManager::WhyWaits() const {
  return leads() ? loop_->core().old_copies().WhyWaits(Clock()) : "";
}

void SimManager::Recover(bool force) {
  if (!leads() || paused()) return;
  if (loop_->core().watch().WhyBehind().empty() && WhyWaits().empty()) return;
  const absl::Status recovered = loop_->Recover(force, Clock()).status();
  Trace("is told to recover: ", recovered.message());
}

absl::Status SimManager::Administer(
    absl::FunctionRef<absl::Status(membership::ManagerCore*, absl::Time)>
        request) {
  return loop_->Administer(request, Clock());
}

void SimManager::Step() {
  const ManagerLoop::Step step = loop_->Next(Clock());
  calling_ = step.call.has_value();
  if (calling_) return Call(*step.call);
  StepAfter(step.wait);
}

void SimManager::StepAfter(absl::Duration wait) {
  After(wait, [this, number = ++wait_] {
    if (number == wait_) Step();
  });
}

void SimManager::Call(EtcdCall call) {
  const uint64_t number = ++call_;
  const auto answered = [this, number](const EtcdAnswer& answer) {
    if (number != call_) return;  // it was given up
    ++call_;
    calling_ = false;
    loop_->OnAnswer(answer, Clock());
    Step();
  };
  network_->Send(this, etcd_, [this, call, answered, life = life()] {
    const EtcdAnswer answer = CarryOut(call, etcd_->MemberOf(name()));
    if (absl::IsDeadlineExceeded(answer.status)) return;  // never answered
    network_->Send(etcd_, this, [this, answer, answered, life] {
      if (life == this->life()) answered(answer);
    });
  });
  After(kEtcdDeadline, [this, number, answered] {
    if (number == call_) etcd_->Leave(name());
    EtcdAnswer answer;
    answer.status = absl::DeadlineExceededError("etcd does not answer");
    answered(answer);
  });
}

void SimManager::HearNonsense(Random* random) {
  if (!leads() || paused()) return;
  const membership::View view = loop_->core().view();
  const membership::NodeReport report = Nonsense(view, random);
  AgentCore::Call call;
  Answer answer;
  call.registration.set_cluster_id(options_.core.cluster_id);
  *call.registration.mutable_member() = membership::ToProto(
      membership::Member{"stranger",
                         1,
                         "stranger:1",
                         {{"tcp", "stranger:2"}},
                         view.formed() ? view.head().heap_bytes : 1 << 20,
                         std::string(16, 's')});
  *call.registration.mutable_report() = membership::ToProto(report);
  loop_->Register(call.registration, &answer.registration, Clock())
      .IgnoreError();
  if (!view.formed()) return;
  const membership::Member& member =
      view.members[random->Pick(view.members.size())];
  call.heartbeat.set_cluster_id(options_.core.cluster_id);
  call.heartbeat.set_node_id(member.node_id);
  call.heartbeat.set_incarnation(member.incarnation);
  *call.heartbeat.mutable_report() = membership::ToProto(report);
  loop_->Heartbeat(call.heartbeat, &answer.heartbeat, Clock()).IgnoreError();
}

SimManager::Answer SimManager::Serve(AgentCore::Call call) {
  Answer answer;
  if (faults::FaultPlanted("view-led-by-stale-member")) {
    call.registration.mutable_report()->clear_cursors();
    call.heartbeat.mutable_report()->clear_cursors();
  }
  if (OldCopiesGoUnseen()) {
    Boast(&call.registration);
    Boast(&call.heartbeat);
  }
  // Each node sends its own calls.
  const std::string caller =
      options_.identity_of == nullptr
          ? ""
          : options_.identity_of(call.registers
                                     ? call.registration.member().node_id()
                                     : call.heartbeat.node_id());
  answer.status = call.registers
                      ? loop_->Register(call.registration, &answer.registration,
                                        Clock(), caller)
                      : loop_->Heartbeat(call.heartbeat, &answer.heartbeat,
                                         Clock(), caller);
  // As Manager does.
  if (answer.status.ok() && !calling_ &&
      answer.heartbeat.parting() == kamino::internal::v1::PARTING_WAIT &&
      call.heartbeat.report().stopping() == kamino::v1::STOPPING_SURRENDERED) {
    StepAfter(absl::ZeroDuration());
  }
  if (faults::FaultPlanted("membership-leases-too-long")) {
    answer.registration.set_lease_ms(4 * answer.registration.lease_ms());
    answer.heartbeat.set_lease_ms(4 * answer.heartbeat.lease_ms());
  }
  return answer;
}

}  // namespace kamino::simulation
