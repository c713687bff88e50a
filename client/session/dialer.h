// Opens connections to nodes. An attempt asks the node for its carriers and
// tries one way after the other until the node welcomes the hello. Private to
// the library.
#ifndef KAMINO_CLIENT_SESSION_DIALER_H_
#define KAMINO_CLIENT_SESSION_DIALER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/chain_id.h"
#include "client/session/carriers.h"
#include "client/session/connection.h"
#include "client/session/session.h"
#include "client/stubs.h"
#include "client/timer.h"
#include "kamino/v1/session.grpc.pb.h"
#include "rpc/cluster_identity.h"
#include "rpc/credentials.h"

namespace kamino::client {

struct DialerOptions {
  std::string carrier;                                  // as in Carriers
  std::shared_ptr<transport::VerbsApi> devices;         // as in Carriers
  std::shared_ptr<const rpc::Credentials> credentials;  // null: no TLS
  // The cluster that hellos and calls name. A connection to a node of another
  // cluster is closed. Null: they name none.
  std::shared_ptr<const rpc::ClusterIdentity> cluster;
};

// Thread-safe. No attempt may be under way at its end.
class Dialer {
 public:
  // host:port of the last known head, or empty.
  using Head = std::function<std::string()>;

  struct Outcome {
    absl::Status status;
    // The open connection. After an error: null, or a closed connection to a
    // node of another cluster, which the caller keeps until it has ended.
    std::shared_ptr<Connection> connection;
    uint64_t session_id = 0;  // in the last hello; 0: none
  };
  using Done = std::function<void(Outcome outcome)>;

  // `session` must outlive this. `timer` ends after Stop and before this
  // object, which its tasks use.
  Dialer(DialerOptions options, Session* session, Timer* timer, Head head);

  // Calls `done` once, on another thread, as the attempt's last act: this
  // object may be destroyed while `done` runs. `session`: as from
  // Session::BeginAttempt; nullopt: the connection has no session.
  void Dial(const std::string& address,
            std::optional<kamino::v1::SessionName> session, ChainId chain_id,
            Done done);
  // Gives up the attempts that are under way, and soon those that begin later.
  void Stop();

 private:
  struct Attempt;

  std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address) const;
  void TryWay(const std::shared_ptr<Attempt>& attempt);
  // Closes `opening` at `deadline` if it is not open by then; earlier when this
  // object stops, or when the node at `head` is no longer the head. An empty
  // `head`: the connection does not depend on which node is the head.
  void GiveUpAt(absl::Time deadline, const std::string& head,
                std::weak_ptr<Connection> opening);
  // Not OK: the node that answered the hello belongs to another cluster.
  absl::Status CheckCluster(const std::string& address,
                            const kamino::v1::SessionWelcome& welcome) const;
  void OnOpened(const std::shared_ptr<Attempt>& attempt,
                const std::shared_ptr<Connection>& connection,
                absl::StatusOr<kamino::v1::SessionWelcome> welcome);
  void End(const std::shared_ptr<Attempt>& attempt, const absl::Status& status,
           std::shared_ptr<Connection> connection);
  // Ends one use of the attempt. The last use calls `done`, after which this
  // object may no longer exist.
  void Leave(const std::shared_ptr<Attempt>& attempt);
  bool stopping() const {
    absl::MutexLock lock(&mutex_);
    return stopping_;
  }

  const DialerOptions options_;
  Session* const session_;
  Timer* const timer_;
  const Head head_;
  Stubs<kamino::v1::SessionService> stubs_;

  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  Carriers carriers_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_SESSION_DIALER_H_
