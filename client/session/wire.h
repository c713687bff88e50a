// The client's end of a connection that carries frames: a link or a gRPC
// stream. Private to the library.
#ifndef KAMINO_CLIENT_SESSION_WIRE_H_
#define KAMINO_CLIENT_SESSION_WIRE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kamino/v1/session.grpc.pb.h"
#include "transport/link.h"

namespace kamino::client {

// Called on the wire's thread, one at a time, never from inside Send or Close.
class WireHandler {
 public:
  virtual ~WireHandler() = default;
  virtual void OnFrame(absl::string_view frame) = 0;
  // Called once, last; never OK.
  virtual void OnWireClosed(const absl::Status& why) = 0;
};

// Thread-safe. Keeps itself and its handler alive until OnWireClosed.
class Wire {
 public:
  virtual ~Wire() = default;
  // Frames are sent in the order of the calls, once the wire is connected.
  virtual void Send(std::string frame) = 0;
  // OnWireClosed follows. Frames sent before may be lost.
  virtual void Close() = 0;
};

// Makes a wire to one node; null: not possible.
using WireMaker =
    std::function<std::shared_ptr<Wire>(std::shared_ptr<WireHandler> handler)>;

// `transport` must outlive the wire, or end it. `node`: the identity that the
// other end must prove, as a URI, if there are certificates; otherwise nothing
// is sent.
std::shared_ptr<Wire> OpenLinkWire(transport::Transport* transport,
                                   const std::string& address,
                                   const std::string& node,
                                   std::shared_ptr<WireHandler> handler);
std::shared_ptr<Wire> OpenStreamWire(
    std::shared_ptr<kamino::v1::SessionService::Stub> stub,
    std::shared_ptr<WireHandler> handler);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_SESSION_WIRE_H_
