// Against a real etcd.
#include "membership/etcd/etcd_client.h"

#include <signal.h>
#include <stdlib.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "etcd/etcdserver/etcdserverpb/rpc.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "rpc/credentials.h"
#include "rpc/server.h"
#include "tests/membership/child_process.h"
#include "tests/membership/silent_port.h"
#include "tests/patience.h"

namespace kamino::membership {
namespace {

const absl::Duration kDeadline = Patience(absl::Seconds(2));
const EtcdDeadlines kDeadlines = {kDeadline, kDeadline};
const absl::Duration kPatience = Patience(absl::Seconds(20));

std::string NewFolder() {
  std::string folder = absl::StrCat(testing::TempDir(), "/XXXXXX");
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

// As `etcdctl compact --physical`, `defrag` and `alarm disarm` do.
void Relieve(const std::string& endpoint, int64_t revision) {
  const auto channel = rpc::MakeChannel(endpoint);
  auto maintenance = etcdserverpb::Maintenance::NewStub(channel);
  {
    grpc::ClientContext context;
    etcdserverpb::CompactionRequest request;
    etcdserverpb::CompactionResponse response;
    request.set_revision(revision);
    request.set_physical(true);  // answered once it is done
    EXPECT_TRUE(etcdserverpb::KV::NewStub(channel)
                    ->Compact(&context, request, &response)
                    .ok());
  }
  {
    grpc::ClientContext context;
    etcdserverpb::DefragmentRequest request;
    etcdserverpb::DefragmentResponse response;
    EXPECT_TRUE(maintenance->Defragment(&context, request, &response).ok());
  }
  etcdserverpb::AlarmRequest request;
  etcdserverpb::AlarmResponse raised;
  request.set_action(etcdserverpb::AlarmRequest::GET);
  {
    grpc::ClientContext context;
    EXPECT_TRUE(maintenance->Alarm(&context, request, &raised).ok());
  }
  EXPECT_EQ(raised.alarms_size(), 1);
  for (const auto& alarm : raised.alarms()) {
    grpc::ClientContext context;
    etcdserverpb::AlarmResponse response;
    request.set_action(etcdserverpb::AlarmRequest::DEACTIVATE);
    request.set_memberid(alarm.memberid());
    request.set_alarm(alarm.alarm());
    EXPECT_TRUE(maintenance->Alarm(&context, request, &response).ok());
  }
}

// Repeats the call until etcd answers.
template <typename Call>
auto Await(Call call) {
  const absl::Time deadline = absl::Now() + kPatience;
  auto result = call();
  while (absl::Now() < deadline &&
         (absl::IsUnavailable(result.status()) ||
          absl::IsDeadlineExceeded(result.status()))) {
    result = call();
  }
  return result;
}

const Etcd::Keys kKeys = {"/l", "/r", "/v"};

TEST(EtcdClientWithoutEtcdTest, AServerOtherThanEtcdIsNamed) {
  rpc::ServerOptions options;
  options.listen = "127.0.0.1:0";
  const auto server = rpc::Server::Start(options, {});
  ASSERT_EQ(server.status(), absl::OkStatus());
  const std::string address = absl::StrCat("127.0.0.1:", (*server)->port());
  EtcdClient client({address}, kDeadlines);
  EXPECT_EQ(Await([&] { return client.Look(kKeys); }).status(),
            absl::UnimplementedError(
                address + " answers, but is no etcd (a node or a manager, "
                          "perhaps); check --etcd"));
}

class EtcdClientTest : public testing::Test {
 protected:
  // The revision of a leadership that it takes over from any holder.
  static Etcd::Leadership Lead(EtcdClient* client,
                               const std::string& name = "a") {
    const auto seen = Await([&] { return client->Look(kKeys); });
    EXPECT_EQ(seen.status(), absl::OkStatus());
    if (!seen.ok()) return {};
    const auto election =
        client->Campaign(kKeys, name, "0", seen->leader.mod_revision,
                         seen->renewal.mod_revision);
    EXPECT_EQ(election.status(), absl::OkStatus());
    if (!election.ok()) return {};
    EXPECT_TRUE(election->won);
    return {name, election->stored.leader.mod_revision};
  }

  const std::string folder_ = NewFolder();
  EtcdProcess etcd_{folder_};
  EtcdClient client_{{etcd_.endpoint()}, kDeadlines};
};

TEST_F(EtcdClientTest, ALeaderIsReplacedOnlyOnceItStopsRenewing) {
  EtcdClient other({etcd_.endpoint()}, kDeadlines);
  const auto nothing = Await([&] { return client_.Look(kKeys); });
  ASSERT_EQ(nothing.status(), absl::OkStatus());
  EXPECT_EQ(nothing->leader.mod_revision, 0);
  EXPECT_EQ(nothing->renewal.mod_revision, 0);
  auto first = client_.Campaign(kKeys, "a", "1", 0, 0);
  ASSERT_EQ(first.status(), absl::OkStatus());
  EXPECT_TRUE(first->won);
  EXPECT_EQ(first->stored.leader.value, "a");
  EXPECT_GT(first->stored.leader.mod_revision, 0);
  EXPECT_EQ(first->stored.renewal.value, "1");
  EXPECT_EQ(first->stored.view.mod_revision, 0);
  const Etcd::Leadership term = {"a", first->stored.leader.mod_revision};

  // It saw no leader; the answer names the one there is.
  auto second = other.Campaign(kKeys, "b", "1", 0, 0);
  ASSERT_EQ(second.status(), absl::OkStatus());
  EXPECT_FALSE(second->won);
  EXPECT_EQ(second->stored.leader.value, "a");
  EXPECT_EQ(second->stored.leader.mod_revision, term.revision);

  // It has seen the leader, which has renewed since.
  const auto renewed = client_.Renew(kKeys, "2", term);
  ASSERT_EQ(renewed.status(), absl::OkStatus());
  EXPECT_EQ(renewed->leader.value, "a");
  EXPECT_EQ(renewed->view.mod_revision, 0);
  const int64_t last = renewed->renewal.mod_revision;
  EXPECT_GT(last, term.revision);
  second = other.Campaign(kKeys, "b", "1", term.revision,
                          second->stored.renewal.mod_revision);
  ASSERT_EQ(second.status(), absl::OkStatus());
  EXPECT_FALSE(second->won);
  EXPECT_EQ(second->stored.renewal.value, "2");
  EXPECT_EQ(second->stored.renewal.mod_revision, last);

  // The leader has not renewed since.
  second = other.Campaign(kKeys, "b", "1", term.revision, last);
  ASSERT_EQ(second.status(), absl::OkStatus());
  EXPECT_TRUE(second->won);
  EXPECT_TRUE(absl::IsAborted(client_.Renew(kKeys, "3", term).status()));
  const auto seen = client_.Look(kKeys);
  ASSERT_EQ(seen.status(), absl::OkStatus());
  EXPECT_EQ(seen->leader.value, "b");
  EXPECT_EQ(seen->renewal.value, "1");
}

TEST_F(EtcdClientTest, AnElectedLeaderLearnsTheStoredView) {
  const Etcd::Leadership term = Lead(&client_);
  ASSERT_TRUE(client_.Replace(kKeys, "view", 0, term).ok());
  const auto seen = client_.Look(kKeys);
  ASSERT_EQ(seen.status(), absl::OkStatus());
  EXPECT_EQ(seen->view.value, "view");
  const auto election = client_.Campaign(kKeys, "b", "", term.revision,
                                         seen->renewal.mod_revision);
  ASSERT_EQ(election.status(), absl::OkStatus());
  EXPECT_TRUE(election->won);
  EXPECT_EQ(election->stored.view.value, "view");
}

TEST_F(EtcdClientTest, OnlyTheLeaderThatKnowsTheLastViewReplacesIt) {
  const Etcd::Leadership term = Lead(&client_);
  auto first = client_.Replace(kKeys, "one", 0, term);
  ASSERT_EQ(first.status(), absl::OkStatus());
  EXPECT_EQ(first->value, "one");
  auto second = client_.Replace(kKeys, "two", first->mod_revision, term);
  ASSERT_EQ(second.status(), absl::OkStatus());
  EXPECT_EQ(second->value, "two");
  EXPECT_GT(second->mod_revision, first->mod_revision);

  // Refused: the answer is the stored view.
  for (const int64_t stale : {int64_t{0}, first->mod_revision}) {
    auto refused = client_.Replace(kKeys, "three", stale, term);
    ASSERT_EQ(refused.status(), absl::OkStatus());
    EXPECT_EQ(refused->value, "two");
    EXPECT_EQ(refused->mod_revision, second->mod_revision);
  }
  // Another leadership, although the revision of the view is right.
  for (const Etcd::Leadership& other :
       {Etcd::Leadership{"a", term.revision - 1},
        Etcd::Leadership{"b", term.revision}}) {
    EXPECT_TRUE(absl::IsAborted(
        client_.Replace(kKeys, "three", second->mod_revision, other).status()));
    EXPECT_TRUE(absl::IsAborted(client_.Renew(kKeys, "1", other).status()));
  }
  Lead(&client_, "b");
  EXPECT_TRUE(absl::IsAborted(
      client_.Replace(kKeys, "three", second->mod_revision, term).status()));
  EXPECT_EQ(client_.Look(kKeys)->view.value, "two");
}

TEST_F(EtcdClientTest, AnUnreachableEndpointIsSkipped) {
  EtcdClient client({absl::StrCat("127.0.0.1:", FreePort()), etcd_.endpoint()},
                    kDeadlines);
  const Etcd::Leadership term = Lead(&client);
  // It stays with the endpoint that answered.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.Renew(kKeys, "1", term).status(), absl::OkStatus());
  }
}

TEST_F(EtcdClientTest, ACallTimesOutWhenEtcdHangs) {
  const Etcd::Leadership term = Lead(&client_);
  EtcdClient hasty({etcd_.endpoint()},
                   {absl::Milliseconds(200), absl::Milliseconds(200)});
  ASSERT_EQ(hasty.Renew(kKeys, "1", term).status(), absl::OkStatus());
  etcd_.Signal(SIGSTOP);
  // Without its own deadline neither call would end.
  EXPECT_TRUE(absl::IsDeadlineExceeded(hasty.Renew(kKeys, "2", term).status()));
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(hasty.Replace(kKeys, "x", 0, term).status()));
  etcd_.Signal(SIGCONT);
  EXPECT_EQ(client_.Renew(kKeys, "3", term).status(), absl::OkStatus());
}

TEST_F(EtcdClientTest, AViewSurvivesARestartOfEtcd) {
  const Etcd::Leadership term = Lead(&client_);
  auto stored = client_.Replace(kKeys, "one", 0, term);
  ASSERT_EQ(stored.status(), absl::OkStatus());
  etcd_.Restart();
  // The leadership as well.
  EXPECT_EQ(Await([&] { return client_.Renew(kKeys, "1", term); }).status(),
            absl::OkStatus());
  auto next = client_.Replace(kKeys, "two", stored->mod_revision, term);
  ASSERT_EQ(next.status(), absl::OkStatus());
  EXPECT_EQ(next->value, "two");
}

TEST_F(EtcdClientTest, CompactionMayBeRepeated) {
  const Etcd::Leadership term = Lead(&client_);
  const auto renewed = client_.Renew(kKeys, "1", term);
  ASSERT_EQ(renewed.status(), absl::OkStatus());
  const int64_t revision = renewed->renewal.mod_revision;
  EXPECT_EQ(client_.Compact(revision), absl::OkStatus());
  EXPECT_EQ(client_.Compact(revision), absl::OkStatus());
  EXPECT_EQ(client_.Compact(revision - 1), absl::OkStatus());
  EXPECT_EQ(client_.Renew(kKeys, "2", term).status(), absl::OkStatus());
}

// Records the deadlines of calls, and answers that they have passed.
class SlowEtcd final : public etcdserverpb::KV::Service {
 public:
  SlowEtcd() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  std::string endpoint() const { return absl::StrCat("127.0.0.1:", port_); }
  absl::Duration last_deadline() const {
    absl::MutexLock lock(&mutex_);
    return last_deadline_;
  }
  void Answer() { answers_ = true; }

