// Calls that were slow, and by what logs and errors know them; of the library,
// too.
#include <string>

#include "client/client.h"
#include "client/error.h"
#include "client/trace_scope.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/logs/captured_lines.h"
#include "tests/node/rpc/node_server_fixture.h"

namespace kamino::node {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kTrace[] =
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class SlowCallsTest : public NodeServerTest {
 protected:
  SlowCallsTest() {
    views_.Install(1);
    EXPECT_TRUE(Put("there", "1", 1).ok());
    TellAll();
  }

  // Whatever takes any time.
  void TellAll() { node_->meters().TellSlowerThan(absl::Nanoseconds(1)); }
  void TellNone() { node_->meters().TellSlowerThan(absl::ZeroDuration()); }

  // The last one that was told of.
  logs::CapturedLines::Line Told() {
    absl::Notification done;  // that of a session is told behind its answer
    EXPECT_TRUE(node_->Run([&done](ChainNode&) { done.Notify(); }));
    done.WaitForNotification();
    const auto slow = lines_.With("slow operation: ");
    return slow.empty() ? logs::CapturedLines::Line() : slow.back();
  }

  logs::CapturedLines lines_;
};

TEST_F(SlowCallsTest, AMutationSaysWhereItsTimeWent) {
  EXPECT_TRUE(Put("a", "secret", 2).ok());
  const auto line = Told();
  EXPECT_EQ(line.request, "7/2");
  EXPECT_EQ(line.traceparent, "");
  EXPECT_THAT(line.message, HasSubstr("method=put took_ms="));
  EXPECT_THAT(line.message, HasSubstr(" from=ipv4:127.0.0.1:"));
  EXPECT_THAT(line.message, HasSubstr(" keys=1 request_bytes="));
  for (const char* stage :
       {"core", "admit", "lock", "execute", "persist", "complete", "answer"}) {
    EXPECT_THAT(line.message, HasSubstr(std::string(" ") + stage + "_ms="));
  }
  EXPECT_THAT(line.message, Not(HasSubstr("secret")));
}

TEST_F(SlowCallsTest, ACallIsNamedByItsCaller) {
  kamino::v1::GetRequest request;
  kamino::v1::GetResponse response;
  request.set_key("absent");
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTrace);
  context.AddMetadata("x-request-id", "order-17");
  const grpc::Status status = stub_->Get(&context, request, &response);
  EXPECT_EQ(DetailOf(status).request(), "order-17");
  const auto line = Told();
  EXPECT_EQ(line.request, "order-17");
  EXPECT_EQ(line.traceparent, kTrace);
  EXPECT_THAT(line.message, HasSubstr("method=get "));
  EXPECT_THAT(line.message, HasSubstr(" code=NOT_FOUND "));
  EXPECT_THAT(line.message, HasSubstr(" keys=1 "));
  EXPECT_THAT(line.message, HasSubstr(" core_ms="));
}

TEST_F(SlowCallsTest, InvalidNamesAreLeftOut) {
  kamino::v1::GetRequest request;
  kamino::v1::GetResponse response;
  request.set_key("there");
  grpc::ClientContext context;
  context.AddMetadata("traceparent", "x");
  context.AddMetadata("x-request-id", "a b");
  EXPECT_TRUE(stub_->Get(&context, request, &response).ok());
  EXPECT_THAT(Told().message, HasSubstr("method=get "));
  EXPECT_EQ(Told().request, "");
  EXPECT_EQ(Told().traceparent, "");
}

TEST_F(SlowCallsTest, EachPartOfAScanIsARead) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTrace);
  kamino::v1::ScanResponse part;
  auto scan = stub_->Scan(&context, kamino::v1::ScanRequest());
  while (scan->Read(&part)) {
  }
  EXPECT_TRUE(scan->Finish().ok());
  const auto line = Told();
  EXPECT_EQ(line.traceparent, kTrace);
  EXPECT_THAT(line.message, HasSubstr("method=scan "));
  EXPECT_THAT(line.message, HasSubstr(" core_ms="));
}

TEST_F(SlowCallsTest, AnErrorNamesItsRequest) {
  kamino::v1::DeleteRequest request;
  request.mutable_request_id()->set_client_id(7);
  request.mutable_request_id()->set_number(2);
  request.set_key("absent");
  kamino::v1::DeleteResponse response;
  EXPECT_EQ(DetailOf(Send(&Stub::Delete, request, &response)).request(), "7/2");
}

TEST_F(SlowCallsTest, TheLibrarySendsTheTraceOfItsThread) {
  TellNone();  // some a second are told
  client::ClientOptions options;
  options.seeds = {absl::StrCat("127.0.0.1:", server_->port())};
  options.carrier = "tcp";
  const auto client = client::Client::Connect(options);
  ASSERT_TRUE(client.ok()) << client.status();
  TellAll();
  {
    const client::TraceScope scope(kTrace);
    ASSERT_TRUE((*client)->Put("a", "1").ok());
    EXPECT_EQ(Told().traceparent, kTrace);
    EXPECT_THAT(Told().message, HasSubstr(" from=ipv4:"));
    {
      const client::TraceScope none("no trace");
      ASSERT_TRUE((*client)->Get("a").ok());
      EXPECT_EQ(Told().traceparent, "");
    }
    const auto visit = [](const auto&, const auto&) { return true; };
    ASSERT_TRUE((*client)->Scan({}, visit).ok());
    EXPECT_THAT(Told().message, HasSubstr("method=scan "));
    EXPECT_EQ(Told().traceparent, kTrace);
  }
  // The client uses a session once it has one.
  TellNone();
  while ((*client)->session() == 0) {
    ASSERT_TRUE((*client)->Put("a", "1").ok());
  }
  TellAll();
  {
    const client::TraceScope scope(kTrace);
    ASSERT_TRUE((*client)->Put("a", "2").ok());
  }
  const auto line = Told();
  EXPECT_THAT(line.request,
              StartsWith(absl::StrCat((*client)->session(), "/")));
  EXPECT_EQ(line.traceparent, kTrace);
  // The details of an error name the request, too.
  const auto absent = (*client)->Delete("absent");
  EXPECT_THAT(client::DetailOf(absent.status()).request(),
              StartsWith(absl::StrCat((*client)->session(), "/")));
}

}  // namespace
}  // namespace kamino::node
