// One end of a link without rings: a queue pair of a group, and the buffers of
// its SENDs.
//
// Invariants:
//   1. Posted and incomplete SENDs never exceed the pair's limit, and messages
//      never take the room of notices.
//   2. One SEND in kSendsPerSignal is signaled, so that the queue always
//      becomes free again by itself.
//   3. A buffer does not change from the post to the completion.
#ifndef KAMINO_TRANSPORT_VERBS_SEND_WIRE_H_
#define KAMINO_TRANSPORT_VERBS_SEND_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/rendezvous.h"
#include "transport/verbs/send_format.h"
#include "transport/verbs/verbs_group.h"

namespace kamino::transport {

// Thread-safety: the owner guards sending and counting.
class SendWire {
 public:
  // kLinkSends buffers in registered memory.
  struct Buffers {
    absl::Span<std::byte> bytes;
    uint32_t key = 0;
  };

  // Its destructor calls `free`, on that thread.
  SendWire(const PortChoice& choice, std::unique_ptr<GroupPair> pair,
           const Buffers& buffers, std::function<void()> free);
  ~SendWire();

  uint32_t number() const { return pair_->number(); }
  int port() const { return choice_.port.number; }

  // Data for the peer: everything but max_message, era and token.
  VerbsEndpoint Endpoint() const;
  // kFailedPrecondition: the two cannot talk; the text says why.
  absl::Status Connect(const VerbsEndpoint& peer, const PairPatience& patience);
  // Set by Connect: how many SENDs the peer accepts at a time.
  uint32_t window() const { return window_; }

  bool CanSend() const { return outstanding() < kSendWindow; }
  bool CanNotify() const { return outstanding() < kLinkSends; }
  // `payload` is of kSendPayload bytes at most, and copied.
  absl::Status Send(const SendHead& head, absl::Span<const std::byte> payload,
                    bool signaled);
  // A SEND has completed; so have all before it.
  void OnComplete(uint64_t id);
  bool all_complete() const { return outstanding() == 0; }

  // Nothing is received or sent any more.
  void Stop() { pair_->Stop(); }

 private:
  uint64_t outstanding() const { return posted_ - completed_; }

  const PortChoice choice_;
  const Buffers buffers_;
  const std::function<void()> free_;
  const uint32_t psn_;
  std::unique_ptr<GroupPair> pair_;
  uint32_t window_ = 0;

  uint64_t posted_ = 0;     // SENDs, ever; the id of the newest
  uint64_t completed_ = 0;  // the newest known to be complete
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_SEND_WIRE_H_
