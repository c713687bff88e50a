#include "membership/etcd/etcd_client.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "etcd/etcdserver/etcdserverpb/rpc.grpc.pb.h"
#include "glog/logging.h"
#include "rpc/channel.h"
#include "rpc/foreign_channel.h"
#include "rpc/status.h"

namespace kamino::membership {

using etcdserverpb::Compare;
using etcdserverpb::ResponseOp;
using etcdserverpb::TxnRequest;
using etcdserverpb::TxnResponse;

struct EtcdClient::Endpoint {
  std::string address;
  std::shared_ptr<EtcdPeer> peer;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<etcdserverpb::KV::Stub> kv;
  std::unique_ptr<etcdserverpb::Auth::Stub> auth;
};

namespace {

// Interval between checks of the files.
constexpr absl::Duration kLook = absl::Seconds(5);

EtcdClient::Value ValueOf(const ResponseOp& response) {
  EtcdClient::Value value;
  if (response.response_range().kvs_size() == 0) return value;
  const mvccpb::KeyValue& kv = response.response_range().kvs(0);
  value.value = kv.value();
  value.mod_revision = kv.mod_revision();
  return value;
}

void CompareRevision(const std::string& key, int64_t revision,
                     TxnRequest* request) {
  Compare* compare = request->add_compare();
  compare->set_key(key);
  compare->set_target(Compare::MOD);
  compare->set_result(Compare::EQUAL);
  compare->set_mod_revision(revision);
}

void CompareLeader(const EtcdClient::Keys& keys,
                   const EtcdClient::Leadership& leadership,
                   TxnRequest* request) {
  CompareRevision(keys.leader, leadership.revision, request);
  Compare* compare = request->add_compare();
  compare->set_key(keys.leader);
  compare->set_target(Compare::VALUE);
  compare->set_result(Compare::EQUAL);
  compare->set_value(leadership.name);
}

void AddPut(const std::string& key, const std::string& value,
            TxnRequest* request) {
  auto* put = request->add_success()->mutable_request_put();
  put->set_key(key);
  put->set_value(value);
}

void AddReads(const EtcdClient::Keys& keys,
              absl::FunctionRef<etcdserverpb::RequestOp*()> add) {
  for (const std::string* key : {&keys.leader, &keys.renewal, &keys.view}) {
    add()->mutable_request_range()->set_key(*key);
  }
}

// The values that AddReads requested, beginning with the `first` response.
EtcdClient::Stored StoredIn(const TxnResponse& response, int first) {
  EtcdClient::Stored stored;
  stored.leader = ValueOf(response.responses(first));
  stored.renewal = ValueOf(response.responses(first + 1));
  stored.view = ValueOf(response.responses(first + 2));
  return stored;
}

absl::Status Incomplete() {
  return absl::InternalError("etcd: an answer lacks a requested value");
}

absl::Status NotTheLeader() {
  return absl::AbortedError(
      "another manager is the leader now, or the leader's key was removed "
      "from etcd");
}

}  // namespace

EtcdClient::EtcdClient(std::vector<std::string> endpoints,
                       EtcdDeadlines deadlines, EtcdAccess access)
    : deadlines_(deadlines),
      deadline_(deadlines.first),
      tls_(std::move(access.tls)),
      login_(std::move(access.user)),
      looked_at_(MonotonicNow()) {
  CHECK(!endpoints.empty());
  for (std::string& address : endpoints) {
    auto endpoint = std::make_unique<Endpoint>();
    endpoint->peer = std::make_shared<EtcdPeer>(address);
    endpoint->address = std::move(address);
    Connect(endpoint.get());
    endpoints_.push_back(std::move(endpoint));
  }
}

EtcdClient::~EtcdClient() = default;

void EtcdClient::Connect(Endpoint* endpoint) const {
  endpoint->channel = rpc::MakeForeignChannel(
      endpoint->address,
      tls_ == nullptr ? nullptr : tls_->ToCall(endpoint->peer));
  endpoint->kv = etcdserverpb::KV::NewStub(endpoint->channel);
  endpoint->auth = etcdserverpb::Auth::NewStub(endpoint->channel);
}

void EtcdClient::LookAtFiles() {
  const absl::Time now = MonotonicNow();
  if (tls_ == nullptr || now - looked_at_ < kLook) return;
  looked_at_ = now;
  const bool changed = tls_->Look();
  for (const auto& endpoint : endpoints_) {
    const absl::Status believed = tls_->CheckAgain(endpoint->peer.get());
    if (changed || !believed.ok()) Connect(endpoint.get());
  }
}

template <typename Call>
absl::Status EtcdClient::Try(Endpoint& endpoint, absl::Time end, Call call) {
  if (login_.IsDue()) {
    RETURN_IF_ERROR(login_.LogIn(endpoint.auth.get(), end - MonotonicNow()));
  }
  grpc::ClientContext context;
  rpc::SetTimeout(end - MonotonicNow(), &context);
  login_.AddTo(&context);
  // gRPC connects only while a call waits, and a call that fails at once leaves
  // it hardly any time.
  context.set_wait_for_ready(true);
  return rpc::FromGrpc(call(*endpoint.kv, &context));
}

template <typename Call>
absl::Status EtcdClient::Run(const char* what, Call call) {
  LookAtFiles();
  const absl::Time end = MonotonicNow() + deadline_;
  Endpoint& endpoint = *endpoints_[current_];
  absl::Status status = Try(endpoint, end, call);
  if (login_.IsOver(status)) status = Try(endpoint, end, call);
  AdaptDeadline(endpoint, status);
  if (status.ok()) return status;
  if (absl::IsUnimplemented(status) || absl::IsUnavailable(status) ||
      absl::IsDeadlineExceeded(status)) {
    current_ = (current_ + 1) % endpoints_.size();
  }
  return Explain(endpoint, what, status);
}

void EtcdClient::AdaptDeadline(const Endpoint& endpoint,
                               const absl::Status& status) {
  if (!absl::IsDeadlineExceeded(status) && !absl::IsUnavailable(status)) {
    deadline_ = deadlines_.first;
  } else if (absl::IsDeadlineExceeded(status) &&
             endpoint.channel->GetState(false) == GRPC_CHANNEL_READY) {
    deadline_ = std::min(2 * deadline_, deadlines_.longest);
  }
}

absl::Status EtcdClient::Explain(Endpoint& endpoint, const char* what,
                                 const absl::Status& status) const {
  if (absl::IsUnimplemented(status)) {
    return absl::Status(status.code(),
                        absl::StrCat(endpoint.address,
                                     " answers, but is no etcd (a node or a "
                                     "manager, perhaps); check --etcd"));
  }
  std::string why(status.message());
  const bool connected =
      endpoint.channel->GetState(false) == GRPC_CHANNEL_READY;
  if (!connected && tls_ == nullptr) {
    why = "no connection";
  } else if (const absl::Status refusal = endpoint.peer->refusal();
             !connected && !refusal.ok()) {
    why = absl::StrCat("rejected certificate: ", refusal.message());
  } else if (!connected) {
    why =
        "no connection by TLS; if etcd runs there, its log says whether it "
        "refuses the certificate of --etcd_tls_cert, or does not use TLS";
  }
  return absl::Status(status.code(), absl::StrCat("etcd at ", endpoint.address,
                                                  ": ", what, ": ", why));
}

absl::StatusOr<EtcdClient::Stored> EtcdClient::Look(const Keys& keys) {
  TxnRequest request;
  TxnResponse response;
  AddReads(keys, [&request] { return request.add_success(); });
  absl::Status done =
      Run("read the key of the leader",
          [&](etcdserverpb::KV::Stub& kv, grpc::ClientContext* context) {
            return kv.Txn(context, request, &response);
          });
  if (!done.ok()) return done;
  if (response.responses_size() != 3) return Incomplete();
  return StoredIn(response, 0);
}

absl::StatusOr<EtcdClient::Election> EtcdClient::Campaign(
    const Keys& keys, const std::string& name, const std::string& renewal,
    int64_t leader_revision, int64_t renewal_revision) {
  TxnRequest request;
  TxnResponse response;
  CompareRevision(keys.leader, leader_revision, &request);
  CompareRevision(keys.renewal, renewal_revision, &request);
  AddPut(keys.leader, name, &request);
  AddPut(keys.renewal, renewal, &request);
  AddReads(keys, [&request] { return request.add_success(); });
  AddReads(keys, [&request] { return request.add_failure(); });
  RETURN_IF_ERROR(Run("election", [&](etcdserverpb::KV::Stub& kv,
                                      grpc::ClientContext* context) {
    return kv.Txn(context, request, &response);
  }));
  Election election;
  election.won = response.succeeded();
  const int reads = election.won ? 2 : 0;
  if (response.responses_size() != reads + 3) return Incomplete();
  election.stored = StoredIn(response, reads);
  return election;
}

absl::StatusOr<EtcdClient::Stored> EtcdClient::Renew(
    const Keys& keys, const std::string& renewal,
    const Leadership& leadership) {
  TxnRequest request;
  TxnResponse response;
  CompareLeader(keys, leadership, &request);
  AddPut(keys.renewal, renewal, &request);
  AddReads(keys, [&request] { return request.add_success(); });
  absl::Status done = Run(
      "renewal", [&](etcdserverpb::KV::Stub& kv, grpc::ClientContext* context) {
        return kv.Txn(context, request, &response);
      });
  if (!done.ok()) return done;
  if (!response.succeeded()) return NotTheLeader();
  if (response.responses_size() != 4) return Incomplete();
  return StoredIn(response, 1);
}

absl::StatusOr<EtcdClient::Value> EtcdClient::Replace(
    const Keys& keys, const std::string& value, int64_t expected_revision,
    const Leadership& leadership) {
  TxnRequest request;
  TxnResponse response;
  CompareLeader(keys, leadership, &request);
  CompareRevision(keys.view, expected_revision, &request);
  AddPut(keys.view, value, &request);
  request.add_failure()->mutable_request_range()->set_key(keys.leader);
  request.add_failure()->mutable_request_range()->set_key(keys.view);
  RETURN_IF_ERROR(Run("view change", [&](etcdserverpb::KV::Stub& kv,
                                         grpc::ClientContext* context) {
    return kv.Txn(context, request, &response);
  }));
  if (response.succeeded()) {
    return Value{value, response.header().revision()};
  }
  if (response.responses_size() != 2) return Incomplete();
  const Value leader = ValueOf(response.responses(0));
  if (leader.mod_revision != leadership.revision ||
      leader.value != leadership.name) {
    return NotTheLeader();
  }
  return ValueOf(response.responses(1));
}

absl::Status EtcdClient::Compact(int64_t revision) {
  etcdserverpb::CompactionRequest request;
  etcdserverpb::CompactionResponse response;
  request.set_revision(revision);
  const absl::Status done =
      Run("compaction",
          [&](etcdserverpb::KV::Stub& kv, grpc::ClientContext* context) {
            return kv.Compact(context, request, &response);
          });
  // Another client has already compacted.
  return absl::IsOutOfRange(done) ? absl::OkStatus() : done;
}

}  // namespace kamino::membership
