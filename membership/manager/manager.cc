#include "membership/manager/manager.h"

#include <pthread.h>

#include <optional>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "membership/etcd/etcd_call.h"
#include "metrics/counters.h"
#include "proto/version.h"

namespace kamino::membership {

using kamino::internal::v1::HeartbeatRequest;
using kamino::internal::v1::HeartbeatResponse;
using kamino::internal::v1::RegisterRequest;
using kamino::internal::v1::RegisterResponse;

namespace {

// An operator waits for this long until a view is stored: some renewals.
constexpr absl::Duration kStoringTime = absl::Seconds(4);

metrics::LatencyCounters etcd_calls("kamino_etcd_call_seconds",
                                    "Calls of the manager to etcd.",
                                    {"call", "code"});

std::string NameOf(EtcdCall::Kind kind) {
  switch (kind) {
    case EtcdCall::Kind::kLook:
      return "look";
    case EtcdCall::Kind::kCampaign:
      return "campaign";
    case EtcdCall::Kind::kRenew:
      return "renew";
    case EtcdCall::Kind::kReplace:
      return "replace";
    case EtcdCall::Kind::kCompact:
      return "compact";
  }
  return "unknown";
}

Manager::Options WithProcess(Manager::Options options) {
  absl::BitGen random;
  options.process = absl::Uniform<uint64_t>(random);
  options.core.address = options.name;
  return options;
}

}  // namespace

Manager::Manager(Options options, std::unique_ptr<Etcd> etcd,
                 std::function<absl::Time()> clock,
                 std::function<void()> on_turn)
    : name_(options.name),
      clock_(std::move(clock)),
      on_turn_(std::move(on_turn)),
      loop_(WithProcess(std::move(options))),
      liveness_(clock_()),
      etcd_(std::move(etcd)),
      thread_([this] { Run(); }) {}

Manager::~Manager() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void Manager::Run() {
  pthread_setname_np(pthread_self(), "manager");
  absl::Duration wait = absl::ZeroDuration();
  for (;;) {
    if (on_turn_ != nullptr) on_turn_();
    ManagerLoop::Step step;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(this, &Manager::IsDue), wait);
      if (stopping_) break;
      hurries_ = false;
      const absl::Time now = clock_();
      step = loop_.Next(now);
      liveness_.OnStep(step.call.has_value(), now);
    }
    wait = step.wait;
    if (step.call.has_value()) CarryOutAndTell(*step.call);
    TellWhetherRecovered();
  }
  std::optional<EtcdCall> last;
  {
    absl::MutexLock lock(&mutex_);
    last = loop_.Resign(clock_());
  }
  TellWhetherRecovered();
  if (last.has_value()) CarryOut(*last, etcd_.get());
}

void Manager::CarryOutAndTell(const EtcdCall& call) {
  const absl::Time began = clock_();
  const EtcdAnswer answer = CarryOut(call, etcd_.get());
  etcd_calls
      .Of({NameOf(call.kind), absl::StatusCodeToString(answer.status.code())})
      ->Add(clock_() - began);
  absl::MutexLock lock(&mutex_);
  liveness_.OnAnswer(clock_());
  etcd_health_.OnAnswer(answer.status);
  loop_.OnAnswer(answer, clock_());
  cluster_.Set(loop_.core().options().cluster_id,
               absl::BytesToHexString(loop_.cluster_uuid()));
  const bool leads = loop_.core().IsLeader(clock_());
  if (leads && !led_) ++leaderships_;
  led_ = leads;
}

Manager::Standing Manager::standing() {
  absl::MutexLock lock(&mutex_);
  return {leaderships_, etcd_health_.Check().ok()};
}

absl::Status Manager::CheckLive() {
  absl::MutexLock lock(&mutex_);
  return liveness_.Check(clock_());
}

absl::Status Manager::CheckReady() {
  absl::MutexLock lock(&mutex_);
  if (loop_.core().IsLeader(clock_())) return absl::OkStatus();
  return etcd_health_.Check();
}

absl::Status Manager::Register(const RegisterRequest& request,
                               RegisterResponse* response,
                               absl::string_view caller) {
  absl::MutexLock lock(&mutex_);
  return loop_.Register(request, response, clock_(), caller);
}

absl::Status Manager::Heartbeat(const HeartbeatRequest& request,
                                HeartbeatResponse* response,
                                absl::string_view caller) {
  absl::MutexLock lock(&mutex_);
  const absl::Status heard =
      loop_.Heartbeat(request, response, clock_(), caller);
  hurries_ |= heard.ok() &&
              response->parting() == kamino::internal::v1::PARTING_WAIT &&
              request.report().stopping() == kamino::v1::STOPPING_SURRENDERED;
  return heard;
}

absl::Status Manager::Administer(
    absl::FunctionRef<absl::Status(ManagerCore*, absl::Time)> request) {
  absl::MutexLock lock(&mutex_);
  return etcd_health_.Explain(loop_.Administer(request, clock_()));
}

void Manager::Recover(bool force, OnRecovered done) {
  absl::Status refused;
  {
    absl::MutexLock lock(&mutex_);
    if (recovery_.has_value() || stopping_) {
      refused = absl::UnavailableError("a view is being stored; try again");
    } else if (auto begun = loop_.Recover(force, clock_()); begun.ok()) {
      recovery_ = {*std::move(begun), clock_() + kStoringTime, std::move(done)};
      return;
    } else {
      refused = etcd_health_.Explain(begun.status());
    }
  }
  done(refused);
}

void Manager::TellWhetherRecovered() {
  std::optional<Recovery> told;
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    if (!recovery_.has_value()) return;
    const auto& recovered = loop_.recovered();
    if (!recovered.has_value() && clock_() < recovery_->until) return;
    status = recovered.value_or(AwaitedRecovery::Unknown());
    told = std::exchange(recovery_, std::nullopt);
  }
  if (status.ok()) return told->done(told->recovery);
  told->done(status);
}

std::vector<Manager::Event> Manager::Events() {
  absl::MutexLock lock(&mutex_);
  const absl::Time now = clock_();
  std::vector<Event> events;
  for (const ChainEvent& each : loop_.events().kept()) {
    events.push_back({each.number, now - each.at, each.text});
  }
  return events;
}

void Manager::Describe(kamino::v1::GetManagerResponse* response) {
  absl::MutexLock lock(&mutex_);
  response->set_cluster_id(loop_.core().options().cluster_id);
  response->set_chain_id(loop_.core().options().chain_id);
  response->set_manager(name_);
  response->set_release(kVersion);
  response->set_leads(loop_.core().IsLeader(clock_()));
  *response->mutable_settings() = loop_.settings();
  response->set_settings_differ(loop_.settings_differ());
}

}  // namespace kamino::membership
