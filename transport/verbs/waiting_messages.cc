#include "transport/verbs/waiting_messages.h"

#include <algorithm>

#include "transport/verbs/send_format.h"

namespace kamino::transport {

void WaitingMessages::Add(absl::Span<const std::byte> header,
                          absl::Span<const std::byte> payload) {
  const size_t length = header.size() + payload.size();
  std::string& message = messages_.emplace_back();
  message.reserve(length);
  message.append(reinterpret_cast<const char*>(header.data()), header.size());
  message.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  cost_ += CostOf(length);
}

WaitingMessages::Piece WaitingMessages::NextPiece() const {
  const std::string& message = messages_.front();
  const absl::Span<const std::byte> bytes(
      reinterpret_cast<const std::byte*>(message.data()), message.size());
  return {offset_ == 0, message.size(), bytes.subspan(offset_, kSendPayload)};
}

void WaitingMessages::PopPiece() {
  const size_t length = messages_.front().size();
  offset_ += std::min(length - offset_, kSendPayload);
  if (offset_ < length) return;
  cost_ -= CostOf(length);
  messages_.pop_front();
  offset_ = 0;
}

}  // namespace kamino::transport
