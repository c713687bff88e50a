// Common base of links over rings, independent of how bytes move and how the
// ends meet: credits and refusals, taking messages out of the ring, resuming
// refused senders, and an end that loses no message published before it.
// docs/formats/link.md, "Ring".
#ifndef KAMINO_TRANSPORT_RING_RING_LINK_H_
#define KAMINO_TRANSPORT_RING_RING_LINK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "transport/link.h"
#include "transport/loop/event_loop.h"
#include "transport/ring/ring_receiver.h"
#include "transport/ring/ring_sender.h"

namespace kamino::transport {

// `Setup` is LoopLink, or a subclass that sets links up in some way. The link's
// class moves the bytes: it is the RingMover (mu_ is held for its calls) and
// the RingFeed (the loop's thread), and adds and removes itself as the loop's
// Poller.
template <typename Setup>
class RingLink : public Setup,
                 protected Poller,
                 protected RingMover,
                 protected RingFeed {
 public:
  using Setup::Setup;

  absl::Status Send(absl::Span<const std::byte> header,
                    absl::Span<const std::byte> payload) final {
    absl::MutexLock lock(&mu_);
    RETURN_IF_ERROR(this->CheckSendLocked(header.size() + payload.size()));
    absl::Status sent = sender_->Send(header, payload);
    if (sent.ok() || absl::IsResourceExhausted(sent)) return sent;
    LOG(WARNING) << "closing the link to " << this->peer() << ": "
                 << sent.message();
    this->BeginCloseLocked(sent);
    return absl::UnavailableError("the link is closing");
  }

 protected:
  using Setup::closing;
  using Setup::mu_;

  // The rest is for the loop's thread only.

  // The rings exist: `in` is the one that the peer writes into; the other is as
  // large. Returns the largest message that the link takes, given the largest
  // that the peer accepts, in bytes.
  size_t StartRings(absl::Span<const std::byte> in, uint64_t peer_accepts) {
    const size_t accepts = this->options().max_message;
    receiver_.emplace(in, accepts, static_cast<RingFeed*>(this));
    absl::MutexLock lock(&mu_);
    sender_.emplace(in.size(), static_cast<RingMover*>(this));
    return std::min({static_cast<size_t>(peer_accepts), accepts,
                     in.size() - sizeof(RecordHead)});
  }

  void DropRingsLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    receiver_.reset();
    sender_.reset();
  }

  // Everything that the peer has published is whole and is still delivered; it
  // publishes no more. Poll delivers it and closes the link.
  void PeerLeft() {
    if (!peer_left()) end_ = Published();
  }
  bool peer_left() const { return end_.has_value(); }

  // After StartRings.
  bool Drained() { return receiver_->Drained(); }
  void AcknowledgeAll() {
    Acknowledge(receiver_->head(), receiver_->half_empty());
  }

  // For an open link.
  bool Poll() override {
    if (closing()) return false;
    if (sender_->blocked() && !TellOfCredits()) return true;
    const absl::StatusOr<bool> busy = receiver_->Poll(
        kMessagesPerPoll, [this](absl::Span<const std::byte> message) {
          this->handler().OnMessage(message);
          return !closing();
        });
    if (!busy.ok()) {
      FailLoudly(busy.status());
      return true;
    }
    // A peer that published more and then took it back sends nothing either.
    if (closing() || !peer_left() || (*busy && receiver_->head() < *end_)) {
      return *busy;
    }
    this->Fail(absl::UnavailableError("closed by the peer"));
    return true;
  }

  void FailLoudly(const absl::Status& why) {
    LOG(WARNING) << "closing the link to " << this->peer() << ": "
                 << why.message();
    this->Fail(why);
  }

 private:
  // Bounds how long one link holds the thread.
  static constexpr int kMessagesPerPoll = 64;

  // Calls OnWritable once credits suffice for a refused Send. False when the
  // link is closing or closed.
  bool TellOfCredits() {
    absl::StatusOr<bool> writable = false;
    {
      absl::MutexLock lock(&mu_);
      if (closing()) return false;
      writable = sender_->CheckCredits();
    }
    if (!writable.ok()) {
      FailLoudly(writable.status());
      return false;
    }
    if (*writable) this->handler().OnWritable();
    return !closing();
  }

  // The loop's thread changes it under mu_, and may call blocked() without.
  std::optional<RingSender> sender_;

  // The loop's thread only.
  std::optional<RingReceiver> receiver_;
  std::optional<uint64_t> end_;  // end of what a peer that left has published
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_RING_RING_LINK_H_
