#include "rpc/status.h"

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"
#include "rpc/detail.h"
#include "rpc/redirect.h"

namespace kamino::rpc {
namespace {

using google::rpc::RetryInfo;
using kamino::v1::ErrorDetail;

TEST(StatusTest, CodesAndMessagesRoundTrip) {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code),
                              code == 0 ? "" : "why");
    const grpc::Status carried = ToGrpc(status);
    EXPECT_EQ(static_cast<int>(carried.error_code()), code);
    EXPECT_EQ(carried.error_details(), "");
    EXPECT_EQ(FromGrpc(carried), status);
  }
}

TEST(StatusTest, DetailsRoundTripWithErrorDetailFirst) {
  absl::Status status = absl::UnavailableError("why");
  ErrorDetail detail;
  detail.set_reason(kamino::v1::REASON_RECONFIGURING);
  RetryInfo retry;
  retry.mutable_retry_delay()->set_nanos(5);
  SetDetail(retry, &status);
  SetDetail(detail, &status);
  const grpc::Status carried = ToGrpc(status);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(carried.error_details()));
  EXPECT_EQ(details.code(), 14);
  EXPECT_EQ(details.message(), "why");
  ASSERT_EQ(details.details_size(), 2);
  EXPECT_TRUE(details.details(0).Is<ErrorDetail>());
  EXPECT_TRUE(details.details(1).Is<RetryInfo>());
  const absl::Status back = FromGrpc(carried);
  EXPECT_EQ(back, status);
  EXPECT_EQ(DetailIn<ErrorDetail>(back)->reason(), detail.reason());
  EXPECT_EQ(DetailIn<RetryInfo>(back)->retry_delay().nanos(), 5);
}

TEST(StatusTest, AnErrorWithoutAMessageGetsOne) {
  EXPECT_EQ(FromGrpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, "")),
            absl::UnavailableError("ended as UNAVAILABLE"));
}

TEST(StatusTest, ConnectionErrorsAreReadable) {
  const auto said = [](const char* message) {
    return std::string(
        FromGrpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, message))
            .message());
  };
  EXPECT_EQ(said("failed to connect to all addresses; last error: UNKNOWN: "
                 "ipv4:127.0.0.1:1: Failed to connect to remote host: "
                 "Connection refused"),
            "no connection: ipv4:127.0.0.1:1: Connection refused (nothing "
            "listens there)");
  EXPECT_EQ(said("failed to connect to all addresses; last error: UNAVAILABLE: "
                 "ipv4:127.0.0.1:1: Socket closed"),
            "no connection: ipv4:127.0.0.1:1: Socket closed (the "
            "server closed the connection: it may require a certificate, or "
            "another one; its log says why)");
  EXPECT_EQ(said("failed to connect to all addresses; last error: UNKNOWN: "
                 "ipv4:127.0.0.1:1: Ssl handshake failed: SSL_ERROR_SSL: "
                 "error:0A00010B:SSL routines::wrong version number"),
            "no connection: ipv4:127.0.0.1:1: Ssl handshake failed: "
            "SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong version number "
            "(the server does not use TLS: leave out the certificates, --tls_* "
            "and, for etcd, --etcd_tls_*, and unset KAMINO_TLS_*; or start the "
            "server with certificates)");
  EXPECT_EQ(said("failed to connect to all addresses; last error: UNKNOWN: "
                 "ipv4:127.0.0.1:1: connection attempt timed out before "
                 "receiving SETTINGS frame"),
            "no connection: ipv4:127.0.0.1:1: connection attempt timed out "
            "before receiving SETTINGS frame (it takes connections but does "
            "not answer: the process hangs, or is another program)");
  EXPECT_EQ(said("failed to connect to all addresses; last error: INTERNAL: "
                 "ipv4:127.0.0.1:1: Trying to connect an http1.x server"),
            "no connection: ipv4:127.0.0.1:1: Trying to connect an http1.x "
            "server (another program answers there; check the address)");
  EXPECT_EQ(said("failed to connect to all addresses; last error: UNKNOWN: "
                 "ipv4:127.0.0.1:1: Failed parsing HTTP/2"),
            "no connection: ipv4:127.0.0.1:1: Failed parsing HTTP/2 (another "
            "program answers there; check the address)");
  EXPECT_EQ(said("failed to connect to all addresses"),
            "no connection: to no address");
  EXPECT_EQ(said("DNS resolution failed for nowhere:7001: C-ares status is not "
                 "ARES_SUCCESS qtype=A name=nowhere is_balancer=0: Domain name "
                 "not found"),
            "no connection: the host of nowhere:7001 is not known (Domain name "
            "not found)");
  EXPECT_EQ(said("DNS resolution failed for nowhere:7001"),
            "no connection: the host of nowhere:7001 is not known");
}

