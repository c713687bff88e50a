#include "membership/manager.h"

#include <pthread.h>

#include <optional>
#include <utility>

#include "membership/etcd/etcd_call.h"

namespace kamino::membership {

using kamino::internal::v1::HeartbeatRequest;
using kamino::internal::v1::HeartbeatResponse;
using kamino::internal::v1::RegisterRequest;
using kamino::internal::v1::RegisterResponse;

Manager::Manager(Options options, std::unique_ptr<Etcd> etcd,
                 std::function<absl::Time()> clock)
    : name_(options.name),
      clock_(std::move(clock)),
      loop_(std::move(options)),
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
    last = loop_.Resign();
  }
  if (last.has_value()) CarryOut(*last, etcd_.get());
}

void Manager::CarryOutAndTell(const EtcdCall& call) {
  const EtcdAnswer answer = CarryOut(call, etcd_.get());
  absl::MutexLock lock(&mutex_);
  loop_.OnAnswer(answer, clock_());
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
  return loop_.Administer(request, clock_());
}

}  // namespace kamino::membership
