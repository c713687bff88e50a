#include "client/error.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace kamino::client {
namespace {

using kamino::v1::ErrorDetail;

constexpr absl::string_view kDetailUrl =
    "type.googleapis.com/kamino.v1.ErrorDetail";
constexpr absl::string_view kRetryUrl =
    "type.googleapis.com/google.rpc.RetryInfo";

template <typename Message>
Message Payload(const absl::Status& status, absl::string_view url) {
  Message message;
  const auto payload = status.GetPayload(url);
  if (payload.has_value()) message.ParseFromString(std::string(*payload));
  return message;
}

}  // namespace

ErrorDetail DetailOf(const absl::Status& status) {
  return Payload<ErrorDetail>(status, kDetailUrl);
}

kamino::v1::Reason ReasonOf(const absl::Status& status) {
  return DetailOf(status).reason();
}

absl::Duration RetryDelayOf(const absl::Status& status) {
  const auto info = Payload<google::rpc::RetryInfo>(status, kRetryUrl);
  return absl::Seconds(info.retry_delay().seconds()) +
         absl::Nanoseconds(info.retry_delay().nanos());
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  std::string message = status.error_message();
  // gRPC itself is not always more talkative.
  if (message.empty()) {
    message = absl::StrCat("ended as ", absl::StatusCodeToString(code));
  }
  absl::Status result(code, message);
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return result;
  for (const auto& detail : details.details()) {
    // The type URL doubles as the payload's.
    result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return result;
}

absl::Status MakeError(absl::StatusCode code, kamino::v1::Reason reason,
                       absl::string_view message) {
  absl::Status status(code, message);
  ErrorDetail detail;
  detail.set_reason(reason);
  status.SetPayload(kDetailUrl, absl::Cord(detail.SerializeAsString()));
  return status;
}

}  // namespace kamino::client
