// A manager whose answers the test decides.
#ifndef KAMINO_TESTS_MEMBERSHIP_SCRIPTED_MANAGER_H_
#define KAMINO_TESTS_MEMBERSHIP_SCRIPTED_MANAGER_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/chain_id.h"
#include "grpcpp/grpcpp.h"
#include "kamino/internal/v1/membership.grpc.pb.h"
#include "rpc/cluster_identity.h"
#include "rpc/credentials.h"

namespace kamino::membership {

// A manager with the test's answers, at a port of its own.
class ScriptedManager final : public internal::v1::MembershipService::Service {
 public:
  ScriptedManager() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  // Computes the answer; called on gRPC's threads.
  void OnRegister(
      std::function<grpc::Status(const internal::v1::RegisterRequest&,
                                 internal::v1::RegisterResponse*)>
          answer) {
    absl::MutexLock lock(&mutex_);
    on_register_ = std::move(answer);
  }
  void OnHeartbeat(
      std::function<grpc::Status(const internal::v1::HeartbeatRequest&,
                                 internal::v1::HeartbeatResponse*)>
          answer) {
    absl::MutexLock lock(&mutex_);
    on_heartbeat_ = std::move(answer);
  }

  // The cluster that its answers name from now on; also those to heartbeats.
  void SetClusterUuid(const std::string& uuid, bool heartbeats = true) {
    absl::MutexLock lock(&mutex_);
    cluster_uuid_ = uuid;
    heartbeats_name_it_ = heartbeats;
  }

  int registers() const { return registers_; }
  // The longest deadline of a registration so far.
  absl::Duration longest_deadline() const {
    absl::MutexLock lock(&mutex_);
    return longest_deadline_;
  }
  // How many connections registrations have used.
  size_t connections() const {
    absl::MutexLock lock(&mutex_);
    return peers_.size();
  }
  int heartbeats() const { return heartbeats_; }
  std::vector<uint64_t> incarnations() const {
    absl::MutexLock lock(&mutex_);
    return incarnations_;
  }
  internal::v1::HeartbeatRequest last_heartbeat() const {
    absl::MutexLock lock(&mutex_);
    return last_heartbeat_;
  }

 private:
  grpc::Status Register(grpc::ServerContext* context,
                        const internal::v1::RegisterRequest* request,
                        internal::v1::RegisterResponse* response) override {
    absl::MutexLock lock(&mutex_);
    if (!cluster_uuid_.empty()) {
      context->AddInitialMetadata(rpc::kClusterUuidKey, cluster_uuid_);
    }
    peers_.insert(context->peer());
    longest_deadline_ = std::max(
        longest_deadline_, absl::FromChrono(context->deadline()) - absl::Now());
    incarnations_.push_back(request->member().instance().incarnation());
    response->set_lease_ms(700);
    response->set_chain_id(kOnlyChain);
    response->set_heartbeat_interval_ms(1);
    const grpc::Status status =
        on_register_ ? on_register_(*request, response) : grpc::Status::OK;
    ++registers_;
    return status;
  }
  grpc::Status Heartbeat(grpc::ServerContext* context,
                         const internal::v1::HeartbeatRequest* request,
                         internal::v1::HeartbeatResponse* response) override {
    absl::MutexLock lock(&mutex_);
    if (!cluster_uuid_.empty() && heartbeats_name_it_) {
      context->AddInitialMetadata(rpc::kClusterUuidKey, cluster_uuid_);
    }
    last_heartbeat_ = *request;
    response->set_chain_id(kOnlyChain);
    response->set_lease_ms(700);
    const grpc::Status status =
        on_heartbeat_ ? on_heartbeat_(*request, response) : grpc::Status::OK;
    ++heartbeats_;
    return status;
  }

  mutable absl::Mutex mutex_;
  std::function<grpc::Status(const internal::v1::RegisterRequest&,
                             internal::v1::RegisterResponse*)>
      on_register_ ABSL_GUARDED_BY(mutex_);
  std::function<grpc::Status(const internal::v1::HeartbeatRequest&,
                             internal::v1::HeartbeatResponse*)>
      on_heartbeat_ ABSL_GUARDED_BY(mutex_);
  std::string cluster_uuid_ ABSL_GUARDED_BY(mutex_);
  bool heartbeats_name_it_ ABSL_GUARDED_BY(mutex_) = true;
  absl::Duration longest_deadline_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> peers_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> incarnations_ ABSL_GUARDED_BY(mutex_);
  internal::v1::HeartbeatRequest last_heartbeat_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> registers_{0};
  std::atomic<int> heartbeats_{0};
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace kamino::membership

#endif  // KAMINO_TESTS_MEMBERSHIP_SCRIPTED_MANAGER_H_
