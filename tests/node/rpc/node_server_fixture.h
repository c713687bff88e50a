// A whole node behind its public API, as the only node of a chain; the test
// plays the membership manager.
#ifndef KAMINO_TESTS_NODE_RPC_NODE_SERVER_FIXTURE_H_
#define KAMINO_TESTS_NODE_RPC_NODE_SERVER_FIXTURE_H_

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/host_id.h"
#include "examples/bank/bank_transfer.h"
#include "google/rpc/status.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "node/driver/real_runtime.h"
#include "node/rpc/node_server.h"
#include "node/rpc/session_service.h"
#include "node/session/session_links.h"
#include "node/session/session_server.h"
#include "node/storage/file_media.h"
#include "rpc/channel.h"
#include "rpc/credentials.h"
#include "security/access.h"
#include "security/certificates.h"
#include "tests/patience.h"
#include "tests/transport/fake_verbs.h"
#include "transport/shm/shm_transport.h"
#include "transport/tcp/tcp_transport.h"
#include "transport/verbs/send_transport.h"

namespace kamino::node {

class FakeViews : public membership::ViewSource {
 public:
  absl::Status Start(const membership::Member& self,
                     membership::ViewSourceCallbacks callbacks) override {
    self_ = self;
    callbacks_ = std::move(callbacks);
    return absl::OkStatus();
  }
  void RestBeforeStart(absl::Duration) override {}
  void Stop() override {}
  void NoteProgress() override {}
  bool LeaseValid(uint64_t) const override { return lease_; }
  void RequestView() override {}
  void SetReport(const membership::NodeReport&) override {}

  // A view whose other member is never there, so that nothing is completed.
  void InstallBeforeAnother(uint64_t id) {
    membership::Member other = self_;
    other.node_id = "other";
    membership::View view{"c", id, {self_, other}};
    view.epoch = 1;
    view.cluster_uuid = cluster_uuid_;
    callbacks_.on_view(view);
  }

  void Install(uint64_t id, bool with_us = true) {
    membership::Member member = self_;
    if (!with_us) {
      member.node_id = "other";
      member.service_address = "other:1";
    }
    membership::View view{"c", id, {member}};
    view.epoch = 1;
    view.cluster_uuid = cluster_uuid_;
    callbacks_.on_view(view);
  }

  std::atomic<bool> lease_{true};
  std::string cluster_uuid_;  // of the next views; 16 bytes, or none

 private:
  membership::Member self_;
  membership::ViewSourceCallbacks callbacks_;
};

class RefusalCounts final : public transport::ListenerEvents {
 public:
  void OnHalfOpen(int) override {}
  void OnEstablished(absl::Duration) override {
    absl::MutexLock lock(&mutex_);
    ++established_;
  }
  void OnRefused(transport::LinkRefusal why) override {
    absl::MutexLock lock(&mutex_);
    ++refused_[why];
  }
  int established() {
    absl::MutexLock lock(&mutex_);
    return established_;
  }
  // Waits, not for ever.
  bool Await(transport::LinkRefusal why, int times) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&] { return refused_[why] >= times; };
    return mutex_.AwaitWithTimeout(absl::Condition(&there),
                                   Patience(absl::Seconds(20)));
  }

 private:
  absl::Mutex mutex_;
  int established_ = 0;
  std::map<transport::LinkRefusal, int> refused_;
};

// Certificates of a node and its callers; null: all is in the clear.
struct FixtureCertificates {
  std::shared_ptr<security::Certificates> of_node;
  std::shared_ptr<security::Certificates> of_caller;
};

