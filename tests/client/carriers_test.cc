// The library and a whole node, by each carrier.
#include "client/session/carriers.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/clock.h"
#include "client/client.h"
#include "client/error.h"
#include "client/session/connection.h"
#include "client/transaction.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/node/rpc/node_server_fixture.h"

namespace kamino::client {
namespace {

class CarriersTest : public node::NodeServerTest,
                     public ::testing::WithParamInterface<const char*> {
 protected:
  CarriersTest() { views_.Install(1); }

  std::unique_ptr<Client> Connect() {
    ClientOptions options;
    options.seeds = {absl::StrCat("127.0.0.1:", server_->port())};
    options.carrier = GetParam();
    options.rdma_devices = fabric_;
    auto client = Client::Connect(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  // Puts value i under key i, many at a time, and waits for all.
  static void PutAll(Client* client, int count,
                     int outstanding = kOutstanding) {
    absl::Mutex mutex;
    int done = 0;
    std::vector<absl::Status> failures;
    for (int begin = 0; begin < count; begin += outstanding) {
      const int end = std::min(begin + outstanding, count);
      for (int i = begin; i < end; ++i) {
        kamino::v1::PutRequest put;
        put.set_key(absl::StrCat("key", i));
        put.set_value(absl::StrCat("value", i));
        client->PutAsync(
            put, [&](const absl::StatusOr<kamino::v1::PutResponse>& response) {
              absl::MutexLock lock(&mutex);
              if (!response.ok()) failures.push_back(response.status());
              ++done;
            });
      }
      absl::MutexLock lock(&mutex);
      const auto all = [&] { return done == end; };
      mutex.Await(absl::Condition(&all));
    }
    EXPECT_THAT(failures, ::testing::IsEmpty());
  }

  // The same, until it uses its session, if it opens one.
  void PutAllBySession(Client* client, int count) {
    do {
      PutAll(client, count);
    } while (OpensSession() && client->session() == 0);
  }

  void ExpectAll(Client* client, int count) {
    for (int i = 0; i < count; ++i) {
      const auto got = client->Get(absl::StrCat("key", i));
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(got->value(), absl::StrCat("value", i));
      EXPECT_EQ(got->header().served_by(), "n1");
    }
  }

  // How often this process has refused to name its chain.
  uint64_t QuestionsRefused() {
    const auto status = Status();
    for (const auto& method : status.calls_served()) {
      if (method.method() == "/kamino.v1.KaminoService/GetChain") {
        return method.failed();
      }
    }
    return 0;
  }

  bool OpensSession() const { return GetParam() != std::string("unary"); }

  static constexpr int kOutstanding = 50;
};

TEST_P(CarriersTest, CallsUseTheCarrier) {
  auto client = Connect();
  PutAllBySession(client.get(), 400);
  ExpectAll(client.get(), 400);
  EXPECT_EQ(Status().admission().sessions(), OpensSession() ? 1 : 0);
  EXPECT_EQ(client->retries(), 0);
  EXPECT_EQ(fabric_->counts().sends > 0, GetParam() == std::string("verbs"));
  client.reset();
  EXPECT_EQ(Status().admission().sessions(), 0);
  EXPECT_EQ(fabric_->counts().waits, 0);
}

// The others wait for room, and use no other connection.
TEST_P(CarriersTest, CallsBeyondTheWindowWaitForTheSession) {
  if (!OpensSession()) GTEST_SKIP() << "it has none";
  ClientOptions options;
  options.seeds = {absl::StrCat("127.0.0.1:", server_->port())};
  options.carrier = GetParam();
  options.rdma_devices = fabric_;
  options.max_outstanding = 3000;
  auto client = *Client::Connect(options);
  PutAllBySession(client.get(), 10);
  const uint64_t alone = Status().admission().clients();
  PutAll(client.get(), 3000, /*outstanding=*/3000);
  EXPECT_EQ(Status().admission().clients(), alone);
  ExpectAll(client.get(), 3000);
}

TEST_P(CarriersTest, TheClientSurvivesTheLossOfItsDevice) {
  auto client = Connect();
  PutAllBySession(client.get(), 100);
  EXPECT_EQ(fabric_->counts().sends > 0, GetParam() == std::string("verbs"));
  fabric_->Unplug("fake0");
  PutAll(client.get(), 200);
  ExpectAll(client.get(), 200);
}

TEST_P(CarriersTest, ErrorsAreThoseOfUnaryCalls) {
  auto client = Connect();
  PutAll(client.get(), 100);
  ExpectAll(client.get(), 50);
  EXPECT_EQ(ReasonOf(client->Get("none").status()),
            kamino::v1::REASON_KEY_NOT_FOUND);
  EXPECT_EQ(ReasonOf(client->Delete("none").status()),
            kamino::v1::REASON_KEY_NOT_FOUND);
  EXPECT_EQ(ReasonOf(client->Call("none", "").status()),
            kamino::v1::REASON_UNKNOWN_PROCEDURE);
  EXPECT_EQ(ReasonOf(client->Call("kv.put", "").status()),
            kamino::v1::REASON_UNKNOWN_PROCEDURE);
  kamino::v1::CommitRequest commit;
  commit.add_preconditions()->set_key("key1");
  commit.mutable_preconditions(0)->set_exists(false);
  commit.set_fail_on_conflict(true);
  EXPECT_EQ(ReasonOf(client->Commit(commit).status()),
            kamino::v1::REASON_CONFLICT);
}

TEST_P(CarriersTest, LargeValuesAndTransactions) {
  auto client = Connect();
  PutAll(client.get(), 100);
  const std::string large(1 << 20, 'x');
  ASSERT_TRUE(client->Put("large", large).ok());
  EXPECT_EQ(client->Get("large")->value(), large);
  const absl::Status done =
      client->RunTransaction([](Transaction& transaction) -> absl::Status {
        auto value = transaction.Get("key7");
        if (!value.ok()) return value.status();
        transaction.Put("copy", value->value_or(""));
        return absl::OkStatus();
      });
  EXPECT_TRUE(done.ok()) << done;
  const auto got = client->BatchGet({"copy", "none"});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->results(0).value(), "value7");
  EXPECT_FALSE(got->results(1).found());
}

TEST_P(CarriersTest, AnotherCarrierReplacesABrokenOne) {
  auto client = Connect();
  PutAllBySession(client.get(), 100);
  ExpectAll(client.get(), 50);
  session_links_.reset();
  PutAll(client.get(), 200);
  ExpectAll(client.get(), 200);
}

TEST_P(CarriersTest, ANewSessionReplacesAnExpiredOne) {
  if (!OpensSession()) GTEST_SKIP() << "it has none";
  auto client = Connect();
  PutAllBySession(client.get(), 100);
  // The head does so with a silent session.
  const uint64_t expired = client->session();
  ASSERT_NE(expired, 0);
  absl::Notification closed;
  node_->Run([&, id = expired](node::ChainNode& node) {
    node.head().CloseSession(id, node_->Now(),
                             [&closed](const absl::Status& status) {
                               EXPECT_TRUE(status.ok()) << status;
                               closed.Notify();
                             });
  });
  closed.WaitForNotification();
  PutAll(client.get(), 200);
  ExpectAll(client.get(), 200);
  EXPECT_NE(client->session(), expired);
}

// By any carrier.
TEST_P(CarriersTest, AHelloForAnotherClusterIsRefused) {
  if (!OpensSession()) GTEST_SKIP() << "it has none";
  views_.cluster_uuid_ = std::string(16, 'u');
  views_.Install(2);
  Status();  // the core thread has the view by then
  Carriers carriers(GetParam(), fabric_);
  const std::shared_ptr<kamino::v1::SessionService::Stub> stub =
      kamino::v1::SessionService::NewStub(channel_);
  grpc::ClientContext context;
  kamino::v1::GetCarriersResponse offered;
  ASSERT_TRUE(stub->GetCarriers(&context, {}, &offered).ok());
  const std::vector<WireMaker> ways = carriers.Ways(offered, stub);
  ASSERT_FALSE(ways.empty());
  kamino::v1::SessionHello hello;
  hello.set_min_version(1);
  hello.set_max_version(1);
  for (const WireMaker& way : ways) {
    for (const char digit : {'7', '8'}) {  // of uuids; of ours all are 75
      hello.set_cluster_uuid("");
      for (int i = 0; i < 16; ++i) {
        hello.mutable_cluster_uuid()->append({digit, '5'});
      }
      absl::Notification told;
      absl::StatusOr<kamino::v1::SessionWelcome> answer;
      const auto connection = Connection::Open(hello, way, MonotonicNow,
                                               [&](const auto&, auto welcome) {
                                                 answer = std::move(welcome);
                                                 told.Notify();
                                               });
      told.WaitForNotification();
      if (digit == '7') {
        ASSERT_TRUE(answer.ok()) << answer.status();
        EXPECT_EQ(answer->cluster_uuid(), hello.cluster_uuid());
      } else {
        EXPECT_EQ(ReasonOf(answer.status()), kamino::v1::REASON_OTHER_CLUSTER)
            << answer.status();
      }
      connection->Close();
      connection->AwaitEnd();
    }
  }
}

// Until it is the client's cluster again: the client uses no other node, and
// that one executes no call.
TEST_P(CarriersTest, ANodeOfAnotherClusterExecutesNothing) {
  views_.cluster_uuid_ = std::string(16, 'u');
  views_.Install(2);
  Status();
  auto client = Connect();
  views_.cluster_uuid_ = std::string(16, 'v');
  views_.Install(3);
  const uint64_t before = Status().applied();
  kamino::v1::PutRequest put;
  put.set_key("key");
  absl::Notification done;
  client->PutAsync(put, [&done](const auto& response) {
    EXPECT_TRUE(response.ok()) << response.status();
    done.Notify();
  });
  const uint64_t refused = QuestionsRefused();
  while (QuestionsRefused() < refused + 3 && !done.HasBeenNotified()) {
    EXPECT_EQ(Status().applied(), before);
  }
  EXPECT_FALSE(done.HasBeenNotified());
  views_.cluster_uuid_ = std::string(16, 'u');
  views_.Install(4);
  done.WaitForNotification();
  EXPECT_EQ(Status().applied(), before + 1);
}

INSTANTIATE_TEST_SUITE_P(All, CarriersTest,
                         ::testing::Values("", "shm", "verbs", "tcp", "grpc",
                                           "unary"),
                         [](const auto& test) {
                           const std::string name = test.param;
                           return name.empty() ? "any" : name;
                         });

using CarrierOffersTest = node::NodeServerTest;

TEST_F(CarrierOffersTest, AreListedBestFirst) {
  grpc::ClientContext context;
  kamino::v1::GetCarriersResponse response;
  auto stub = kamino::v1::SessionService::NewStub(channel_);
  ASSERT_TRUE(stub->GetCarriers(&context, {}, &response).ok());
  std::vector<std::string> kinds;
  for (const auto& carrier : response.carriers()) {
    kinds.push_back(carrier.transport());
  }
  EXPECT_THAT(kinds, ::testing::ElementsAre("shm", "verbs", "tcp"));
}

// A peer's words are checked before they are used.
TEST_F(CarrierOffersTest, AnInvalidPairIsRefused) {
  auto stub = kamino::v1::SessionService::NewStub(channel_);
  kamino::v1::ConnectPairRequest request;
  kamino::v1::ConnectPairResponse response;
  for (int round = 0; round < 2; ++round) {
    grpc::ClientContext context;
    EXPECT_EQ(stub->ConnectPair(&context, request, &response).error_code(),
              grpc::StatusCode::FAILED_PRECONDITION);
    request.set_end(std::string(96, 'e'));
  }
  request.set_chain_id(77);
  grpc::ClientContext context;
  EXPECT_FALSE(stub->ConnectPair(&context, request, &response).ok());
  EXPECT_EQ(fabric_->counts().pairs, 0);
}

TEST(CarrierNamesTest, UnknownNamesAreRefused) {
  ClientOptions options;
  options.seeds = {"127.0.0.1:1"};
  options.carrier = "pigeon";
  EXPECT_THAT(Client::Connect(options).status().message(),
              ::testing::AllOf(::testing::HasSubstr("no carrier \"pigeon\""),
                               ::testing::HasSubstr("unary")));
}

}  // namespace
}  // namespace kamino::client
