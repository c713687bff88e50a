#include "membership/manager.h"

#include <pthread.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "membership/etcd/etcd_call.h"
#include "rpc/redirect.h"

namespace kamino::membership {

using kamino::internal::v1::HeartbeatRequest;
using kamino::internal::v1::HeartbeatResponse;
using kamino::internal::v1::RegisterRequest;
using kamino::internal::v1::RegisterResponse;
using kamino::internal::v1::RenewalRecord;

namespace {

uint32_t Milliseconds(absl::Duration duration) {
  return static_cast<uint32_t>(absl::ToInt64Milliseconds(duration));
}

// As the loop's renewals have them.
RenewalRecord SettingsOf(const Manager::Options& options) {
  RenewalRecord settings;
  settings.set_leader(options.name);
  settings.set_ttl_ms(Milliseconds(options.leader_ttl));
  settings.set_node_lease_ms(Milliseconds(options.core.lease()));
  return settings;
}

}  // namespace

std::string SettingsDiffer(const RenewalRecord& own,
                           const RenewalRecord& theirs) {
  if (theirs.leader().empty() || theirs.leader() == own.leader()) return "";
  std::vector<std::string> differ;
  if (theirs.node_lease_ms() != own.node_lease_ms()) {
    differ.push_back(absl::StrCat("--failure_timeout_ms (nodes get leases of ",
                                  own.node_lease_ms(), " ms here, of ",
                                  theirs.node_lease_ms(), " ms there)"));
  }
  if (theirs.ttl_ms() != own.ttl_ms()) {
    differ.push_back(absl::StrCat("--leader_ttl_s (", own.ttl_ms(),
                                  " ms here, ", theirs.ttl_ms(), " ms there)"));
  }
  if (differ.empty()) return "";
  return absl::StrCat("the manager at ", theirs.leader(),
                      ", which leads, has another ",
                      absl::StrJoin(differ, " and "),
                      ": whoever leads goes by its own; start all managers "
                      "with the same flags, "
                      "--chain_length as well");
}

Manager::Manager(Options options, std::unique_ptr<Etcd> etcd,
                 std::function<absl::Time()> clock)
    : name_(options.name),
      clock_(std::move(clock)),
      loop_(options),
      etcd_(std::move(etcd)),
      own_settings_(SettingsOf(options)),
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
    ManagerLoop::Step step;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&stopping_), wait);
      if (stopping_) break;
      step = loop_.Next(clock_());
    }
    wait = step.wait;
    if (step.call.has_value()) CarryOutAndTell(*step.call);
  }
  std::optional<EtcdCall> last;
  {
    absl::MutexLock lock(&mutex_);
    last = loop_.Resign(clock_());
  }
  if (last.has_value()) CarryOut(*last, etcd_.get());
}

void Manager::CarryOutAndTell(const EtcdCall& call) {
  const EtcdAnswer answer = CarryOut(call, etcd_.get());
  if (call.kind == EtcdCall::Kind::kLook && answer.status.ok()) {
    CompareSettings(answer.seen.renewal.value);
  }
  absl::MutexLock lock(&mutex_);
  // etcd has spoken, though against this manager.
  etcd_failure_ =
      absl::IsAborted(answer.status) ? absl::OkStatus() : answer.status;
  loop_.OnAnswer(answer, clock_());
}

void Manager::CompareSettings(const std::string& renewal) {
  RenewalRecord theirs;
  if (!theirs.ParseFromString(renewal)) return;
  const std::string differs = SettingsDiffer(own_settings_, theirs);
  if (std::exchange(told_, differs) == differs || differs.empty()) return;
  LOG(WARNING) << differs;
}

absl::Status Manager::Register(const RegisterRequest& request,
                               RegisterResponse* response) {
  absl::MutexLock lock(&mutex_);
  return loop_.Register(request, response, clock_());
}

absl::Status Manager::Heartbeat(const HeartbeatRequest& request,
                                HeartbeatResponse* response) {
  absl::MutexLock lock(&mutex_);
  return loop_.Heartbeat(request, response, clock_());
}

absl::Status Manager::Administer(
    absl::FunctionRef<absl::Status(ManagerCore*, absl::Time)> request) {
  absl::MutexLock lock(&mutex_);
  const absl::Status status = loop_.Administer(request, clock_());
  if (etcd_failure_.ok() || !rpc::LeaderIn(status).has_value()) return status;
  absl::Status why(status.code(), absl::StrCat(status.message(), "; ",
                                               etcd_failure_.message()));
  status.ForEachPayload(
      [&why](absl::string_view url, const absl::Cord& detail) {
        why.SetPayload(url, detail);
      });
  return why;
}

}  // namespace kamino::membership
