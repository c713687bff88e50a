// A chain message as bytes on a link. A link's Send takes it in two pieces and
// delivers it as one.
//
//   frame := head_bytes:4 head{head_bytes} payload
//
// head: a ChainMessage. payload: a log entry behind an Append, as it lies in
// the sender's ring; nothing behind any other. docs/formats/log_entry.md.
#ifndef KAMINO_REPLICA_LINK_CHAIN_FRAME_H_
#define KAMINO_REPLICA_LINK_CHAIN_FRAME_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kamino/internal/v1/chain.pb.h"

namespace kamino::replica {

// Everything but the payload.
std::string EncodeFrameHead(const kamino::internal::v1::ChainMessage& message);

struct ChainFrame {
  kamino::internal::v1::ChainMessage message;
  absl::string_view payload;  // of the frame's bytes
};

// kInvalidArgument: not a frame. What is in the payload is not looked at.
absl::StatusOr<ChainFrame> DecodeFrame(absl::string_view bytes);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_CHAIN_FRAME_H_
