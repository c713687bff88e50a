// Requests of sessions that were slow, and by what logs and errors know them.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/logs/captured_lines.h"
#include "tests/node/session/session_protocol_fixture.h"

namespace kamino::node {
namespace {

using session::Method;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTrace[] =
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class SlowRequestsTest : public SessionProtocolTest {
 protected:
  SlowRequestsTest() {
    EXPECT_TRUE(OpenSession(77).takes_traces());
    // Whatever takes any time.
    node_->meters().TellSlowerThan(absl::Nanoseconds(1));
  }

  // A TRACE, and what it is about, in one frame.
  Response AskTraced(const std::string& trace, Method method, uint64_t number,
                     const std::string& body) {
    session::Request traced;
    traced.tag = ++tag_;
    traced.method = Method::kTrace;
    traced.body = trace;
    session::Request request;
    request.tag = tag_;
    request.method = method;
    request.number = number;
    request.body = body;
    SendFrame(Requests({traced, request}));
    Response response = Await();
    EXPECT_EQ(response.tag, tag_);
    return response;
  }
  // The last one that was told of.
  logs::CapturedLines::Line Told() {
    OnCore([] {});  // it is told behind its answer
    const auto slow = lines_.With("slow operation: ");
    return slow.empty() ? logs::CapturedLines::Line() : slow.back();
  }

  logs::CapturedLines lines_;
};

TEST_F(SlowRequestsTest, AMutationSaysWhereItsTimeWent) {
  EXPECT_EQ(AskTraced(kTrace, Method::kPut, 1, PutBody("a", "secret")).code, 0);
  const auto line = Told();
  EXPECT_EQ(line.request, "77/1");
  EXPECT_EQ(line.traceparent, kTrace);
  EXPECT_THAT(line.message, HasSubstr("method=put took_ms="));
  EXPECT_THAT(line.message, HasSubstr(" code=OK from=test keys=1 "
                                      "request_bytes=11 answer_bytes=0"));
  for (const char* stage :
       {"admit", "lock", "execute", "persist", "complete", "answer"}) {
    EXPECT_THAT(line.message, HasSubstr(std::string(" ") + stage + "_ms="));
  }
  EXPECT_THAT(line.message, HasSubstr(" together=1 "));
  EXPECT_THAT(line.message, Not(HasSubstr("secret")));
}

TEST_F(SlowRequestsTest, ACommitSaysHowManyKeysItNames) {
  kamino::v1::CommitRequest commit;
  commit.add_preconditions()->set_key("a");
  commit.mutable_preconditions(0)->set_exists(false);
  commit.add_then_operations()->mutable_put()->set_key("b");
  commit.add_else_operations()->mutable_put()->set_key("c");
  EXPECT_EQ(Ask(Method::kCommit, 1, commit.SerializeAsString()).code, 0);
  EXPECT_THAT(Told().message, HasSubstr(" keys=3 "));
}

TEST_F(SlowRequestsTest, AReadHasNoNumber) {
  kamino::v1::BatchGetRequest batch;
  batch.add_keys("a");
  batch.add_keys("b");
  EXPECT_EQ(
      AskTraced(kTrace, Method::kBatchGet, 0, batch.SerializeAsString()).code,
      0);
  const auto line = Told();
  EXPECT_EQ(line.request, "");
  EXPECT_EQ(line.traceparent, kTrace);
  EXPECT_THAT(line.message, HasSubstr("method=batch_get"));
  EXPECT_THAT(line.message, HasSubstr(" keys=2 "));
}

TEST_F(SlowRequestsTest, ATraceCoversOneRequest) {
  AskTraced(kTrace, Method::kPut, 1, PutBody("a", "1"));
  EXPECT_EQ(Told().traceparent, kTrace);
  Put(2, "a", "2");
  EXPECT_EQ(Told().traceparent, "");
  EXPECT_EQ(AskTraced("none", Method::kPut, 3, PutBody("a", "3")).code, 0);
  EXPECT_EQ(Told().request, "77/3");
  EXPECT_EQ(Told().traceparent, "");
}

TEST_F(SlowRequestsTest, NothingIsLoggedWithoutAThreshold) {
  node_->meters().TellSlowerThan(absl::ZeroDuration());
  Put(1, "a", "1");
  EXPECT_EQ(Told().message, "");
}

TEST_F(SlowRequestsTest, AnErrorNamesItsRequest) {
  kamino::v1::DeleteRequest absent;
  absent.set_key("absent");
  const Response response = Ask(Method::kDelete, 1, absent.SerializeAsString());
  google::rpc::Status status;
  ASSERT_TRUE(status.ParseFromString(response.body));
  kamino::v1::ErrorDetail detail;
  ASSERT_TRUE(status.details(0).UnpackTo(&detail));
  EXPECT_EQ(detail.request(), "77/1");
}

}  // namespace
}  // namespace kamino::node
