#include "membership/etcd/etcd_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "etcd/etcdserver/etcdserverpb/rpc.grpc.pb.h"
#include "glog/logging.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace kamino::membership {

using etcdserverpb::Compare;
using etcdserverpb::ResponseOp;
using etcdserverpb::TxnRequest;
using etcdserverpb::TxnResponse;

struct EtcdClient::Stubs {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<etcdserverpb::KV::Stub> kv;
  std::unique_ptr<etcdserverpb::Lease::Stub> lease;
};

namespace {

EtcdClient::Value ValueOf(const ResponseOp& response) {
  EtcdClient::Value value;
  if (response.response_range().kvs_size() == 0) return value;
  const mvccpb::KeyValue& kv = response.response_range().kvs(0);
  value.value = kv.value();
  value.create_revision = kv.create_revision();
  value.mod_revision = kv.mod_revision();
  return value;
}

void CompareCreated(const std::string& key, int64_t revision,
                    TxnRequest* request) {
  Compare* compare = request->add_compare();
  compare->set_key(key);
  compare->set_target(Compare::CREATE);
  compare->set_result(Compare::EQUAL);
  compare->set_create_revision(revision);
}

absl::Status Incomplete() {
  return absl::InternalError("etcd: an answer lacks what was asked for");
}

}  // namespace

EtcdClient::EtcdClient(std::vector<std::string> endpoints,
                       absl::Duration deadline)
    : endpoints_(std::move(endpoints)), deadline_(deadline) {
  CHECK(!endpoints_.empty());
  for (const std::string& endpoint : endpoints_) {
    const auto channel = rpc::MakeChannel(endpoint);
    auto stubs = std::make_unique<Stubs>();
    stubs->channel = channel;
    stubs->kv = etcdserverpb::KV::NewStub(channel);
    stubs->lease = etcdserverpb::Lease::NewStub(channel);
    stubs_.push_back(std::move(stubs));
  }
}

EtcdClient::~EtcdClient() = default;

template <typename Call>
absl::Status EtcdClient::Run(const char* what, Call call) {
  Stubs& stubs = *stubs_[current_];
  grpc::ClientContext context;
  rpc::SetTimeout(deadline_, &context);
  // gRPC makes connections only while a call waits. One that failed at once
  // would leave it hardly any time for that.
  context.set_wait_for_ready(true);
  const absl::Status status = rpc::FromGrpc(call(stubs, &context));
  if (status.ok()) return absl::OkStatus();
  const bool connected = stubs.channel->GetState(false) == GRPC_CHANNEL_READY;
  const absl::Status error(
      status.code(),
      absl::StrCat("etcd at ", endpoints_[current_], ": ", what, ": ",
                   connected ? status.message() : "no connection"));
  if (absl::IsUnavailable(error) || absl::IsDeadlineExceeded(error)) {
    current_ = (current_ + 1) % endpoints_.size();
  }
  return error;
}

absl::StatusOr<int64_t> EtcdClient::GrantLease(int64_t ttl_seconds) {
  etcdserverpb::LeaseGrantRequest request;
  etcdserverpb::LeaseGrantResponse response;
  request.set_ttl(ttl_seconds);
  RETURN_IF_ERROR(
      Run("lease grant", [&](Stubs& stubs, grpc::ClientContext* context) {
        return stubs.lease->LeaseGrant(context, request, &response);
      }));
  return response.id();
}

absl::Status EtcdClient::KeepAlive(int64_t lease) {
  etcdserverpb::LeaseKeepAliveResponse response;
  RETURN_IF_ERROR(
      Run("lease keep-alive", [&](Stubs& stubs, grpc::ClientContext* context) {
        auto stream = stubs.lease->LeaseKeepAlive(context);
        etcdserverpb::LeaseKeepAliveRequest request;
        request.set_id(lease);
        const bool answered = stream->Write(request) && stream->Read(&response);
        stream->WritesDone();
        if (!answered) return stream->Finish();
        context->TryCancel();
        stream->Finish();
        return grpc::Status::OK;
      }));
  if (response.ttl() > 0) return absl::OkStatus();
  return absl::NotFoundError("the lease at etcd has run out");
}

absl::Status EtcdClient::RevokeLease(int64_t lease) {
  etcdserverpb::LeaseRevokeRequest request;
  etcdserverpb::LeaseRevokeResponse response;
  request.set_id(lease);
  return Run("lease revoke", [&](Stubs& stubs, grpc::ClientContext* context) {
    return stubs.lease->LeaseRevoke(context, request, &response);
  });
}

absl::StatusOr<EtcdClient::Election> EtcdClient::Campaign(
    const std::string& leader_key, const std::string& name, int64_t lease,
    const std::string& view_key) {
  TxnRequest request;
  TxnResponse response;
  CompareCreated(leader_key, 0, &request);
  auto* put = request.add_success()->mutable_request_put();
  put->set_key(leader_key);
  put->set_value(name);
  put->set_lease(lease);
  request.add_success()->mutable_request_range()->set_key(view_key);
  request.add_failure()->mutable_request_range()->set_key(leader_key);
  RETURN_IF_ERROR(
      Run("election", [&](Stubs& stubs, grpc::ClientContext* context) {
        return stubs.kv->Txn(context, request, &response);
      }));
  Election election;
  election.won = response.succeeded();
  if (response.responses_size() != (election.won ? 2 : 1)) return Incomplete();
  if (election.won) {
    const int64_t revision = response.header().revision();
    election.leader = Value{name, revision, revision};
    election.view = ValueOf(response.responses(1));
  } else {
    election.leader = ValueOf(response.responses(0));
  }
  return election;
}

absl::StatusOr<EtcdClient::Value> EtcdClient::Replace(
    const std::string& view_key, const std::string& value,
    int64_t expected_revision, const std::string& leader_key,
    int64_t leader_revision) {
  TxnRequest request;
  TxnResponse response;
  CompareCreated(leader_key, leader_revision, &request);
  Compare* compare = request.add_compare();
  compare->set_key(view_key);
  compare->set_target(Compare::MOD);
  compare->set_result(Compare::EQUAL);
  compare->set_mod_revision(expected_revision);
  auto* put = request.add_success()->mutable_request_put();
  put->set_key(view_key);
  put->set_value(value);
  request.add_failure()->mutable_request_range()->set_key(leader_key);
  request.add_failure()->mutable_request_range()->set_key(view_key);
  RETURN_IF_ERROR(
      Run("view change", [&](Stubs& stubs, grpc::ClientContext* context) {
        return stubs.kv->Txn(context, request, &response);
      }));
  if (response.succeeded()) {
    return Value{value, 0, response.header().revision()};
  }
  if (response.responses_size() != 2) return Incomplete();
  if (ValueOf(response.responses(0)).create_revision != leader_revision) {
    return absl::AbortedError("another manager is the leader now");
  }
  return ValueOf(response.responses(1));
}

}  // namespace kamino::membership
