// The connections of a client to its nodes: decides which one a call takes, and
// when a node that has none is worth dialing. Reads and mutations have routes
// of their own, because only connections for mutations have the session.
// Private to the library.
#ifndef KAMINO_CLIENT_SESSION_ROUTE_TABLE_H_
#define KAMINO_CLIENT_SESSION_ROUTE_TABLE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/random/random.h"
#include "absl/time/time.h"
#include "client/session/connection.h"
#include "client/session/session.h"

namespace kamino::client {

// Not thread-safe.
class RouteTable {
 public:
  struct Key {
    std::string address;
    bool mutates = false;

    auto operator<=>(const Key&) const = default;
  };

  // A node that was called `worth` times gets a connection. `session` must
  // outlive this.
  RouteTable(int worth, const Session* session)
      : worth_(worth), session_(session) {}

  // The connection of the route; one for mutations has the present session.
  // Null: there is none now.
  std::shared_ptr<Connection> Find(const Key& key);
  // Counts a call that found no connection.
  void CountCall(const Key& key) { ++routes_[key].calls; }
  // From now on the route is worth a connection.
  void CountSession(const Key& key) { routes_[key].calls += worth_; }

  // Whether the route deserves a connection and may be dialed now.
  bool WantsDial(const Key& key, absl::Time now);
  void BeginDial(const Key& key) { routes_[key].dialing = true; }
  // Null: the attempt has failed, and the next one waits.
  void EndDial(const Key& key, std::shared_ptr<Connection> connection,
               absl::Time now);

  // Keeps a connection that no new call takes until no call is under way over
  // it, and it has ended.
  void Retire(std::shared_ptr<Connection> connection);
  // Retires the connections of a session that has ended: requests that are
  // outstanding on them are still answered.
  void RetireForMutations();
  // Closes retired connections that are idle, and drops those that have ended.
  void Sweep();

  // A connection for mutations, to `head` if there is one. Null: none is open.
  std::shared_ptr<Connection> FindForMutations(const std::string& head) const;
  // All connections, with the retired ones.
  std::vector<std::shared_ptr<Connection>> All() const;
  void Clear();

 private:
  struct Route {
    int calls = 0;
    bool dialing = false;
    absl::Time not_before = absl::InfinitePast();  // of the next attempt
    int failures = 0;
    std::shared_ptr<Connection> connection;
  };

  const int worth_;
  const Session* const session_;
  std::map<Key, Route> routes_;
  std::vector<std::shared_ptr<Connection>> retired_;
  absl::BitGen random_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_SESSION_ROUTE_TABLE_H_
