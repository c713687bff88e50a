// Carries the frames of one connection in both directions: a link, or a gRPC
// stream.
#ifndef KAMINO_NODE_SESSION_SESSION_CARRIER_H_
#define KAMINO_NODE_SESSION_SESSION_CARRIER_H_

#include <cstddef>
#include <string>

namespace kamino::node {

// Core thread only.
class SessionCarrier {
 public:
  virtual ~SessionCarrier() = default;

  // Takes the frame in order, whatever the peer does.
  virtual void Send(std::string frame) = 0;

  // Answers of one batch leave as a frame once they have so many bytes, so that
  // the peer works on those while this node works on the rest. Larger if a
  // frame costs more.
  virtual size_t piece_bytes() const { return 16 << 10; }

  // Bytes of frames that Send took and that have not left.
  virtual size_t unsent() const = 0;

  // Bytes received of an incomplete frame.
  virtual size_t unfinished() const { return 0; }

  // Queued frames may still leave; then the peer is told of the end. The server
  // may still receive frames that had arrived, and the end.
  virtual void Close() = 0;

  // Ends the connection now and drops queued frames.
  virtual void Abort() = 0;

  // The peer has received some, after it received none for a while.
  virtual void OnWritable() {}

  // For log lines.
  virtual std::string peer() const = 0;

  // The identity that the peer has proved, as a URI (security/identity.h), from
  // the first frame on; "": none.
  virtual std::string identity() const { return ""; }
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_SESSION_CARRIER_H_
