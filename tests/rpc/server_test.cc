#include "rpc/server.h"

#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/dynamic_message.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "gtest/gtest.h"
#include "kamino/v1/admin.grpc.pb.h"
#include "rpc/answer.h"
#include "rpc/call_counts.h"
#include "rpc/channel.h"
#include "rpc/grpc_time.h"
#include "rpc/redirect.h"
#include "rpc/status.h"
#include "tests/patience.h"

namespace kamino::rpc {
namespace {

using kamino::v1::AdminService;

class Service final : public AdminService::CallbackService {
  grpc::ServerUnaryReactor* GetCluster(
      grpc::CallbackServerContext* context,
      const kamino::v1::GetClusterRequest*,
      kamino::v1::GetClusterResponse* response) override {
    response->set_leader("here");
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    Finish<kamino::v1::GetClusterRequest>(reactor, MonotonicNow(),
                                          absl::OkStatus());
    return reactor;
  }
  grpc::ServerUnaryReactor* RemoveNode(grpc::CallbackServerContext* context,
                                       const kamino::v1::RemoveNodeRequest*,
                                       kamino::v1::AdminResponse*) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    Finish<kamino::v1::RemoveNodeRequest>(reactor, MonotonicNow(),
                                          NotLeader("there"));
    return reactor;
  }
};

// gRPC's reflection, by messages that are made from descriptions: there is no
// header for them.
class Reflection {
 public:
  explicit Reflection(std::shared_ptr<grpc::Channel> channel)
      : stub_(std::move(channel)) {}

  std::unique_ptr<google::protobuf::Message> Ask(const std::string& field,
                                                 const std::string& value) {
    auto request = Make("ServerReflectionRequest");
    const auto* descriptor = request->GetDescriptor();
    request->GetReflection()->SetString(
        request.get(), descriptor->FindFieldByName(field), value);
    auto response = Make("ServerReflectionResponse");
    response->ParseFromString(Exchange(request->SerializeAsString()));
    return response;
  }

 private:
  std::unique_ptr<google::protobuf::Message> Make(const std::string& name) {
    const auto* type =
        google::protobuf::DescriptorPool::generated_pool()
            ->FindMessageTypeByName("grpc.reflection.v1alpha." + name);
    return std::unique_ptr<google::protobuf::Message>(
        factory_.GetPrototype(type)->New());
  }

  std::string Exchange(const std::string& request) {
    grpc::ClientContext context;
    SetTimeout(Patience(absl::Seconds(20)), &context);
    grpc::CompletionQueue queue;
    const auto await = [&queue] {
      void* tag;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    auto call = stub_.PrepareCall(
        &context,
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        &queue);
    call->StartCall(nullptr);
    EXPECT_TRUE(await());
    const grpc::Slice bytes(request);
    call->WriteLast(grpc::ByteBuffer(&bytes, 1), grpc::WriteOptions(), nullptr);
    EXPECT_TRUE(await());
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    EXPECT_TRUE(await());
    grpc::Slice whole;
    EXPECT_TRUE(answer.DumpToSingleSlice(&whole).ok());
    grpc::Status status;
    call->Finish(&status, nullptr);
    EXPECT_TRUE(await());
    return std::string(reinterpret_cast<const char*>(whole.begin()),
                       whole.size());
  }

  grpc::GenericStub stub_;
  google::protobuf::DynamicMessageFactory factory_;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.max_request_bytes = 1000;
    server_ = *Server::Start(options, {&service_});
    address_ = absl::StrCat("127.0.0.1:", server_->port());
    channel_ = MakeChannel(address_);
    stub_ = AdminService::NewStub(channel_);
  }

  grpc::Status Remove(
      const std::string& node,
      grpc_compression_algorithm compression = GRPC_COMPRESS_NONE) {
    grpc::ClientContext context;
    context.set_compression_algorithm(compression);
    SetTimeout(Patience(absl::Seconds(20)), &context);
    kamino::v1::RemoveNodeRequest request;
    request.set_node_id(node);
    kamino::v1::AdminResponse response;
    return stub_->RemoveNode(&context, request, &response);
  }