 private:
  grpc::Status Txn(grpc::ServerContext* context,
                   const etcdserverpb::TxnRequest*,
                   etcdserverpb::TxnResponse*) override {
    absl::MutexLock lock(&mutex_);
    last_deadline_ = absl::FromChrono(context->deadline()) - absl::Now();
    if (answers_) return grpc::Status::OK;
    return grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "late");
  }

  mutable absl::Mutex mutex_;
  absl::Duration last_deadline_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> answers_{false};
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(SlowEtcdTest, DeadlinesGrowUntilEtcdAnswers) {
  SlowEtcd etcd;
  const absl::Duration first = Patience(absl::Seconds(10));
  EtcdClient client({etcd.endpoint()}, {first, 3 * first});
  // In units of the first deadline. gRPC rounds a deadline up; the way to the
  // server takes some of it.
  const auto look = [&] {
    client.Look(kKeys).status().IgnoreError();
    return absl::FDivDuration(etcd.last_deadline(), first);
  };
  for (const double deadline : {1, 2, 3, 3}) {
    EXPECT_NEAR(look(), deadline, 0.5);
  }
  etcd.Answer();
  look();
  EXPECT_NEAR(look(), 1, 0.5);
}

// Otherwise a hanging endpoint would delay the calls to the next one.
TEST(SlowEtcdTest, DeadlinesDoNotGrowWithoutAConnection) {
  SlowEtcd etcd;
  const absl::Duration first = Patience(absl::Milliseconds(200));
  const SilentPort silent;
  EtcdClient client({silent.address(), etcd.endpoint()}, {first, 10 * first});
  EXPECT_FALSE(client.Look(kKeys).ok());
  EXPECT_FALSE(client.Look(kKeys).ok());
  EXPECT_GT(etcd.last_deadline(), absl::ZeroDuration());
  EXPECT_LE(etcd.last_deadline(), first);
}

// etcd 3.4 lets keep-alives of leases pass then, but no transaction that may
// write; looks and compaction pass.
TEST(FullEtcdTest, RefusesRenewalsUntilItHasSpaceAgain) {
  const std::string folder = NewFolder();
  EtcdProcess etcd(folder, {"--quota-backend-bytes=1048576"});
  EtcdClient client({etcd.endpoint()}, kDeadlines);
  ASSERT_TRUE(Await([&] { return client.Look(kKeys); }).ok());
  auto election = client.Campaign(kKeys, "a", "0", 0, 0);
  ASSERT_EQ(election.status(), absl::OkStatus());
  const int64_t revision = election->stored.leader.mod_revision;
  const Etcd::Leadership term = {"a", revision};
  absl::Status filled;
  int64_t last = 0;
  for (int i = 0; i < 1000 && filled.ok(); ++i) {
    const auto put = client.Replace(kKeys, std::string(10000, 'x'), last, term);
    filled = put.status();
    if (put.ok()) last = put->mod_revision;
  }
  for (const absl::Status& refused :
       {filled, client.Renew(kKeys, "1", term).status(),
        client.Campaign(kKeys, "b", "0", revision, revision).status()}) {
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  }
  EXPECT_EQ(client.Look(kKeys).status(), absl::OkStatus());
  EXPECT_EQ(client.Compact(last - 1), absl::OkStatus());
  EXPECT_TRUE(
      absl::IsResourceExhausted(client.Renew(kKeys, "1", term).status()));
  Relieve(etcd.endpoint(), last);
  EXPECT_EQ(client.Renew(kKeys, "2", term).status(), absl::OkStatus());
}

}  // namespace
}  // namespace kamino::membership
