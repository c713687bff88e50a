#include "transport/verbs/verbs_transport.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "transport/verbs/verbs_context.h"
#include "transport/verbs/verbs_link.h"

namespace kamino::transport {
namespace {

// Hands offers of strangers to the loop, up to a limit.
class VerbsPort final : public LoopPort,
                        public std::enable_shared_from_this<VerbsPort> {
 public:
  VerbsPort(std::shared_ptr<VerbsContext> context, AcceptCallback acceptor)
      : context_(std::move(context)), gate_(std::make_shared<AcceptGate>()) {
    gate_->acceptor = std::move(acceptor);
    gate_->open = false;
  }

  // The loop's thread only, as everything but address().
  absl::Status Open(const std::string& address) {
    if (context_->stopping) {
      return absl::UnavailableError("the transport is being destroyed");
    }
    auto bound = context_->rendezvous().Listen(
        address, [port = std::weak_ptr<VerbsPort>(shared_from_this()),
                  loop = context_->loop](const VerbsEndpoint& offer,
                                         VerbsRendezvous::Reply reply) {
          const bool posted = loop->Post([port, offer, reply] {
            auto held = port.lock();
            if (held == nullptr) {
              return reply(absl::UnavailableError("nobody listens any more"));
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

  void Close() override {
    if (!gate_->open) return;
    const std::shared_ptr<VerbsPort> keep = shared_from_this();
    context_->rendezvous().StopListening(gate_->address);
    context_->ports.erase(keep);
    ShutGate(*context_, gate_.get());
  }

  const std::string& address() const override { return gate_->address; }

 private:
  void OnOffer(const VerbsEndpoint& offer,
               const VerbsRendezvous::Reply& reply) {
    if (!gate_->open) {
      return reply(absl::UnavailableError("nobody listens any more"));
    }
    if (gate_->live >= context_->options.max_accepted) {
      TellRefusal(gate_.get(), "a verbs link",
                  absl::StrCat(gate_->live, " links are accepted already"));
      return reply(absl::UnavailableError("too many links"));
    }
    auto port = context_->Port();
    if (!port.ok()) return reply(port.status());
    auto wire = VerbsWire::Create(*port, context_->options.ring_bytes);
    if (!wire.ok()) return reply(wire.status());
    auto link = std::make_shared<VerbsLink>(
        context_,
        absl::StrCat("pair ", offer.address.number, " of ", offer.device),
        *std::move(wire));
    link->StartAccepting(offer, gate_, reply);
  }

  const std::shared_ptr<VerbsContext> context_;
  const std::shared_ptr<AcceptGate> gate_;
};

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
    auto port = std::make_shared<VerbsPort>(context_, std::move(acceptor));
    absl::Status status = absl::UnavailableError("the transport has stopped");
    context_->loop->RunSync([&] { status = port->Open(address); });
    if (!status.ok()) return status;
    return std::make_unique<LoopListener>(context_->loop, std::move(port));
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
