// Backups as clients of a node see them: refused requests, and calls that are
// no step of a restore.
#include "node/rpc/backup_service.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "logs/audit_thread.h"
#include "proto/backup_records.h"
#include "rpc/server.h"
#include "tests/node/rpc/node_server_fixture.h"
#include "tests/patience.h"
#include "tests/rpc/plain_channel.h"

namespace kamino::node {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Milliseconds(300);
const std::string* const kId = new std::string("0123456789abcdef");

class BackupServiceTest : public NodeServerTest {
 protected:
  BackupServiceTest()
      : service_(node_.get(), &audit_thread_, kPatience),
        backups_(*rpc::Server::Start(Options(), {&service_})) {
    // More than a connection takes before its reader does, as long as gRPC does
    // not find out that it could take more.
    grpc::ChannelArguments narrow;
    narrow.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    backup_stub_ = kamino::v1::BackupService::NewStub(
        rpc::MakePlainChannel(absl::StrCat("127.0.0.1:", backups_->port()),
                              rpc::ChannelCredentials(), narrow));
    views_.Install(1);
  }

  grpc::Status Restore(const kamino::v1::RestoreRequest& request,
                       kamino::v1::RestoreResponse* response) {
    grpc::ClientContext context;
    rpc::SetTimeout(Patience(absl::Seconds(20)), &context);
    return backup_stub_->Restore(&context, request, response);
  }

  static rpc::ServerOptions Options() {
    rpc::ServerOptions options;
    options.listen = "127.0.0.1:0";
    return options;
  }

  logs::AuditThread audit_thread_;
  BackupService service_;
  std::unique_ptr<rpc::Server> backups_;
  std::unique_ptr<kamino::v1::BackupService::Stub> backup_stub_;
};

TEST_F(BackupServiceTest, AnUnreadSaveEndsWithAReason) {
  constexpr int64_t kLarge = 1 << 20;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(
        Put(absl::StrCat("a", i), std::string(kLarge, 'x'), i + 1).ok());
  }
  kamino::v1::SaveRequest request;
  request.set_backup_id(*kId);
  grpc::ClientContext context;  // without a deadline
  auto save = backup_stub_->Save(&context, request);
  while (node_->meters().reads.stats().unsent_bytes < kLarge) {
  }
  while (node_->meters().reads.stats().unsent_bytes >= kLarge) {
  }
  kamino::v1::SaveResponse part;
  while (save->Read(&part)) {
  }
  const grpc::Status status = save->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(),
              HasSubstr("has taken nothing of the backup for 300ms"));
}

TEST_F(BackupServiceTest, ABaseThatLeavesNoNumbersIsRefused) {
  kamino::v1::RestoreResponse response;
  for (const uint64_t base : {kBackupSequenceEnd, ~uint64_t{0}}) {
    kamino::v1::RestoreRequest begin;
    begin.set_backup_id(*kId);
    begin.mutable_begin()->set_base(base);
    const grpc::Status status = Restore(begin, &response);
    EXPECT_EQ(DetailOf(status).reason(), kamino::v1::REASON_INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("too high"));
  }
  EXPECT_TRUE(Put("a", "1", 1).ok());
}

TEST_F(BackupServiceTest, GivingUpMayBeRepeated) {
  kamino::v1::RestoreRequest give_up;
  give_up.mutable_give_up();
  kamino::v1::RestoreResponse response;
  for (int i = 0; i < 2; ++i) {
    const grpc::Status status = Restore(give_up, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_FALSE(response.more());
  }
}

}  // namespace
}  // namespace kamino::node
