#include "transport/verbs/verbs_transport.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "transport/verbs/offer_port.h"
#include "transport/verbs/verbs_context.h"
#include "transport/verbs/verbs_link.h"

namespace kamino::transport {
namespace {

// How a port of `context` handles an offer.
OfferPort::Taker MakeTaker(std::shared_ptr<VerbsContext> context) {
  return [context = std::move(context)](const VerbsEndpoint& offer,
                                        const std::shared_ptr<AcceptGate>& gate,
                                        const VerbsRendezvous::Reply& reply) {
    auto port = context->Port();
    if (!port.ok()) return reply(port.status());
    auto wire = VerbsWire::Create(*port, context->options.ring_bytes);
    if (!wire.ok()) return reply(wire.status());
    auto link = std::make_shared<VerbsLink>(
        context,
        absl::StrCat("pair ", offer.address.number, " of ", offer.device),
        *std::move(wire));
    link->StartAccepting(offer, gate, reply);
  };
}

class VerbsTransport final : public Transport {
 public:
  explicit VerbsTransport(std::shared_ptr<VerbsContext> context)
      : context_(std::move(context)) {}

  ~VerbsTransport() override {
    LinkContext::CloseAll(context_);
    context_->AwaitGoodByes();
    context_->RetireAll();
    context_->EndLoop();
  }

  absl::StatusOr<std::unique_ptr<Listener>> Listen(
      const std::string& address, AcceptCallback acceptor) override {
    return OfferPort::Listen(context_, address, std::move(acceptor),
                             MakeTaker(context_));
  }

  absl::StatusOr<std::shared_ptr<Link>> Connect(
      const std::string& address,
      std::shared_ptr<LinkHandler> handler) override {
    CHECK(handler != nullptr);
    if (context_->stopping) {
      return absl::UnavailableError("the transport is being destroyed");
    }
    ASSIGN_OR_RETURN(auto port, context_->Port());
    ASSIGN_OR_RETURN(auto wire,
                     VerbsWire::Create(port, context_->options.ring_bytes));
    auto link = std::make_shared<VerbsLink>(context_, address, std::move(wire));
    const bool posted = context_->loop->Post(
        [link, address, handler = std::move(handler)]() mutable {
          link->StartConnecting(address, std::move(handler));
        });
    if (!posted) {
      return absl::UnavailableError("the transport is being destroyed");
    }
    return link;
  }

 private:
  const std::shared_ptr<VerbsContext> context_;
};

}  // namespace

TransportFactory VerbsTransports(VerbsSetup setup) {
  CHECK(setup.rendezvous != nullptr && setup.api != nullptr);
  return {
      kVerbsCapabilities,
      [setup = std::move(setup)](const TransportOptions& options)
          -> absl::StatusOr<std::unique_ptr<Transport>> {
        ASSIGN_OR_RETURN(auto loop,
                         LinkContext::LoopFor(options, options.spin));
        return std::make_unique<VerbsTransport>(
            std::make_shared<VerbsContext>(options, std::move(loop), setup));
      }};
}

}  // namespace kamino::transport
