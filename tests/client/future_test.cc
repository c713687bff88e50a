// Concurrent calls, against a service that answers no read until a number of
// them have come.
#include "client/future.h"

#include <coroutine>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "client/client.h"
#include "client/transaction.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/credentials.h"
#include "tests/patience.h"

namespace kamino::client {
namespace {

using kamino::v1::GetRequest;
using kamino::v1::GetResponse;

const absl::Duration kTimeout = Patience(absl::Seconds(10));

// Head and tail at once; each value is its key.
class Service final : public kamino::v1::KaminoService::Service {
 public:
  grpc::Status GetChain(grpc::ServerContext*,
                        const kamino::v1::GetChainRequest*,
                        kamino::v1::GetChainResponse* response) override {
    absl::MutexLock lock(&mutex_);
    *response->mutable_chain() = chain_;
    return grpc::Status::OK;
  }

  grpc::Status Get(grpc::ServerContext*, const GetRequest* request,
                   GetResponse* response) override {
    absl::MutexLock lock(&mutex_);
    ++asked_;
    const auto all_there = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return asked_ >= together_;
    };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&all_there), kTimeout)) {
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "alone");
    }
    response->set_value(request->key());
    response->set_version(1);
    return grpc::Status::OK;
  }

  grpc::Status Commit(grpc::ServerContext*,
                      const kamino::v1::CommitRequest* request,
                      kamino::v1::CommitResponse* response) override {
    absl::MutexLock lock(&mutex_);
    committed_ = *request;
    response->set_succeeded(true);
    return grpc::Status::OK;
  }

  void Begin(const std::string& address) {
    absl::MutexLock lock(&mutex_);
    chain_.set_view_id(1);
    chain_.set_chain_id(1);
    auto* const node = chain_.add_nodes();
    node->set_node_id("n1");
    node->set_address(address);
  }
  // Reads are answered once that many have come.
  void Hold(int together) {
    absl::MutexLock lock(&mutex_);
    together_ = together;
    asked_ = 0;
  }
  int asked() {
    absl::MutexLock lock(&mutex_);
    return asked_;
  }
  kamino::v1::CommitRequest committed() {
    absl::MutexLock lock(&mutex_);
    return committed_;
  }

 private:
  absl::Mutex mutex_;
  kamino::v1::Chain chain_ ABSL_GUARDED_BY(mutex_);
  int together_ ABSL_GUARDED_BY(mutex_) = 0;
  int asked_ ABSL_GUARDED_BY(mutex_) = 0;
  kamino::v1::CommitRequest committed_ ABSL_GUARDED_BY(mutex_);
};

class FutureTest : public ::testing::Test {
 protected:
  FutureTest() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
    service_.Begin(address_);
    Connect(/*max_outstanding=*/64);
  }
  ~FutureTest() override {
    service_.Hold(0);
    client_.reset();
    server_->Shutdown();
  }

  void Connect(int max_outstanding) {
    ClientOptions options;
    options.seeds = {address_};
    options.timeout = kTimeout;
    options.max_outstanding = max_outstanding;
    options.carrier = "unary";
    client_ = *Client::Connect(options);
  }

  Future<GetResponse> StartGet(const std::string& key) {
    GetRequest request;
    request.set_key(key);
    return Start(*client_, &Client::GetAsync, std::move(request));
  }

  Service service_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(FutureTest, FuturesRunConcurrently) {
  service_.Hold(3);
  std::vector<Future<GetResponse>> futures;
  for (const char* key : {"a", "b", "c"}) futures.push_back(StartGet(key));
  std::string values;
  for (auto& future : futures) {
    auto got = std::move(future).Get();
    ASSERT_TRUE(got.ok()) << got.status();
    values += got->value();
  }
  EXPECT_EQ(values, "abc");
}

TEST_F(FutureTest, ADroppedFutureIsStillExecuted) {
  service_.Hold(2);
  { auto dropped = StartGet("a"); }
  EXPECT_TRUE(StartGet("b").Get().ok());
  EXPECT_EQ(service_.asked(), 2);
}

TEST_F(FutureTest, ARefusedRequestIsReadyAtOnce) {
  auto refused = StartGet("");
  EXPECT_TRUE(refused.ready());
  EXPECT_TRUE(absl::IsInvalidArgument(std::move(refused).Get().status()));
}

// A coroutine that no caller awaits.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::abort(); }
  };
};

Detached Join(Future<GetResponse> a, Future<GetResponse> b, std::string* values,
              absl::Notification* done) {
  const auto first = co_await std::move(a);
  const auto second = co_await std::move(b);
  *values = absl::StrCat(first.ok() ? first->value() : "?",
                         second.ok() ? second->value() : "?");
  done->Notify();
}

TEST_F(FutureTest, ACoroutineAwaitsFutures) {
  service_.Hold(2);
  std::string values;
  absl::Notification done;
  Join(StartGet("a"), StartGet("b"), &values, &done);
  done.WaitForNotification();
  EXPECT_EQ(values, "ab");
  // A ready future does not suspend the coroutine.
  auto ready = StartGet("");
  absl::Notification again;
  Join(std::move(ready), StartGet(""), &values, &again);
  EXPECT_TRUE(again.HasBeenNotified());
  EXPECT_EQ(values, "??");
}

TEST_F(FutureTest, ATransactionReadsExpectedKeysConcurrently) {
  service_.Hold(3);
  const absl::Status done =
      client_->RunTransaction([](Transaction& transaction) {
        transaction.Expect({"a", "b", "c", "a"});
        for (const char* key : {"c", "a"}) {
          auto value = transaction.Get(key);
          if (!value.ok()) return value.status();
          EXPECT_EQ(**value, key);
        }
        transaction.Expect({"a"});  // which it has read
        return absl::OkStatus();
      });
  ASSERT_TRUE(done.ok()) << done;
  EXPECT_EQ(service_.asked(), 3);
  // Keys that the body has not read are no preconditions.
  ASSERT_EQ(service_.committed().preconditions_size(), 2);
  EXPECT_EQ(service_.committed().preconditions(0).key(), "a");
  EXPECT_EQ(service_.committed().preconditions(1).key(), "c");
}

TEST_F(FutureTest, ATransactionMayExpectMoreThanTheLimit) {
  Connect(/*max_outstanding=*/1);
  service_.Hold(2);  // the second of them can only come by a Get
  const absl::Status done =
      client_->RunTransaction([](Transaction& transaction) {
        transaction.Expect({"a", "b", "c"});
        for (const char* key : {"a", "b", "c"}) {
          auto value = transaction.Get(key);
          if (!value.ok()) return value.status();
        }
        return absl::OkStatus();
      });
  EXPECT_TRUE(done.ok()) << done;
}

}  // namespace
}  // namespace kamino::client
