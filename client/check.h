// Checks arguments before a request is sent. Returns the service's own error,
// kInvalidArgument with REASON_INVALID_ARGUMENT; limits as in kamino.proto.
#ifndef KAMINO_CLIENT_CHECK_H_
#define KAMINO_CLIENT_CHECK_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

inline constexpr size_t kMaxKeyBytes = 1024;
inline constexpr size_t kMaxValueBytes = 1u << 20;
inline constexpr size_t kMaxArgumentBytes = 1u << 20;
inline constexpr size_t kMaxProcedureBytes = 128;  // of the name
inline constexpr int kMaxBatchKeys = 1000;
inline constexpr int kMaxCommitParts = 1000;

absl::Status CheckKey(absl::string_view key);
absl::Status CheckValue(absl::string_view value);

// Each checks a whole request. Only GetOutcome's request id is checked.
absl::Status Check(const kamino::v1::GetRequest& request);
absl::Status Check(const kamino::v1::BatchGetRequest& request);
absl::Status Check(const kamino::v1::GetOutcomeRequest& request);
absl::Status Check(const kamino::v1::PutRequest& request);
absl::Status Check(const kamino::v1::PatchRequest& request);
absl::Status Check(const kamino::v1::DeleteRequest& request);
absl::Status Check(const kamino::v1::CommitRequest& request);
absl::Status Check(const kamino::v1::CallRequest& request);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CHECK_H_
