#include "rpc/pending_calls.h"

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "gtest/gtest.h"
#include "tests/patience.h"

namespace kamino::rpc {
namespace {

// Calls that a test ends itself.
using Calls = PendingCalls<std::string, std::string>;
using Finish = std::function<void(grpc::Status)>;

TEST(PendingCallsTest, StopWaitsForCallsInFlight) {
  Calls calls;
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> by_the_call = held;
  Finish finish;
  std::string answered;
  EXPECT_TRUE(calls.none());
  ASSERT_TRUE(calls.Start(
      Patience(absl::Seconds(20)), "question",
      [&finish](auto*, const std::string* request, std::string* response,
                Finish done) {
        *response = "answer to " + *request;
        finish = std::move(done);
      },
      [&answered, held = std::move(held)](const grpc::Status& status,
                                          const Calls::Call& call) {
        EXPECT_TRUE(status.ok());
        EXPECT_NE(call.context, nullptr);
        answered = call.response;
      }));
  EXPECT_FALSE(calls.none());
  std::thread grpc([finish = std::move(finish)] { finish(grpc::Status::OK); });
  calls.Stop();
  EXPECT_EQ(answered, "answer to question");
  EXPECT_TRUE(by_the_call.expired());
  EXPECT_TRUE(calls.none());
  grpc.join();
}

TEST(PendingCallsTest, NoCallStartsAfterStop) {
  Calls calls;
  calls.Stop();
  EXPECT_FALSE(calls.Start(
      Patience(absl::Seconds(20)), "question",
      [](auto*, const std::string*, std::string*, Finish) { FAIL(); },
      [](const grpc::Status&, const Calls::Call&) { FAIL(); }));
}

}  // namespace
}  // namespace kamino::rpc
