// Accepts the links of one transport over verbs: it listens to a rendezvous.
#ifndef KAMINO_TRANSPORT_VERBS_OFFER_PORT_H_
#define KAMINO_TRANSPORT_VERBS_OFFER_PORT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "transport/loop/loop_link.h"
#include "transport/verbs/rendezvous.h"
#include "transport/verbs/verbs_context.h"

namespace kamino::transport {

// Passes offers of connectors to the loop, up to a limit of links.
class OfferPort final : public LoopPort,
                        public std::enable_shared_from_this<OfferPort> {
 public:
  // Called on the loop's thread; replies once.
  using Taker = std::function<void(const VerbsEndpoint& offer,
                                   const std::shared_ptr<AcceptGate>& gate,
                                   const VerbsRendezvous::Reply& reply)>;

  // Any thread. As Transport::Listen.
  static absl::StatusOr<std::unique_ptr<Listener>> Listen(
      std::shared_ptr<VerbsContext> context, const std::string& address,
      AcceptCallback acceptor, Taker taker);

  OfferPort(std::shared_ptr<VerbsContext> context, AcceptCallback acceptor,
            Taker taker);

  void Close() override;
  const std::string& address() const override { return gate_->address; }

 private:
  // The loop's thread only.
  absl::Status Open(const std::string& address);
  void OnOffer(const VerbsEndpoint& offer, const VerbsRendezvous::Reply& reply);

  const std::shared_ptr<VerbsContext> context_;
  const Taker taker_;
  const std::shared_ptr<AcceptGate> gate_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_OFFER_PORT_H_
