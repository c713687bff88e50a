// Flow control of one link without rings: counts the messages that need credit
// (firsts, mores and probes) in both directions. It decides whether this side
// may send, when it reports what it has taken, and whether the peer keeps to
// the rules. docs/formats/link.md, "Verbs, without rings".
//
// Not thread-safe: the link's mutex guards it.
#ifndef KAMINO_TRANSPORT_VERBS_SEND_FLOW_H_
#define KAMINO_TRANSPORT_VERBS_SEND_FLOW_H_

#include <cstdint>

#include "absl/status/status.h"
#include "transport/verbs/send_format.h"

namespace kamino::transport {

class SendFlow {
 public:
  // The peer accepts one more message that needs credit; its window is
  // `window`.
  bool HasCredit(uint32_t window) const { return sent_ - covered_ < window; }
  // A first or more was sent.
  void CountSent() { ++sent_; }
  void CountProbe() { probe_ = ++sent_; }
  // The newest probe has no answer yet.
  bool probing() const { return probe_ > covered_; }

  // `taken` for the head of a message, which reports it to the peer.
  uint64_t taken() const { return taken_; }
  void CountReport() { told_ = taken_; }

  // Call once a probe period. Returns for how many periods the peer has taken
  // nothing although this side waits for it.
  int CountQuietPeriod(uint32_t window);

  // A message of the peer other than hello and bye. kDataLoss: the peer has
  // broken the rules.
  absl::Status OnHead(const SendHead& head);
  // The buffers of all messages received so far are posted again.
  void OnBuffersPosted() { taken_ = received_; }
  // Call after OnBuffersPosted. True: a credit is due, until a message reports
  // everything (CountReport).
  bool CreditDue() const {
    return told_ < probed_ || taken_ - told_ >= kTakenPerCredit;
  }

 private:
  // Messages of this side: sent; taken by the peer.
  uint64_t sent_ = 0;
  uint64_t covered_ = 0;
  uint64_t probe_ = 0;  // sent_ at the newest probe
  // Messages of the peer: received; those whose buffers are posted again; those
  // reported to the peer.
  uint64_t received_ = 0;
  uint64_t taken_ = 0;
  uint64_t told_ = 0;
  uint64_t probed_ = 0;  // received_ at the peer's newest probe

  uint64_t seen_covered_ = 0;  // covered_ at the last period
  int quiet_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_SEND_FLOW_H_
