#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/service/subjects.h"
#include "etcd/etcdserver/etcdserverpb/rpc.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace kamino::bench::service {
namespace {

using etcdserverpb::KV;

constexpr absl::Duration kTidyTimeout = absl::Minutes(1);

template <typename Request, typename Response>
struct Call {
  grpc::ClientContext context;
  Request request;
  Response response;
};

// Reads are linearizable, which is etcd's default.
class EtcdSubject : public Subject {
 public:
  EtcdSubject(std::string name,
              const std::vector<std::shared_ptr<grpc::Channel>>& channels)
      : name_(std::move(name)) {
    for (const auto& channel : channels) kvs_.push_back(KV::NewStub(channel));
  }

  const std::string& name() const override { return name_; }

  void Put(const Object& object, Done done) override {
    auto call = MakeCall<etcdserverpb::PutRequest, etcdserverpb::PutResponse>();
    call->request.set_key(object.key);
    call->request.set_value(object.value);
    Next().async()->Put(
        &call->context, &call->request, &call->response,
        [call, done = std::move(done)](const grpc::Status& status) {
          done(status.ok() ? absl::OkStatus() : rpc::FromGrpc(status), "");
        });
  }

  void Get(const std::string& key, Done done) override {
    auto call = MakeRange(key);
    Next().async()->Range(
        &call->context, &call->request, &call->response,
        [call, done = std::move(done)](const grpc::Status& status) {
          if (!status.ok()) return done(rpc::FromGrpc(status), "");
          if (call->response.kvs_size() != 1) {
            return done(absl::NotFoundError(call->request.key()), "");
          }
          done(absl::OkStatus(), call->response.kvs(0).value());
        });
  }

  void PutAll(const std::vector<Object>& objects, Done done) override {
    auto call = MakeCall<etcdserverpb::TxnRequest, etcdserverpb::TxnResponse>();
    for (const Object& object : objects) {
      auto* put = call->request.add_success()->mutable_request_put();
      put->set_key(object.key);
      put->set_value(object.value);
    }
    Next().async()->Txn(
        &call->context, &call->request, &call->response,
        [call, done = std::move(done)](const grpc::Status& status) {
          if (!status.ok()) return done(rpc::FromGrpc(status), "");
          const bool all =
              call->response.succeeded() &&
              call->response.responses_size() == call->request.success_size();
          done(all ? absl::OkStatus()
                   : absl::AbortedError("the transaction did not succeed"),
               "");
        });
  }

  bool scans() const override { return true; }

  void Scan(const std::string& key, size_t limit, Scanned done) override {
    auto call = MakeRange(key);
    call->request.set_range_end(std::string(1, '\0'));  // to the last key
    call->request.set_limit(static_cast<int64_t>(limit));
    Next().async()->Range(
        &call->context, &call->request, &call->response,
        [call, done = std::move(done)](const grpc::Status& status) {
          if (!status.ok()) return done(rpc::FromGrpc(status), 0);
          done(absl::OkStatus(),
               static_cast<size_t>(call->response.kvs_size()));
        });
  }

  // Forgets what values were before: etcd keeps all of them, until its room is
  // used up.
  absl::Status TidyUp() override {
    grpc::ClientContext looking;
    rpc::SetTimeout(kTidyTimeout, &looking);
    etcdserverpb::RangeRequest range;
    etcdserverpb::RangeResponse found;
    range.set_key("bench");
    RETURN_IF_ERROR(rpc::FromGrpc(Next().Range(&looking, range, &found)));
    grpc::ClientContext compacting;
    rpc::SetTimeout(kTidyTimeout, &compacting);
    etcdserverpb::CompactionRequest request;
    etcdserverpb::CompactionResponse unused;
    request.set_revision(found.header().revision());
    request.set_physical(true);  // and wait until it is done
    const absl::Status done =
        rpc::FromGrpc(Next().Compact(&compacting, request, &unused));
    // Nothing was written since.
    return absl::IsOutOfRange(done) ? absl::OkStatus() : done;
  }

 private:
  template <typename Request, typename Response>
  static std::shared_ptr<Call<Request, Response>> MakeCall() {
    auto call = std::make_shared<Call<Request, Response>>();
    rpc::SetTimeout(kCallTimeout, &call->context);
    return call;
  }

  static std::shared_ptr<
      Call<etcdserverpb::RangeRequest, etcdserverpb::RangeResponse>>
  MakeRange(const std::string& key) {
    auto call =
        MakeCall<etcdserverpb::RangeRequest, etcdserverpb::RangeResponse>();
    call->request.set_key(key);
    return call;
  }

  KV::Stub& Next() { return *kvs_[next_++ % kvs_.size()]; }

  const std::string name_;
  std::vector<std::unique_ptr<KV::Stub>> kvs_;  // constant
  std::atomic<size_t> next_{0};
};

}  // namespace

absl::StatusOr<std::unique_ptr<Subject>> MakeEtcd(const std::string& name,
                                                  const std::string& address,
                                                  int connections) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < connections; ++i) {
    rpc::ChannelOptions options;
    options.max_answer_bytes = 64 << 20;
    options.counted = false;
    // Channels whose settings are the same have one connection together.
    options.max_reconnect += absl::Milliseconds(i);
    channels.push_back(rpc::MakeChannel(address, options));
  }
  auto subject = std::make_unique<EtcdSubject>(name, channels);
  RETURN_IF_ERROR(subject->TidyUp());
  return subject;
}

}  // namespace kamino::bench::service
