// What brings the frames of one connection, and takes those that answer: a
// link, or a stream of gRPC's.
#ifndef KAMINO_NODE_SESSION_SESSION_CARRIER_H_
#define KAMINO_NODE_SESSION_SESSION_CARRIER_H_

#include <cstddef>
#include <string>

namespace kamino::node {

// Core thread only.
class SessionCarrier {
 public:
  virtual ~SessionCarrier() = default;

  // Takes the frame, whatever the peer does; in order.
  virtual void Send(std::string frame) = 0;

  // Answers of one batch leave once they are so many bytes, as frames of their
  // own: the peer works at those while this node works at the rest. More where
  // a frame costs more.
  virtual size_t piece_bytes() const { return 16 << 10; }

  // Bytes of frames that Send took and that are still here.
  virtual size_t unsent() const = 0;

  // Bytes here of a frame that has not come whole.
  virtual size_t unfinished() const { return 0; }

  // What was sent may still leave; then the peer is told that this is the end.
  // The server may hear of frames that had come, and of the end.
  virtual void Close() = 0;

  // The connection ends now, and what is here with it.
  virtual void Abort() = 0;

  // The peer has taken some, after it took none for a while.
  virtual void OnWritable() {}

  // For log lines.
  virtual std::string peer() const = 0;

  // Who the peer has proved to be, as a URI (security/identity.h), from the
  // first frame on; "": nobody.
  virtual std::string identity() const { return ""; }
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_SESSION_CARRIER_H_
