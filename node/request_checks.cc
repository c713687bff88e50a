#include "node/request_checks.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "replica/errors.h"

namespace kamino::node {

using replica::MakeError;

absl::Status CheckArgumentBytes(size_t bytes) {
  if (bytes <= kMaxArgumentBytes) return absl::OkStatus();
  return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                   absl::StrCat("a request of ", bytes, " bytes; at most ",
                                kMaxArgumentBytes));
}

absl::Status CheckCommitParts(int preconditions, int then_operations,
                              int else_operations) {
  if (preconditions <= kMaxCommitParts && then_operations <= kMaxCommitParts &&
      else_operations <= kMaxCommitParts) {
    return absl::OkStatus();
  }
  return MakeError(
      kamino::v1::REASON_INVALID_ARGUMENT,
      absl::StrCat("a commit has at most ", kMaxCommitParts,
                   " preconditions, then_operations and else_operations each"));
}

absl::Status CheckCall(absl::string_view procedure, size_t argument_bytes) {
  if (absl::StartsWith(procedure, "kv.") ||
      absl::StartsWith(procedure, "kamino.")) {
    return MakeError(
        kamino::v1::REASON_UNKNOWN_PROCEDURE,
        absl::StrCat("no procedure is named ", replica::Printable(procedure)));
  }
  if (argument_bytes <= kMaxCallBytes) return absl::OkStatus();
  return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                   absl::StrCat("arguments of ", argument_bytes,
                                " bytes; at most ", kMaxCallBytes));
}

absl::Status WasVoided() {
  return MakeError(kamino::v1::REASON_SUPERSEDED,
                   "the request number was voided: no request with this number "
                   "was executed or will be");
}

}  // namespace kamino::node
