// Messages that wait to be sent on a link without rings, in the order in which
// they were accepted. They leave in pieces that fit a buffer.
//
// Not thread-safe: the link's mutex guards it. Owns copies of the messages.
#ifndef KAMINO_TRANSPORT_VERBS_WAITING_MESSAGES_H_
#define KAMINO_TRANSPORT_VERBS_WAITING_MESSAGES_H_

#include <cstddef>
#include <deque>
#include <string>

#include "absl/types/span.h"

namespace kamino::transport {

class WaitingMessages {
 public:
  // Overhead of a message besides its bytes.
  static constexpr size_t kMessageCost = 64;

  struct Piece {
    bool first;      // of its message
    size_t message;  // bytes of the whole message
    absl::Span<const std::byte> bytes;
  };

  // Memory of a message of `length` bytes, and of all that wait.
  static constexpr size_t CostOf(size_t length) {
    return length + kMessageCost;
  }
  size_t cost() const { return cost_; }
  // cost() without the bytes that have left.
  size_t unsent() const { return cost_ - offset_; }

  bool empty() const { return messages_.empty(); }
  void Add(absl::Span<const std::byte> header,
           absl::Span<const std::byte> payload);
  // The next piece, valid until PopPiece; not when empty.
  Piece NextPiece() const;
  // The next piece has left.
  void PopPiece();

 private:
  std::deque<std::string> messages_;
  size_t cost_ = 0;
  size_t offset_ = 0;  // bytes of the first message that have left
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_WAITING_MESSAGES_H_