  Service service_;
  std::unique_ptr<Server> server_;
  std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<AdminService::Stub> stub_;
};

TEST_F(ServerTest, ReflectionDescribesEveryListedService) {
  Reflection reflection(channel_);
  const auto listed = reflection.Ask("list_services", "");
  const std::string text = listed->DebugString();
  for (const std::string service :
       {"kamino.v1.AdminService", "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection"}) {
    EXPECT_NE(text.find("\"" + service + "\""), std::string::npos) << text;
    const auto described = reflection.Ask("file_containing_symbol", service);
    const std::string answer = described->ShortDebugString();
    EXPECT_NE(answer.find("file_descriptor_response"), std::string::npos)
        << service << ": " << answer;
  }
}

TEST_F(ServerTest, APortIsBoundOnce) {
  ServerOptions options;
  options.listen = address_;
  const absl::Status second = Server::Start(options, {}).status();
  EXPECT_TRUE(absl::IsUnavailable(second));
  EXPECT_NE(second.message().find("cannot listen on " + address_),
            std::string::npos)
      << second;
}

TEST_F(ServerTest, ConnectionsAreAcceptedUpToTheDescriptorLimit) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  const int next = dup(0);
  options.max_descriptors = next;  // less than are in use soon
  auto full = *Server::Start(options, {&service_});
  close(next);
  stub_ = AdminService::NewStub(
      MakeChannel(absl::StrCat("127.0.0.1:", full->port())));
  const grpc::Status refused = Remove("n1");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE)
      << refused.error_message();
  options.max_descriptors = next + 100;
  full = *Server::Start(options, {&service_});
  stub_ = AdminService::NewStub(
      MakeChannel(absl::StrCat("127.0.0.1:", full->port())));
  EXPECT_EQ(LeaderIn(FromGrpc(Remove("n1"))), "there");
}

TEST_F(ServerTest, ConnectionsWithoutCallsAreClosed) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.max_idle = absl::Milliseconds(200);
  const auto server = *Server::Start(options, {&service_});
  const auto channel = MakeChannel(absl::StrCat("127.0.0.1:", server->port()));
  stub_ = AdminService::NewStub(channel);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(LeaderIn(FromGrpc(Remove("n1"))), "there");
    EXPECT_TRUE(channel->WaitForStateChange(
        GRPC_CHANNEL_READY, FromNow(Patience(absl::Seconds(20)))));
  }
}

TEST_F(ServerTest, CallsAreCountedAtBothEnds) {
  for (CallCounts* counts : {&CallsMade(), &CallsServed()}) {
    constexpr char kGetCluster[] = "/kamino.v1.AdminService/GetCluster";
    constexpr char kRemoveNode[] = "/kamino.v1.AdminService/RemoveNode";
    const auto got = counts->Read(kGetCluster);
    const auto removed = counts->Read(kRemoveNode);
    for (int i = 0; i < 3; ++i) {
      grpc::ClientContext context;
      kamino::v1::GetClusterResponse response;
      EXPECT_TRUE(
          stub_
              ->GetCluster(&context, kamino::v1::GetClusterRequest(), &response)
              .ok());
      EXPECT_EQ(response.leader(), "here");
    }
    EXPECT_EQ(LeaderIn(FromGrpc(Remove("n1"))), "there");
    EXPECT_EQ(counts->Read(kGetCluster).ended[0], got.ended[0] + 3);
    EXPECT_EQ(counts->Read(kRemoveNode).ended[14], removed.ended[14] + 1);
  }
}

TEST_F(ServerTest, ARequestThatIsTooLargeIsRefused) {
  EXPECT_EQ(Remove(std::string(2000, 'x')).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(LeaderIn(FromGrpc(Remove("n1"))), "there");
}

// gRPC would inflate it before the size is checked.
TEST_F(ServerTest, ARequestThatIsCompressedIsRefused) {
  for (auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    EXPECT_EQ(Remove(std::string(500, 'x'), algorithm).error_code(),
              grpc::StatusCode::UNIMPLEMENTED);
  }
  EXPECT_EQ(LeaderIn(FromGrpc(Remove("n1"))), "there");
}

}  // namespace
}  // namespace kamino::rpc
