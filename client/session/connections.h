// The client's session and its connections. Opens a connection to a node that
// is called often, while calls go as unary ones until it is open. Private to
// the library.
#ifndef KAMINO_CLIENT_SESSION_CONNECTIONS_H_
#define KAMINO_CLIENT_SESSION_CONNECTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/chain_id.h"
#include "client/lane_pool.h"
#include "client/session/carriers.h"
#include "client/session/connection.h"
#include "client/stubs.h"
#include "client/timer.h"
#include "kamino/v1/session.grpc.pb.h"
#include "rpc/cluster_identity.h"
#include "rpc/credentials.h"

namespace kamino::client {

struct ConnectionsOptions {
  // "": any carrier; "unary": no connections; otherwise as in Carriers.
  std::string carrier;
  uint32_t window = 1024;  // of the session
  absl::Duration lease = absl::Seconds(60);
  // A node that was called this often gets a connection.
  int worth = 16;
  std::shared_ptr<transport::VerbsApi> devices;         // as in Carriers
  std::shared_ptr<const rpc::Credentials> credentials;  // null: no TLS
  // The cluster that hellos and calls name. A connection to a node of another
  // cluster is closed. Null: they name none.
  std::shared_ptr<const rpc::ClusterIdentity> cluster;
};

// Thread-safe.
class Connections {
 public:
  // Called when the node at `address` has refused this client, with the reason.
  using Refused =
      std::function<void(const std::string& address, const absl::Status& why)>;
  // host:port of the last known head, or empty.
  using Head = std::function<std::string()>;

  // `lanes` and `timer` must outlive this, which has tasks at the timer.
  Connections(ConnectionsOptions options, LanePool* lanes, Timer* timer,
              Refused refused, Head head);
  // Call Stop before.
  ~Connections();

  // The connection for a call to the node at `address`; one for mutations has
  // the session. Null: send a unary call. Call it exactly once per call,
  // because it counts the calls.
  std::shared_ptr<Connection> Find(const std::string& address, bool mutates,
                                   ChainId chain_id);
  // For a mutation of the session `id`. Null: there is none now; `*expired`:
  // nor will there be.
  std::shared_ptr<Connection> FindOf(uint64_t id, const std::string& address,
                                     ChainId chain_id, bool* expired);

  // A node has answered that the session is not open.
  void Expired(uint64_t id);

  // Ends the session, waits briefly, and opens no more connections.
  void Stop();

 private:
  struct Route {
    int uses = 0;
    bool opening = false;
    absl::Time not_before = absl::InfinitePast();  // of the next attempt
    int failures = 0;
    std::shared_ptr<Connection> connection;
  };
  using Key = std::pair<std::string, bool>;  // address, mutates
  struct Attempt;

  std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address) const;
  void Dial(const Key& key, ChainId chain_id);
  void TryWay(std::shared_ptr<Attempt> attempt);
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
  // The hello was not welcomed. If it was to open a session, the next hello
  // names another one: a late first hello could reopen the session after its
  // end, and its numbers would be used again.
  void ForgetHello(const Attempt& attempt);
  void OnSession(const kamino::v1::SessionName& session);
  void OnRefused(const std::shared_ptr<Attempt>& attempt,
                 const absl::Status& why);
  void Done(const std::shared_ptr<Attempt>& attempt,
            std::shared_ptr<Connection> connection);
  // The next hello opens another session.
  void LoseSession() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the connection has the session of new calls.
  bool IsOfSession(const Connection& connection) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return connection.welcome().session().id() == session_.id();
  }
  void Tick();
  void KeepAlive(ChainId chain_id);
  bool Quiet() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return attempts_ == 0 && !ticking_;
  }

  const ConnectionsOptions options_;
  LanePool* const lanes_;
  Timer* const timer_;
  const Refused refused_;
  const Head head_;
  Stubs<kamino::v1::SessionService> stubs_;

  absl::Mutex mutex_;
  std::map<Key, Route> routes_ ABSL_GUARDED_BY(mutex_);
  // Connections of expired sessions or to other clusters, kept until no call is
  // under way over them.
  std::vector<std::shared_ptr<Connection>> retired_ ABSL_GUARDED_BY(mutex_);
  // The session in the next hello; epoch 0: not open yet.
  kamino::v1::SessionName session_ ABSL_GUARDED_BY(mutex_);
  // A hello that opens the session is in flight. A second one must not be: if
  // late, it could reopen a session that was used and closed meanwhile.
  bool opening_session_ ABSL_GUARDED_BY(mutex_) = false;
  ChainId chain_id_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time keep_alive_at_ ABSL_GUARDED_BY(mutex_);
  int attempts_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ticking_ ABSL_GUARDED_BY(mutex_) = false;  // the timer has a task
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::BitGen random_ ABSL_GUARDED_BY(mutex_);

  Carriers carriers_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_SESSION_CONNECTIONS_H_
