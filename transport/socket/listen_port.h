// A listening socket on the loop: admits incoming connections up to a limit and
// makes each a SocketLink, which requires a preface before it calls the
// acceptor.
#ifndef KAMINO_TRANSPORT_SOCKET_LISTEN_PORT_H_
#define KAMINO_TRANSPORT_SOCKET_LISTEN_PORT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "transport/socket/socket_link.h"
#include "transport/socket/socket_transport.h"

namespace kamino::transport {

// The loop's thread only, except the constructor and address().
class ListenPort final : public LoopPort,
                         public std::enable_shared_from_this<ListenPort> {
 public:
  ListenPort(std::shared_ptr<LinkContext> context,
             std::shared_ptr<const SocketProtocol> protocol,
             SocketProtocol::Bound bound, AcceptCallback acceptor);
  ~ListenPort() override;

  // Starts accepting. kUnavailable: the transport is being destroyed.
  absl::Status Open();

  void Close() override;
  const std::string& address() const override { return gate_->address; }

 private:
  void AcceptAll();
  void Admit(UniqueFd socket);
  void Release();

  const std::shared_ptr<LinkContext> context_;
  const std::shared_ptr<const SocketProtocol> protocol_;
  const std::shared_ptr<AcceptGate> gate_;
  SocketProtocol::Bound bound_;
  EventLoop::Id watch_ = 0;
  EventLoop::Id retry_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_LISTEN_PORT_H_
