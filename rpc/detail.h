// Error details: payloads of an absl::Status, at most one of each message type,
// under the type's URL in google.protobuf.Any. rpc/status.h carries them over
// gRPC.
#ifndef KAMINO_RPC_DETAIL_H_
#define KAMINO_RPC_DETAIL_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace kamino::rpc {

template <typename Message>
std::string DetailUrl() {
  return absl::StrCat("type.googleapis.com/",
                      Message::descriptor()->full_name());
}

// Replaces a detail of the same type. No effect on an OK status.
template <typename Message>
void SetDetail(const Message& detail, absl::Status* status) {
  status->SetPayload(DetailUrl<Message>(),
                     absl::Cord(detail.SerializeAsString()));
}

// Nothing: no detail of that type, or one that cannot be parsed.
template <typename Message>
std::optional<Message> DetailIn(const absl::Status& status) {
  const auto payload = status.GetPayload(DetailUrl<Message>());
  Message detail;
  if (!payload.has_value() || !detail.ParseFromString(std::string(*payload))) {
    return std::nullopt;
  }
  return detail;
}

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_DETAIL_H_