class NodeServerTest : public ::testing::Test {
 protected:
  explicit NodeServerTest(CallLoadOptions reads = {},
                          CallLoadOptions results = {},
                          SessionServerOptions sessions = {},
                          const FixtureCertificates& certificates = {}) {
    if (certificates.of_node != nullptr) {
      access_ = std::make_shared<security::Access>(security::RoleMap());
      sessions.access = access_.get();
    }
    const auto credentials = *rpc::Credentials::MakeIfAny(certificates.of_node);
    procedures_.Register(examples::kBankTransfer, examples::BankTransfer);
    StorageOptions storage;
    const std::string folder =
        absl::StrCat(std::getenv("TEST_TMPDIR"), "/node");
    std::filesystem::remove_all(folder);
    storage.cluster_id = "c";
    storage.node_id = "n1";
    storage.heap_bytes = 16 << 20;
    storage.ring_bytes = 16 << 20;
    NodeOptions options;
    options.chain.cluster_id = "c";
    options.chain.node_id = "n1";
    options.links.offers = {{transport::TcpTransports(), "127.0.0.1:0"}};
    options.reads = reads;
    options.results = results;
    Node::Events events;
    events.fatal = [](const absl::Status& why) { ADD_FAILURE() << why; };
    events.role = [this](membership::Role role, bool lease) {
      server_->SetRole(role, lease);
    };
    auto media = FileMedia::Open(folder, engine::PmemMode::kForce,
                                 /*prefault=*/true);
    node_ = *Node::Create(
        options, *RealRuntime(absl::Microseconds(20), /*goes_on=*/nullptr),
        *Storage::Open(storage, std::move(*media)), &procedures_, &views_,
        events);
    sessions_ = std::make_unique<SessionServer>(sessions, node_.get());
    session_service_ = std::make_unique<SessionService>(sessions_.get());
    session_links_ = *SessionLinks::Listen(
        {{transport::ShmTransports(
              "/tmp", {session_service_->passes(), /*source=*/nullptr}),
          absl::StrCat("/tmp/kamino-", getpid(), ".sock"), HostId()},
         {transport::VerbsSendTransports(
              {{}, session_service_->rendezvous(), fabric_}),
          "", ""},
         {transport::TcpTransports(), "127.0.0.1:0", ""}},
        sessions_.get(), certificates.of_node, events_);
    server_ =
        *NodeServer::Start("127.0.0.1:0", node_.get(), {session_service_.get()},
                           nullptr, credentials, access_);
    const std::string address = absl::StrCat("127.0.0.1:", server_->port());
    session_service_->SetCarriers(session_links_->carriers(address));
    EXPECT_TRUE(node_->Join(address).ok());
    rpc::ChannelOptions channel;
    channel.credentials = *rpc::Credentials::MakeIfAny(certificates.of_caller);
    channel_ = rpc::MakeChannel(address, channel);
    stub_ = kamino::v1::KaminoService::NewStub(channel_);
  }

  ~NodeServerTest() override {
    session_links_.reset();
    node_->Stop();
    server_.reset();
  }

  template <typename Response, typename Request, typename Method>
  grpc::Status Send(Method method, const Request& request, Response* response) {
    grpc::ClientContext context;
    rpc::SetTimeout(Patience(absl::Seconds(20)), &context);
    return (stub_.get()->*method)(&context, request, response);
  }

  static kamino::v1::ErrorDetail DetailOf(const grpc::Status& status) {
    google::rpc::Status details;
    kamino::v1::ErrorDetail detail;
    EXPECT_TRUE(details.ParseFromString(status.error_details()));
    EXPECT_GT(details.details_size(), 0);
    if (details.details_size() > 0) details.details(0).UnpackTo(&detail);
    return detail;
  }

  grpc::Status Put(const std::string& key, const std::string& value,
                   uint64_t number) {
    kamino::v1::PutRequest request;
    request.mutable_request_id()->set_client_id(7);
    request.mutable_request_id()->set_number(number);
    request.set_key(key);
    request.set_value(value);
    kamino::v1::PutResponse response;
    return Send(&Stub::Put, request, &response);
  }

  grpc::Status Get(const std::string& key, kamino::v1::GetResponse* response) {
    kamino::v1::GetRequest request;
    request.set_key(key);
    return Send(&Stub::Get, request, response);
  }

  grpc::health::v1::HealthCheckResponse::ServingStatus Health(
      const std::string& service) {
    auto stub = grpc::health::v1::Health::NewStub(channel_);
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    grpc::health::v1::HealthCheckResponse response;
    EXPECT_TRUE(stub->Check(&context, request, &response).ok());
    return response.status();
  }

  kamino::v1::GetNodeStatusResponse Status() {
    kamino::v1::GetNodeStatusResponse status;
    EXPECT_TRUE(
        Send(&Stub::GetNodeStatus, kamino::v1::GetNodeStatusRequest(), &status)
            .ok());
    return status;
  }

  // Sends while the core thread is busy, gives up after a moment, and lets the
  // core thread go on.
  template <typename Response, typename Request, typename Method>
  void SendAndGiveUp(Method method, const Request& request) {
    // Shared: the waiting thread may still look at it when this one is done.
    const auto go_on = std::make_shared<absl::Notification>();
    ASSERT_TRUE(
        node_->Run([go_on](ChainNode&) { go_on->WaitForNotification(); }));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(20));
    Response response;
    EXPECT_EQ((stub_.get()->*method)(&context, request, &response).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
    go_on->Notify();
  }

  using Stub = kamino::v1::KaminoService::StubInterface;

  replica::ProcedureRegistry procedures_;
  FakeViews views_;
  // RDMA devices, of this node and of clients that are given them.
  const std::shared_ptr<transport::FakeFabric> fabric_ =
      std::make_shared<transport::FakeFabric>();
  std::unique_ptr<Node> node_;
  std::shared_ptr<security::Access> access_;
  // Counts of the listeners of sessions.
  const std::shared_ptr<RefusalCounts> events_ =
      std::make_shared<RefusalCounts>();
  std::unique_ptr<SessionServer> sessions_;
  std::unique_ptr<SessionService> session_service_;
  std::unique_ptr<SessionLinks> session_links_;
  std::unique_ptr<NodeServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<kamino::v1::KaminoService::StubInterface> stub_;
};

}  // namespace kamino::node

#endif  // KAMINO_TESTS_NODE_RPC_NODE_SERVER_FIXTURE_H_
