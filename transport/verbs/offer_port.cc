#include "transport/verbs/offer_port.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace kamino::transport {

absl::StatusOr<std::unique_ptr<Listener>> OfferPort::Listen(
    std::shared_ptr<VerbsContext> context, const std::string& address,
    AcceptCallback acceptor, Taker taker) {
  const std::shared_ptr<EventLoop> loop = context->loop;
  auto port = std::make_shared<OfferPort>(
      std::move(context), std::move(acceptor), std::move(taker));
  absl::Status status = absl::UnavailableError("the transport has stopped");
  loop->RunSync([&] { status = port->Open(address); });
  if (!status.ok()) return status;
  return std::make_unique<LoopListener>(loop, std::move(port));
}

OfferPort::OfferPort(std::shared_ptr<VerbsContext> context,
                     AcceptCallback acceptor, Taker taker)
    : context_(std::move(context)),
      taker_(std::move(taker)),
      gate_(std::make_shared<AcceptGate>(context_->options,
                                         std::move(acceptor))) {
  gate_->open = false;
}

absl::Status OfferPort::Open(const std::string& address) {
  if (context_->stopping) {
    return absl::UnavailableError("the transport is being destroyed");
  }
  auto bound = context_->rendezvous().Listen(
      address, [port = std::weak_ptr<OfferPort>(shared_from_this()),
                loop = context_->loop](const VerbsEndpoint& offer,
                                       VerbsRendezvous::Reply reply) {
        const bool posted = loop->Post([port, offer, reply] {
          auto held = port.lock();
          if (held == nullptr) {
            return reply(absl::UnavailableError("the listener was closed"));
          }
          held->OnOffer(offer, reply);
        });
        if (!posted) {
          reply(absl::UnavailableError("the transport has stopped"));
        }
      });
  if (!bound.ok()) return bound.status();
  gate_->address = *bound;
  gate_->open = true;
  context_->ports.insert(shared_from_this());
  return absl::OkStatus();
}

void OfferPort::Close() {
  if (!gate_->open) return;
  const std::shared_ptr<OfferPort> keep = shared_from_this();
  context_->rendezvous().StopListening(gate_->address);
  context_->ports.erase(keep);
  ShutGate(gate_.get());
}

void OfferPort::OnOffer(const VerbsEndpoint& offer,
                        const VerbsRendezvous::Reply& reply) {
  if (!gate_->open) {
    return reply(absl::UnavailableError("the listener was closed"));
  }
  // Links that are not established hold as much as the others.
  if (static_cast<int>(gate_->all()) >= context_->options.max_accepted) {
    gate_->TellRefusal(
        "a verbs link", LinkRefusal::kTooMany,
        absl::StrCat(gate_->all(), " links are accepted already"));
    return reply(absl::UnavailableError("too many links"));
  }
  taker_(offer, gate_, reply);
}

}  // namespace kamino::transport
