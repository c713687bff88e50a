#include "client/error.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "rpc/detail.h"

namespace kamino::client {

using kamino::v1::ErrorDetail;

ErrorDetail DetailOf(const absl::Status& status) {
  return rpc::DetailIn<ErrorDetail>(status).value_or(ErrorDetail());
}

kamino::v1::Reason ReasonOf(const absl::Status& status) {
  return DetailOf(status).reason();
}

bool AreOfDifferentClusters(const absl::Status& status) {
  return absl::IsInvalidArgument(status) &&
         ReasonOf(status) == kamino::v1::REASON_OTHER_CLUSTER;
}

absl::Duration RetryDelayOf(const absl::Status& status) {
  using google::rpc::RetryInfo;
  const auto info = rpc::DetailIn<RetryInfo>(status).value_or(RetryInfo());
  return absl::Seconds(info.retry_delay().seconds()) +
         absl::Nanoseconds(info.retry_delay().nanos());
}

absl::Status MakeError(absl::StatusCode code, kamino::v1::Reason reason,
                       absl::string_view message) {
  ErrorDetail detail;
  detail.set_reason(reason);
  return MakeError(code, detail, message);
}

absl::Status MakeError(absl::StatusCode code, const ErrorDetail& detail,
                       absl::string_view message) {
  absl::Status status(code, message);
  rpc::SetDetail(detail, &status);
  return status;
}

absl::Status WithMore(const absl::Status& status, absl::string_view more) {
  absl::Status longer(status.code(), absl::StrCat(status.message(), more));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    longer.SetPayload(url, payload);
  });
  return longer;
}

absl::Status NamedBy(const absl::Status& status, const std::string& request) {
  ErrorDetail detail = DetailOf(status);
  if (request.empty() || !detail.request().empty()) return status;
  detail.set_request(request);
  absl::Status named = status;
  rpc::SetDetail(detail, &named);
  return named;
}

}  // namespace kamino::client
