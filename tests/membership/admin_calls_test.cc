// Operators' calls over gRPC, and their lines in the audit log.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kamino/v1/admin.grpc.pb.h"
#include "logs/audit_thread.h"
#include "logs/log.h"
#include "membership/manager/admin_service.h"
#include "membership/manager/manager.h"
#include "rpc/credentials.h"
#include "rpc/server.h"
#include "server/audit_log.h"
#include "tests/membership/fake_etcd.h"
#include "tests/rpc/plain_channel.h"

namespace kamino::membership {
namespace {

using ::testing::HasSubstr;

// A manager that leads, and serves operators.
class AuditedManager {
 public:
  AuditedManager(const std::string& audit_path,
                 const logs::AuditThread::Options& options)
      : audit_(*server::AuditLog::Open(audit_path)),
        audit_thread_(options),
        manager_(ManagerOptions(), std::make_unique<FakeEtcd>(&etcd_),
                 clock_.AsFunction()),
        service_(&manager_, {audit_.get(), &audit_thread_}),
        server_(*rpc::Server::Start(ServerOptions(), {&service_})),
        stub_(kamino::v1::AdminService::NewStub(
            rpc::MakePlainChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                  rpc::ChannelCredentials()))) {
    CHECK(clock_.Eventually([this] {
      return manager_
          .Administer([](ManagerCore*, absl::Time) { return absl::OkStatus(); })
          .ok();
    }));
  }

  // Each makes one call.
  grpc::Status GetCluster() {
    return Call<kamino::v1::GetClusterRequest, kamino::v1::GetClusterResponse>(
        {}, &kamino::v1::AdminService::Stub::GetCluster);
  }
  grpc::Status GetManager() {
    return Call<kamino::v1::GetManagerRequest, kamino::v1::GetManagerResponse>(
        {}, &kamino::v1::AdminService::Stub::GetManager);
  }
  grpc::Status RemoveNode(const std::string& node) {
    kamino::v1::RemoveNodeRequest request;
    request.set_node_id(node);
    request.set_force(true);
    return Call<kamino::v1::RemoveNodeRequest, kamino::v1::AdminResponse>(
        request, &kamino::v1::AdminService::Stub::RemoveNode);
  }
  grpc::Status AddNode(const std::string& node) {
    kamino::v1::AddNodeRequest request;
    request.set_node_id(node);
    return Call<kamino::v1::AddNodeRequest, kamino::v1::AdminResponse>(
        request, &kamino::v1::AdminService::Stub::AddNode);
  }
  grpc::Status Recover(bool confirmed) {
    kamino::v1::RecoverRequest request;
    request.set_confirmed(confirmed);
    return Call<kamino::v1::RecoverRequest, kamino::v1::RecoverResponse>(
        request, &kamino::v1::AdminService::Stub::Recover);
  }
  grpc::Status Finalize() {
    return Call<kamino::v1::FinalizeRequest, kamino::v1::FinalizeResponse>(
        {}, &kamino::v1::AdminService::Stub::Finalize);
  }

  server::AuditLog& audit() { return *audit_; }
  logs::AuditThread& audit_thread() { return audit_thread_; }

 private:
  static Manager::Options ManagerOptions() {
    Manager::Options options;
    options.core.cluster_id = "c";
    options.core.chain_length = 2;
    options.name = "a:1";
    options.poll_interval = absl::Milliseconds(1);
    return options;
  }
  static rpc::ServerOptions ServerOptions() {
    rpc::ServerOptions options;
    options.listen = "127.0.0.1:0";
    return options;
  }

  template <typename Request, typename Response, typename Method>
  grpc::Status Call(const Request& request, Method method) {
    grpc::ClientContext context;
    Response response;
    return (stub_.get()->*method)(&context, request, &response);
  }

