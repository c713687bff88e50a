// Assembles the messages of one link without rings from the pieces that the
// peer sends, and counts an incomplete one in UnfinishedMessages.
//
// Threads: the loop's thread only. Owns the bytes of the incomplete message.
#ifndef KAMINO_TRANSPORT_VERBS_MESSAGE_ASSEMBLER_H_
#define KAMINO_TRANSPORT_VERBS_MESSAGE_ASSEMBLER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "transport/verbs/send_format.h"
#include "transport/verbs/send_user.h"
#include "transport/verbs/unfinished_messages.h"

namespace kamino::transport {

class MessageAssembler {
 public:
  // For messages of at most `max_message` bytes. `all` and `user` must live
  // until Clear; `all` may call OnTooMuchUnfinished of `user`.
  MessageAssembler(UnfinishedMessages* all, SendUser* user, size_t max_message)
      : all_(all), user_(user), max_message_(max_message) {}

  // kDataLoss: `payload` is not a valid next piece; the text says why.
  absl::Status Check(const SendHead& head,
                     absl::Span<const std::byte> payload) const;
  // Adds a piece that Check accepts. Returns the message if the piece completes
  // it. May call OnTooMuchUnfinished, and may be cleared by it.
  std::optional<std::string> Add(const SendHead& head,
                                 absl::Span<const std::byte> payload);
  // Drops the incomplete message.
  void Clear();

  // Received bytes of the incomplete message.
  size_t bytes() const { return message_.size(); }

 private:
  UnfinishedMessages* const all_;
  SendUser* const user_;
  const size_t max_message_;
  uint64_t number_ = 0;  // of the incomplete message; or 0
  size_t length_ = 0;    // its whole length
  std::string message_;  // its bytes so far
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_MESSAGE_ASSEMBLER_H_
