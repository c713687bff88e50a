// The sending half of a link without rings: keeps accepted messages, and sends
// their pieces, credits and probes on the link's wire as far as the peer's
// window and the wire's queue allow.
//
// Threads: the link's mutex guards everything but wire(). Owns the wire.
#ifndef KAMINO_TRANSPORT_VERBS_SEND_CHANNEL_H_
#define KAMINO_TRANSPORT_VERBS_SEND_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "transport/verbs/send_flow.h"
#include "transport/verbs/send_format.h"
#include "transport/verbs/send_wire.h"
#include "transport/verbs/waiting_messages.h"

namespace kamino::transport {

class SendChannel {
 public:
  // `wire` is not connected yet. Messages that wait use at most `max_waiting`
  // bytes.
  SendChannel(std::unique_ptr<SendWire> wire, size_t max_waiting);

  // For set-up and identification, on the loop's thread.
  SendWire& wire() const { return *wire_; }
  // Gives the wire up; only the destructor may follow.
  std::unique_ptr<SendWire> TakeWire();

  // Bytes of memory that waiting messages use; and those that have not left.
  size_t waiting_bytes() const { return waiting_.cost(); }
  size_t unsent() const { return waiting_.unsent(); }

  // Whether a message of `length` bytes may wait.
  bool HasRoom(size_t length) const {
    return waiting_.cost() + WaitingMessages::CostOf(length) <= max_waiting_;
  }
  // A message was refused: TakeWritable returns true, once, as soon as half of
  // the room is free.
  void OnRefused() { refused_ = true; }
  bool TakeWritable();

  // Sends a message, or keeps it until it can be sent. Only after HasRoom has
  // returned true. On error, here and below, the wire is broken.
  absl::Status Send(absl::Span<const std::byte> header,
                    absl::Span<const std::byte> payload);
  absl::Status SendHello(absl::Span<const std::byte> token);
  // Asks the peer for a credit, unless the last probe has no answer yet, or the
  // window or the queue is full.
  absl::Status Probe();
  // SendFlow::CountQuietPeriod; call it before each Probe.
  int CountQuietPeriod() { return flow_.CountQuietPeriod(wire_->window()); }

  // A SEND has completed; so have all before it.
  void OnComplete(uint64_t id) { wire_->OnComplete(id); }
  // As SendFlow's.
  absl::Status OnHead(const SendHead& head) { return flow_.OnHead(head); }
  // The buffers of all messages received so far are posted again. Sends waiting
  // messages and a credit.
  absl::Status OnBuffersPosted();

 private:
  bool HasCredit() const {
    return wire_->CanSend() && flow_.HasCredit(wire_->window());
  }
  absl::Status Push();
  absl::Status Notify(SendKind kind, absl::Span<const std::byte> payload);

  const size_t max_waiting_;
  std::unique_ptr<SendWire> wire_;
  SendFlow flow_;
  WaitingMessages waiting_;
  bool refused_ = false;  // since TakeWritable returned true
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_SEND_CHANNEL_H_