  TestClock clock_;
  FakeEtcdServer etcd_;
  const std::unique_ptr<server::AuditLog> audit_;
  logs::AuditThread audit_thread_;
  Manager manager_;
  AdminService service_;
  const std::unique_ptr<rpc::Server> server_;
  const std::unique_ptr<kamino::v1::AdminService::Stub> stub_;
};

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class AdminCallsTest : public ::testing::Test {
 protected:
  void Start(size_t most_calls = 64) {
    logs::AuditThread::Options options;
    options.most_calls = most_calls;
    options.patience = absl::InfiniteDuration();
    manager_ = std::make_unique<AuditedManager>(path_, options);
  }
  // Each operator call once.
  std::vector<std::function<grpc::Status()>> Calls() {
    return {[this] { return manager_->GetCluster(); },
            [this] { return manager_->GetManager(); },
            [this] { return manager_->RemoveNode("n1"); },
            [this] { return manager_->AddNode("n1"); },
            [this] { return manager_->Recover(/*confirmed=*/false); },
            [this] { return manager_->Recover(/*confirmed=*/true); },
            [this] { return manager_->Finalize(); }};
  }

  const std::string path_ =
      ::testing::TempDir() + "/calls" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::unique_ptr<AuditedManager> manager_;
};

TEST_F(AdminCallsTest, ACallReturnsOnlyOnceItsAuditLineIsWritten) {
  Start();
  uint64_t made = 0;
  for (const auto& call : Calls()) {
    const grpc::Status status = call();
    ++made;
    const std::vector<std::string> lines =
        absl::StrSplit(Contents(path_), '\n', absl::SkipEmpty());
    ASSERT_EQ(lines.size(), made) << status.error_message();
    EXPECT_EQ(absl::StrContains(lines.back(), R"("outcome":"OK")"), status.ok())
        << lines.back();
  }
  EXPECT_EQ(manager_->audit().records(), made);
  EXPECT_EQ(manager_->audit().unwritten(), 0u);
}

// The thread that writes lines blocks, and one call waits for it.
TEST_F(AdminCallsTest, ABlockedAuditThreadFailsFurtherCallsAtOnce) {
  Start(/*most_calls=*/1);
  absl::Notification reached;
  absl::Notification free;
  ASSERT_TRUE(
      manager_->audit_thread()
          .Begin([&](const logs::AuditThread::PlacePtr&, const absl::Status&) {
            reached.Notify();
            free.WaitForNotification();
          })
          .ok());
  reached.WaitForNotification();
  uint64_t made = 0;
  for (const auto& call : Calls()) {
    const grpc::Status status = call();
    ++made;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(),
                HasSubstr("nothing was done: 1 operators' calls already wait"));
    // The program's log has the line.
    EXPECT_EQ(manager_->audit().records(), made);
  }
  EXPECT_EQ(Contents(path_), "");
  free.Notify();
  manager_.reset();  // its thread uses `free`
}

// --- A process whose stderr no other process reads.

// Returns everything written to the pipe; `end` is its reading end.
std::string ReadAll(int end) {
  fcntl(end, F_SETFL, O_NONBLOCK);
  std::string text;
  char bytes[4096];
  for (ssize_t n; (n = read(end, bytes, sizeof(bytes))) > 0;) {
    text.append(bytes, static_cast<size_t>(n));
  }
  return text;
}

// stderr becomes a pipe that is full. Returns the end to read.
int FillStderr() {
  int ends[2] = {};
  if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) _exit(1);
  fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
  while (write(STDERR_FILENO, ".", 1) == 1) {
  }
  fcntl(STDERR_FILENO, F_SETFL, 0);
  return ends[0];
}

// Ends the process: with 0, unless a check fails.
void ServeUnread() {
  const int end = FillStderr();
  logs::StartLogging("program", {"program", "c", ""});
  AuditedManager manager("", logs::AuditThread::Options());
  const std::vector<grpc::Status> made = {
      manager.AddNode("n1"), manager.RemoveNode("n1"), manager.GetCluster()};
  for (const grpc::Status& status : made) {
    if (status.error_code() != grpc::StatusCode::FAILED_PRECONDITION) _exit(2);
    if (!absl::StrContains(status.error_message(), "nothing was done")) {
      _exit(3);
    }
    if (!absl::StrContains(status.error_message(), "reader of stderr")) {
      _exit(4);
    }
  }
  // Then the reader continues, and finds a line for each call.
  std::string text;
  while (!absl::StrContains(text, "/GetCluster")) {
    (void)logs::AwaitWritten();
    text += ReadAll(end);
  }
  for (const char* call : {"/AddNode", "/RemoveNode", "/GetCluster"}) {
    if (!absl::StrContains(text, call)) _exit(5);
  }
  if (!absl::StrContains(text, "FAILED_PRECONDITION")) _exit(6);
  _exit(0);
}

TEST(AdminCallsDeathTest, ACallFailsIfItsLineCannotBeWrittenAndKeepsTheLine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ServeUnread(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace kamino::membership
