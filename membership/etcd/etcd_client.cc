#include "membership/etcd/etcd_client.h"

#include <utility>

#include "absl/functional/function_ref.h"
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
};

namespace {

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

// What AddReads asked for, from the `first` response on.
EtcdClient::Stored StoredIn(const TxnResponse& response, int first) {
  EtcdClient::Stored stored;
  stored.leader = ValueOf(response.responses(first));
  stored.renewal = ValueOf(response.responses(first + 1));
  stored.view = ValueOf(response.responses(first + 2));
  return stored;
}

absl::Status Incomplete() {
  return absl::InternalError("etcd: an answer lacks what was asked for");
}

absl::Status NotTheLeader() {
  return absl::AbortedError("another manager is the leader now");
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
  const bool other = absl::IsUnimplemented(status);
  const absl::Status error(
      status.code(),
      other ? absl::StrCat(endpoints_[current_],
                           " answers, but is no etcd (a node or a manager, "
                           "perhaps); check --etcd")
            : absl::StrCat("etcd at ", endpoints_[current_], ": ", what, ": ",
                           connected ? status.message() : "no connection"));
  if (other || absl::IsUnavailable(error) || absl::IsDeadlineExceeded(error)) {
    current_ = (current_ + 1) % endpoints_.size();
  }
  return error;
}

absl::StatusOr<EtcdClient::Stored> EtcdClient::Look(const Keys& keys) {
  TxnRequest request;
  TxnResponse response;
  AddReads(keys, [&request] { return request.add_success(); });
  absl::Status done = Run("look at the leader",
                          [&](Stubs& stubs, grpc::ClientContext* context) {
                            return stubs.kv->Txn(context, request, &response);
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
  RETURN_IF_ERROR(
      Run("election", [&](Stubs& stubs, grpc::ClientContext* context) {
        return stubs.kv->Txn(context, request, &response);
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
  absl::Status done =
      Run("renewal", [&](Stubs& stubs, grpc::ClientContext* context) {
        return stubs.kv->Txn(context, request, &response);
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
  RETURN_IF_ERROR(
      Run("view change", [&](Stubs& stubs, grpc::ClientContext* context) {
        return stubs.kv->Txn(context, request, &response);
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
      Run("compaction", [&](Stubs& stubs, grpc::ClientContext* context) {
        return stubs.kv->Compact(context, request, &response);
      });
  // It was done by somebody else.
  return absl::IsOutOfRange(done) ? absl::OkStatus() : done;
}

}  // namespace kamino::membership
