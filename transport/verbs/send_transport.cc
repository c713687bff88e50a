#include "transport/verbs/send_transport.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "transport/verbs/offer_port.h"
#include "transport/verbs/send_context.h"
#include "transport/verbs/send_link.h"

namespace kamino::transport {
namespace {

OfferPort::Taker MakeTaker(std::shared_ptr<SendContext> context) {
  return [context = std::move(context)](const VerbsEndpoint& offer,
                                        const std::shared_ptr<AcceptGate>& gate,
                                        const VerbsRendezvous::Reply& reply) {
    const std::string peer =
        absl::StrCat("pair ", offer.address.number, " of ", offer.device);
    if (absl::Status room = context->CheckSetUp(); !room.ok()) {
      gate->TellRefusal(peer, LinkRefusal::kHalfOpen, room.message());
      return reply(room);
    }
    std::make_shared<SendLink>(context, peer)
        ->StartAccepting(offer, gate, reply);
  };
}

class SendTransport final : public Transport {
 public:
  explicit SendTransport(std::shared_ptr<SendContext> context)
      : context_(std::move(context)) {}

  ~SendTransport() override {
    LinkContext::CloseAll(context_);
    context_->AwaitWires();
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
    const absl::Status ending =
        absl::UnavailableError("the transport is being destroyed");
    if (context_->stopping) return ending;
    auto link = std::make_shared<SendLink>(context_, address);
    const bool posted = context_->loop->Post(
        [link, address, handler = std::move(handler)]() mutable {
          link->StartConnecting(address, std::move(handler));
        });
    if (!posted) return ending;
    return link;
  }

 private:
  const std::shared_ptr<SendContext> context_;
};

}  // namespace

TransportFactory VerbsSendTransports(VerbsSetup setup) {
  CHECK(setup.rendezvous != nullptr && setup.api != nullptr);
  return {kSendCapabilities,
          [setup = std::move(setup)](const TransportOptions& options)
              -> absl::StatusOr<std::unique_ptr<Transport>> {
            ASSIGN_OR_RETURN(auto loop,
                             LinkContext::LoopFor(options, options.spin));
            return std::make_unique<SendTransport>(
                std::make_shared<SendContext>(options, std::move(loop), setup));
          }};
}

}  // namespace kamino::transport
