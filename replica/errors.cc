#include "replica/errors.h"

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/escape.h"

namespace kamino::replica {
namespace {

using kamino::v1::ErrorDetail;
using kamino::v1::Reason;

constexpr absl::string_view kDetailUrl =
    "type.googleapis.com/kamino.v1.ErrorDetail";
constexpr size_t kMaxKeys = 16;
constexpr size_t kMaxKeyBytes = 1024;
// Limit of all keys together. gRPC's clients accept 8 KiB of metadata by
// default, and base64 adds a third.
constexpr size_t kMaxKeysBytes = 4096;
constexpr size_t kMaxPrintable = 64;

absl::StatusCode CodeOf(Reason reason) {
  switch (reason) {
    case kamino::v1::REASON_NOT_HEAD:
    case kamino::v1::REASON_NOT_TAIL:
    case kamino::v1::REASON_SUPERSEDED:
    case kamino::v1::REASON_CLIENT_EXPIRED:
    case kamino::v1::REASON_POISONOUS:
    case kamino::v1::REASON_SESSION_EXPIRED:
    case kamino::v1::REASON_NOT_CLEAN:
    case kamino::v1::REASON_RESTORING:
    case kamino::v1::REASON_NOT_EMPTY:
    case kamino::v1::REASON_OTHER_CLUSTER:
      return absl::StatusCode::kFailedPrecondition;
    case kamino::v1::REASON_RECONFIGURING:
    case kamino::v1::REASON_OUTCOME_UNKNOWN:
      return absl::StatusCode::kUnavailable;
    case kamino::v1::REASON_CONFLICT:
      return absl::StatusCode::kAborted;
    case kamino::v1::REASON_HEAP_FULL:
    case kamino::v1::REASON_OVERLOADED:
    case kamino::v1::REASON_TOO_LARGE:
      return absl::StatusCode::kResourceExhausted;
    case kamino::v1::REASON_KEY_NOT_FOUND:
      return absl::StatusCode::kNotFound;
    case kamino::v1::REASON_OUT_OF_RANGE:
      return absl::StatusCode::kOutOfRange;
    case kamino::v1::REASON_INVALID_ARGUMENT:
    case kamino::v1::REASON_UNKNOWN_CHAIN:
      return absl::StatusCode::kInvalidArgument;
    case kamino::v1::REASON_UNKNOWN_PROCEDURE:
      return absl::StatusCode::kUnimplemented;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status MakeError(Reason reason, absl::string_view message,
                       const std::vector<std::string>& keys) {
  return WithReason(absl::Status(CodeOf(reason), message), reason, keys);
}

absl::Status WithReason(absl::Status status, Reason reason,
                        const std::vector<std::string>& keys) {
  ErrorDetail detail;
  detail.set_reason(reason);
  size_t bytes = 0;
  for (const std::string& key : keys) {
    const std::string cut = key.substr(0, kMaxKeyBytes);
    bytes += cut.size();
    if (static_cast<size_t>(detail.keys_size()) == kMaxKeys ||
        bytes > kMaxKeysBytes) {
      break;
    }
    detail.add_keys(cut);
  }
  status.SetPayload(kDetailUrl, absl::Cord(detail.SerializeAsString()));
  return status;
}

absl::Status SinceIsAhead(uint64_t since, uint64_t last) {
  return MakeError(
      kamino::v1::REASON_INVALID_ARGUMENT,
      absl::StrCat("since is ", since, ", but the chain has come to mutation ",
                   last, " only; is it a number of another chain?"));
}

ErrorDetail DetailOf(const absl::Status& status) {
  ErrorDetail detail;
  const auto payload = status.GetPayload(kDetailUrl);
  if (payload.has_value()) detail.ParseFromString(std::string(*payload));
  return detail;
}

Reason ReasonOf(const absl::Status& status) {
  return DetailOf(status).reason();
}

absl::Status ExplainKeyError(const absl::Status& status,
                             absl::string_view key) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return MakeError(kamino::v1::REASON_KEY_NOT_FOUND,
                       absl::StrCat("no object has the key ", Printable(key)),
                       {std::string(key)});
    case absl::StatusCode::kOutOfRange:
      return WithReason(status, kamino::v1::REASON_OUT_OF_RANGE,
                        {std::string(key)});
    case absl::StatusCode::kInvalidArgument:
      return WithReason(status, kamino::v1::REASON_INVALID_ARGUMENT,
                        {std::string(key)});
    default:
      return status;
  }
}

std::string Printable(absl::string_view bytes) {
  if (bytes.size() <= kMaxPrintable) {
    return absl::StrCat("\"", Escape(bytes), "\"");
  }
  return absl::StrCat("\"", Escape(bytes.substr(0, kMaxPrintable)), "...\" (",
                      bytes.size(), " bytes)");
}

}  // namespace kamino::replica
