// How errors of a save, and those of a restore's steps, are reported; the test
// plays the node.
#include "client/backup.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/error.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "kamino/v1/backup.grpc.pb.h"
#include "rpc/cluster_identity.h"
#include "rpc/server.h"
#include "rpc/status.h"
#include "tests/patience.h"

namespace kamino::client {
namespace {

using ::testing::HasSubstr;

class FakeNode final : public kamino::v1::BackupService::Service {
 public:
  grpc::Status Save(
      grpc::ServerContext*, const kamino::v1::SaveRequest*,
      grpc::ServerWriter<kamino::v1::SaveResponse>* writer) override {
    kamino::v1::SaveResponse header;
    header.mutable_header()->set_sequence(7);
    if (begins_) writer->Write(header);
    return answer_;
  }
  grpc::Status Restore(grpc::ServerContext* context,
                       const kamino::v1::RestoreRequest*,
                       kamino::v1::RestoreResponse*) override {
    const int step = ++steps_;
    if (on_step_ != nullptr) on_step_(step);
    const auto named = context->client_metadata().find(rpc::kClusterUuidKey);
    if (named != context->client_metadata().end()) {
      asked_for_ = std::string(named->second.data(), named->second.size());
    }
    if (!uuid_.empty())
      context->AddInitialMetadata(rpc::kClusterUuidKey, uuid_);
    return answer_;
  }

  bool begins_ = true;
  grpc::Status answer_;
  std::atomic<int> steps_{0};
  std::function<void(int step)> on_step_;  // before its answer
  std::string uuid_;                       // of its cluster
  std::string asked_for_;                  // that the last step named
};

class BackupTest : public ::testing::Test {
 protected:
  BackupTest()
      : server_(*rpc::Server::Start(Options(), {&node_})),
        address_(absl::StrCat("127.0.0.1:", server_->port())) {}

  absl::Status Save() {
    BackupSink sink;
    sink.begin = [](const kamino::v1::BackupHeader&) {
      return absl::OkStatus();
    };
    sink.add = [](absl::string_view) { return absl::OkStatus(); };
    return SaveBackup(address_, {}, {}, sink).status();
  }

  absl::Status Step(absl::Duration timeout) {
    Restorer::Options options;
    options.head = [this] { return address_; };
    options.timeout = timeout;
    options.channel.cluster = cluster_;
    return Restorer(options).Step({}).status();
  }

  static rpc::ServerOptions Options() {
    rpc::ServerOptions options;
    options.listen = "127.0.0.1:0";
    return options;
  }

  FakeNode node_;
  // The cluster that takes the backup.
  const std::shared_ptr<rpc::ClusterIdentity> cluster_ =
      std::make_shared<rpc::ClusterIdentity>();
  std::unique_ptr<rpc::Server> server_;
  const std::string address_;
};

TEST_F(BackupTest, AnUnreadSaveEndsWithAReason) {
  node_.answer_ =
      grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "taken nothing");
  const absl::Status ended = Save();
  EXPECT_TRUE(absl::IsResourceExhausted(ended)) << ended;
  EXPECT_EQ(ReasonOf(ended), kamino::v1::REASON_OVERLOADED);
  EXPECT_THAT(std::string(ended.message()), HasSubstr("taken nothing"));
  // A step that was not begun fails otherwise.
  node_.begins_ = false;
  EXPECT_EQ(ReasonOf(Save()), kamino::v1::REASON_UNSPECIFIED);
}

TEST_F(BackupTest, ASaveKeepsTheNodesError) {
  node_.answer_ =
      rpc::ToGrpc(MakeError(absl::StatusCode::kResourceExhausted,
                            kamino::v1::REASON_HEAP_FULL, "it is full"));
  const absl::Status ended = Save();
  EXPECT_EQ(ReasonOf(ended), kamino::v1::REASON_HEAP_FULL);
  EXPECT_EQ(ended.message(), "it is full");
}

TEST_F(BackupTest, ARefusedStepIsNotDone) {
  node_.answer_ =
      rpc::ToGrpc(MakeError(absl::StatusCode::kFailedPrecondition,
                            kamino::v1::REASON_NOT_EMPTY, "it has objects"));
  const absl::Status refused = Step(Patience(absl::Seconds(30)));
  EXPECT_EQ(ReasonOf(refused), kamino::v1::REASON_NOT_EMPTY);
  EXPECT_FALSE(MayBeDone(refused));
  EXPECT_EQ(node_.steps_, 1);
}

TEST_F(BackupTest, AStepIsSentToThePinnedClusterOnly) {
  cluster_->Pin("new", std::string(32, 'a'));
  node_.uuid_ = std::string(32, 'a');
  EXPECT_EQ(Step(absl::Seconds(30)), absl::OkStatus());
  EXPECT_EQ(node_.asked_for_, std::string(32, 'a'));
  // A node of a third cluster took over the head's address.
  node_.uuid_ = std::string(32, 'b');
  const absl::Status refused = Step(absl::ZeroDuration());
  EXPECT_EQ(ReasonOf(refused), kamino::v1::REASON_OTHER_CLUSTER);
  EXPECT_FALSE(MayBeDone(refused));
}

// The head's address leads to another cluster, until the client learns the next
// head. The answer of the former head was lost.
TEST_F(BackupTest, AStepIsRetriedPastAnotherCluster) {
  cluster_->Pin("new", std::string(32, 'a'));
  node_.on_step_ = [this](int step) {
    node_.uuid_ = std::string(32, step < 3 ? 'b' : 'a');
  };
  EXPECT_EQ(Step(Patience(absl::Seconds(30))), absl::OkStatus());
  EXPECT_EQ(node_.steps_, 3);

  node_.steps_ = 0;
  node_.on_step_ = [this](int step) {
    node_.uuid_ = step == 1 ? "" : std::string(32, 'b');
    node_.answer_ = step == 1 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "")
                              : grpc::Status::OK;
  };
  const absl::Status lost = Step(absl::Milliseconds(200));
  EXPECT_TRUE(MayBeDone(lost));
  EXPECT_THAT(std::string(lost.message()),
              HasSubstr("(an earlier attempt had no answer)"));

  // An error without a reason is of another program, and tells nothing of the
  // first attempt. A refusal with a reason does.
  node_.steps_ = 0;
  node_.on_step_ = [this](int step) {
    node_.uuid_ = "";
    node_.answer_ = step == 1
                        ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "")
                        : grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "");
  };
  EXPECT_TRUE(MayBeDone(Step(Patience(absl::Seconds(30)))));
  node_.steps_ = 0;
  node_.on_step_ = [this](int step) {
    node_.answer_ =
        step == 1 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "")
                  : rpc::ToGrpc(MakeError(absl::StatusCode::kFailedPrecondition,
                                          kamino::v1::REASON_NOT_EMPTY,
                                          "it has objects"));
  };
  EXPECT_FALSE(MayBeDone(Step(Patience(absl::Seconds(30)))));
}

TEST_F(BackupTest, AnUnansweredStepIsRetriedAndMayBeDone) {
  node_.answer_ =
      rpc::ToGrpc(MakeError(absl::StatusCode::kUnavailable,
                            kamino::v1::REASON_OUTCOME_UNKNOWN, "who knows"));
  EXPECT_TRUE(MayBeDone(Step(Patience(absl::Seconds(1)))));
  EXPECT_GT(node_.steps_, 1);
  node_.answer_ = grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "late");
  EXPECT_TRUE(MayBeDone(Step(absl::ZeroDuration())));
}

}  // namespace
}  // namespace kamino::client