TEST(StatusTest, InvalidStatusesAreErrors) {
  const auto odd = static_cast<grpc::StatusCode>(99);
  EXPECT_TRUE(absl::IsUnknown(FromGrpc(grpc::Status(odd, "odd"))));
  const absl::Status rubbish =
      FromGrpc(grpc::Status(grpc::StatusCode::ABORTED, "why", "\xff\xff"));
  EXPECT_EQ(rubbish, absl::AbortedError("why"));
  absl::Status bad = absl::AbortedError("why");
  bad.SetPayload(DetailUrl<ErrorDetail>(), absl::Cord("\xff\xff"));
  EXPECT_FALSE(DetailIn<ErrorDetail>(bad).has_value());
}

TEST(RedirectTest, NamesTheLeader) {
  const absl::Status there = FromGrpc(ToGrpc(NotLeader("a:1")));
  EXPECT_TRUE(absl::IsUnavailable(there));
  EXPECT_EQ(there.message(), "this manager does not lead, a:1 does");
  EXPECT_EQ(LeaderIn(there), "a:1");
  EXPECT_EQ(LeaderIn(FromGrpc(ToGrpc(NotLeader("")))), "");
  EXPECT_EQ(LeaderIn(absl::UnavailableError("a:1")), std::nullopt);
  EXPECT_EQ(LeaderIn(absl::OkStatus()), std::nullopt);
}

// Frozen: what programs of other versions send and take.
TEST(RedirectTest, TheWireFormatIsFrozen) {
  google::rpc::Status details;
  auto* detail = details.add_details();
  detail->set_type_url(
      "type.googleapis.com/kamino.internal.v1.NotLeaderDetail");
  detail->set_value(
      "\x0a\x03"
      "a:1");
  EXPECT_EQ(LeaderIn(FromGrpc(grpc::Status(grpc::StatusCode::UNAVAILABLE,
                                           "this manager is not",
                                           details.SerializeAsString()))),
            "a:1");
  google::rpc::Status ours;
  ASSERT_TRUE(ours.ParseFromString(ToGrpc(NotLeader("a:1")).error_details()));
  EXPECT_EQ(ours.details(0).type_url(), detail->type_url());
  EXPECT_EQ(ours.details(0).value(), detail->value() + "\x10\x01");  // chain 1
}

TEST(RedirectTest, TheLeaderMayServeOperatorsAtAnotherPort) {
  const absl::Status told = WithLeadersPort(NotLeader("10.0.0.1:7000"), 7005);
  EXPECT_TRUE(absl::IsUnavailable(told));
  EXPECT_EQ(LeaderIn(told), "10.0.0.1:7005");
  EXPECT_EQ(LeaderIn(WithLeadersPort(NotLeader("[::1]:7000"), 7005)),
            "[::1]:7005");
  EXPECT_EQ(LeaderIn(WithLeadersPort(NotLeader(""), 7005)), "");
  EXPECT_EQ(LeaderIn(WithoutLeader(NotLeader("10.0.0.1:7000"))), "");
  const absl::Status other = absl::NotFoundError("x");
  EXPECT_EQ(WithLeadersPort(other, 7005), other);
}

}  // namespace
}  // namespace kamino::rpc
