// The only place that converts statuses between gRPC and Abseil. Codes have the
// same numbers. Payloads travel as google.rpc.Status in the trailer
// grpc-status-details-bin, with their URLs as type URLs.
#ifndef KAMINO_RPC_STATUS_H_
#define KAMINO_RPC_STATUS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "grpcpp/support/status.h"

namespace kamino::rpc {

// Prefix, added by FromGrpc, of the message of a call that was not sent because
// there was no connection.
inline constexpr char kNotConnected[] = "no connection: ";

// Details are in reverse order of their URLs, so that ours (kamino...) precede
// the standard ones (google...). Together with the message they must fit gRPC's
// 8 KiB of metadata.
grpc::Status ToGrpc(const absl::Status& status);

// Adds a message to an error without one. gRPC has none, for example, if a
// server closes a new connection because it refuses the certificate. Drops
// details that cannot be parsed.
absl::Status FromGrpc(const grpc::Status& status);

// Parses a serialized google.rpc.Status, such as a call's details; never OK.
absl::Status ErrorIn(absl::string_view details);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_STATUS_H_
