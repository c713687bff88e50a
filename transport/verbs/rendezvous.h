// How the two ends of a verbs link find each other before there is a queue pair
// between them. The owner of a control channel implements it.
#ifndef KAMINO_TRANSPORT_VERBS_RENDEZVOUS_H_
#define KAMINO_TRANSPORT_VERBS_RENDEZVOUS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "security/certificate.h"
#include "transport/verbs/device.h"

namespace kamino::transport {

// One end of a future link: its pair and its limits. Links with rings give the
// ring's location; links without give how many SENDs they accept at a time.
struct VerbsEndpoint {
  uint32_t version = 0;
  // For log lines.
  std::string device;
  uint32_t port = 0;
  uint32_t gid_index = 0;

  PairAddress address;
  uint64_t ring_address = 0;
  uint32_t ring_key = 0;
  uint64_t ring_bytes = 0;
  uint32_t window = 0;                 // SENDs
  uint32_t buffer_bytes = 0;           // of one SEND
  std::array<uint64_t, 2> token = {};  // of an answer: random, and the
                                       // offer's first SEND holds it
  uint64_t max_message = 0;
  // TransportOptions::era of the sender; a stale connector is refused.
  uint64_t era = 0;

  // Not sent: the certificate of the channel that carried this; none without
  // TLS. The receiver's rendezvous sets it, for an offer and for an answer.
  std::optional<security::Certificate> sender;
};

// Thread-safe.
class VerbsRendezvous {
 public:
  virtual ~VerbsRendezvous() = default;

  // Called once, on any thread; must not block.
  using Reply = std::function<void(absl::StatusOr<VerbsEndpoint>)>;
  // Called on any thread, does not block, and replies once.
  using Answerer = std::function<void(const VerbsEndpoint& offer, Reply reply)>;

  // Passes offers made to `address` to `answerer`; returns the address in the
  // form that Exchange takes. kAlreadyExists: another listener has the address.
  virtual absl::StatusOr<std::string> Listen(const std::string& address,
                                             Answerer answerer) = 0;
  // After this has returned, `answerer` is not called any more. `address` as
  // Listen returned it.
  virtual void StopListening(const std::string& address) = 0;

  // Makes an offer to the listener at `address` and passes on the answer, or an
  // error if there is none within `timeout`.
  virtual void Exchange(const std::string& address, const VerbsEndpoint& offer,
                        absl::Duration timeout, Reply reply) = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_RENDEZVOUS_H_
