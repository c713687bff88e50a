// The one place where statuses of gRPC's and of Abseil's become each other.
// Codes have the same numbers. A status's payloads travel as google.rpc.Status
// in the trailer grpc-status-details-bin, their URLs as type URLs.
#ifndef KAMINO_RPC_STATUS_H_
#define KAMINO_RPC_STATUS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "grpcpp/support/status.h"

namespace kamino::rpc {

// What the text of a call begins with that was not sent, for there was no
// connection; by FromGrpc.
inline constexpr char kNotConnected[] = "no connection: ";

// Details are in the reverse order of their URLs, so that ours (kamino...) come
// before the standard ones (google...). Together with the message they must fit
// gRPC's 8 KiB of metadata.
grpc::Status ToGrpc(const absl::Status& status);

// An error always says something, even where gRPC does not: as where a server
// hangs up on a new connection, which is how one refuses a certificate. Details
// that cannot be parsed are left out.
absl::Status FromGrpc(const grpc::Status& status);

// Of a serialized google.rpc.Status, as a call's details are; never OK.
absl::Status ErrorIn(absl::string_view details);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_STATUS_H_
