// A gRPC stream that carries one connection of a session. It stops reading
// while the core thread has more than a few of its frames to do, so that gRPC's
// flow control slows a faster client down; those few are done together.
#ifndef KAMINO_NODE_RPC_SESSION_STREAM_H_
#define KAMINO_NODE_RPC_SESSION_STREAM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "kamino/v1/session.grpc.pb.h"
#include "node/rpc/incoming_frames.h"
#include "node/rpc/outgoing_frames.h"
#include "node/session/session_server.h"
#include "rpc/call_guard.h"

namespace kamino::node {

// Thread-safe. Lives until gRPC is done with it and the carrier is gone.
class SessionStream final
    : public grpc::ServerBidiReactor<kamino::v1::SessionFrame,
                                     kamino::v1::SessionFrame>,
      public std::enable_shared_from_this<SessionStream> {
 public:
  // For gRPC, which ends it.
  static SessionStream* Start(SessionServer* server,
                              grpc::CallbackServerContext* context);

  // For the carrier.
  void Send(std::string frame);
  size_t unsent() const;
  // Sends what is queued, then ends the stream.
  void Close();
  // Ends it now, whatever the client has received.
  void Abort();
  const std::string& peer() const { return peer_; }
  const std::string& identity() const { return identity_; }

 private:
  // The gRPC call to make after releasing the lock: it may call back at once.
  enum class Next { kNothing, kRead, kWrite, kFinish };

  SessionStream(SessionServer* server, grpc::CallbackServerContext* context)
      : server_(server),
        id_(server->NewId()),
        peer_(context->peer()),
        identity_(rpc::IdentityOf(*context)),
        context_(context) {}

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void OnFrameTaken(size_t bytes);
  Next ReadOrElseLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadNext();
  Next NextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(Next next);

  SessionServer* const server_;
  const uint64_t id_;
  const std::string peer_;
  const std::string identity_;
  grpc::CallbackServerContext* const context_;  // until Finish
  std::shared_ptr<SessionStream> self_;         // until OnDone

  kamino::v1::SessionFrame in_;   // gRPC's from StartRead to OnReadDone
  kamino::v1::SessionFrame out_;  // gRPC's from StartWrite to OnWriteDone

  mutable absl::Mutex mutex_;
  OutgoingFrames outgoing_ ABSL_GUARDED_BY(mutex_);
  IncomingFrames incoming_ ABSL_GUARDED_BY(mutex_);
  // A thread is about to call TryCancel: Finish must wait for that call.
  bool cancelling_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_SESSION_STREAM_H_
