// The connections of a client and the session of its mutations. Opens a
// connection to a node that is called often, while calls go as unary ones until
// it is open; ends overdue requests, and keeps the session alive. Private to
// the library.
#ifndef KAMINO_CLIENT_SESSION_CONNECTIONS_H_
#define KAMINO_CLIENT_SESSION_CONNECTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/chain_id.h"
#include "client/lane_pool.h"
#include "client/session/connection.h"
#include "client/session/dialer.h"
#include "client/session/route_table.h"
#include "client/session/session.h"
#include "client/timer.h"

namespace kamino::client {

struct ConnectionsOptions {
  // The carrier "unary": no connections.
  DialerOptions dialer;
  SessionOptions session;
  // A node that was called this often gets a connection.
  int worth = 16;
};

// Thread-safe.
class Connections {
 public:
  // Called when the node at `address` has refused this client, with the reason.
  using Refused =
      std::function<void(const std::string& address, const absl::Status& why)>;

  // `lanes` must outlive this. `timer` ends after Stop and before this object,
  // which its tasks use.
  Connections(ConnectionsOptions options, LanePool* lanes, Timer* timer,
              Refused refused, Dialer::Head head);
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
  void OnDialed(const RouteTable::Key& key, bool opens_session,
                Dialer::Outcome outcome);
  void Tick();
  void KeepAlive(ChainId chain_id);
  bool Quiet() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return attempts_ == 0 && !ticking_;
  }

  const bool unary_;
  LanePool* const lanes_;
  Timer* const timer_;
  const Refused refused_;
  const Dialer::Head head_;
  Session session_;

  absl::Mutex mutex_;  // before the session's
  RouteTable routes_ ABSL_GUARDED_BY(mutex_);
  ChainId chain_id_ ABSL_GUARDED_BY(mutex_) = 0;
  int attempts_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ticking_ ABSL_GUARDED_BY(mutex_) = false;  // the timer has a task
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  Dialer dialer_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_SESSION_CONNECTIONS_H_
