// Bytes on their way into a socket's send buffer, or into TLS.
#ifndef KAMINO_TRANSPORT_TCP_SEND_QUEUE_H_
#define KAMINO_TRANSPORT_TCP_SEND_QUEUE_H_

#include <array>
#include <cstddef>
#include <deque>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/tcp/byte_sink.h"

namespace kamino::transport {

// Not thread-safe.
class SendQueue {
 public:
  // The pieces of one frame: head, header, payload.
  using Pieces = std::array<absl::Span<const std::byte>, 3>;

  // Queues the pieces behind what is queued, and writes to `sink` as much as it
  // takes. On error the sink is broken.
  absl::Status Write(ByteSink* sink, const Pieces& pieces);

  // Writes from the queue until it is empty or the sink is full. False: it
  // stopped before that to yield the thread, and must be called again.
  absl::StatusOr<bool> Flush(ByteSink* sink);

  void Clear();
  // Has memory to reuse.
  bool has_spare() const {
    return spare_.capacity() > std::string().capacity();
  }
  void DropSpare() { spare_ = std::string(); }

  // Queued and not yet taken by the sink.
  size_t bytes() const { return bytes_; }

 private:
  void Append(absl::Span<const std::byte> piece);
  void Pop(size_t count);

  // Chunks gather small frames, so that one writev carries many. No chunk is
  // empty.
  std::deque<std::string> chunks_;
  // Empty, with capacity to use again: a fresh chunk costs its pages' faults.
  std::string spare_;
  size_t taken_ = 0;  // of the first chunk
  size_t bytes_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_TCP_SEND_QUEUE_H_
