#include "transport/verbs/message_assembler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kamino::transport {

absl::Status MessageAssembler::Check(
    const SendHead& head, absl::Span<const std::byte> payload) const {
  const bool first = head.kind == SendKind::kFirst;
  if (first != (number_ == 0)) {
    return absl::DataLossError("it sent pieces out of order");
  }
  if (first && head.length > max_message_) {
    return absl::DataLossError(
        absl::StrCat("a message of ", head.length, " bytes"));
  }
  const size_t left = first ? head.length : length_ - message_.size();
  // Partly filled ones would cost the peer little and this side much.
  if (payload.size() != std::min(left, kSendPayload)) {
    return absl::DataLossError("it sent a piece of a wrong size");
  }
  return absl::OkStatus();
}

std::optional<std::string> MessageAssembler::Add(
    const SendHead& head, absl::Span<const std::byte> payload) {
  if (head.kind == SendKind::kFirst) {
    number_ = all_->Begin(user_);
    length_ = head.length;
  }
  message_.append(reinterpret_cast<const char*>(payload.data()),
                  payload.size());
  if (message_.size() < length_) {
    all_->Grow(number_, payload.size());
    return std::nullopt;
  }
  all_->End(std::exchange(number_, 0));
  return std::exchange(message_, std::string());
}

void MessageAssembler::Clear() {
  if (number_ != 0) all_->End(std::exchange(number_, 0));
  message_ = std::string();
}

}  // namespace kamino::transport
