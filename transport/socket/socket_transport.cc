#include "transport/socket/socket_transport.h"

#include <utility>

#include "base/clock.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "transport/socket/listen_port.h"

namespace kamino::transport {
namespace {

class SocketTransport final : public Transport {
 public:
  SocketTransport(std::shared_ptr<LinkContext> context,
                  std::shared_ptr<const SocketProtocol> protocol)
      : context_(std::move(context)), protocol_(std::move(protocol)) {}

  ~SocketTransport() override {
    LinkContext::CloseAll(context_);
    context_->EndLoop();
  }

  absl::StatusOr<std::unique_ptr<Listener>> Listen(
      const std::string& address, AcceptCallback acceptor) override {
    ASSIGN_OR_RETURN(SocketProtocol::Bound bound, protocol_->Bind(address));
    auto port = std::make_shared<ListenPort>(
        context_, protocol_, std::move(bound), std::move(acceptor));
    absl::Status status = absl::UnavailableError("the transport has stopped");
    context_->loop->RunSync([&] { status = port->Open(); });
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
    auto target = protocol_->TargetOf(address);
    if (!target.ok()) return target.status();
    auto link = protocol_->NewConnector(context_, address);
    if (!link.ok()) return link.status();
    const bool posted =
        context_->loop->Post([link = *link, target = *std::move(target),
                              handler = std::move(handler)]() mutable {
          link->StartConnecting(std::move(target), std::move(handler));
        });
    if (!posted) {
      return absl::UnavailableError("the transport is being destroyed");
    }
    return *std::move(link);
  }

  void Expect(const std::string& address) override {
    const auto target = protocol_->TargetOf(address);
    if (!target.ok() || target->host.empty()) return;
    // The resolver keeps what it finds.
    target->resolver->LookUp(target->host,
                             MonotonicNow() + context_->options.connect_timeout,
                             [](const absl::StatusOr<Resolver::Addresses>&) {});
  }

 private:
  const std::shared_ptr<LinkContext> context_;
  const std::shared_ptr<const SocketProtocol> protocol_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> MakeSocketTransport(
    const TransportOptions& options, absl::Duration spin,
    std::shared_ptr<const SocketProtocol> protocol) {
  ASSIGN_OR_RETURN(auto loop, LinkContext::LoopFor(options, spin));
  return std::make_unique<SocketTransport>(
      std::make_shared<LinkContext>(options, std::move(loop)),
      std::move(protocol));
}

}  // namespace kamino::transport
