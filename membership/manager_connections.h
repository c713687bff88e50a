// A node's connections to managers, of which it asks one at a time.
//
// A call waits for a fraction of a second; to look a manager's name up may take
// longer. So a connection that is still being made when its call is over is
// kept until that manager is asked again: a lookup that began anew with each
// call would never end.
#ifndef KAMINO_MEMBERSHIP_MANAGER_CONNECTIONS_H_
#define KAMINO_MEMBERSHIP_MANAGER_CONNECTIONS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "grpcpp/channel.h"
#include "kamino/internal/v1/membership.grpc.pb.h"

namespace kamino::membership {

// Not thread-safe.
class ManagerConnections {
 public:
  using Stub = kamino::internal::v1::MembershipService::Stub;
  using Connect =
      std::function<std::shared_ptr<grpc::Channel>(const std::string& address)>;

  // Keeps `most` at a time, at least 1.
  ManagerConnections(Connect connect, size_t most);

  // Where a call to the manager goes; valid until the next call of a method.
  // The connection to the manager before is ended if it was made: it has
  // brought no answer that helps.
  Stub* To(const std::string& manager);

  // The next call to the manager goes by a new one.
  void End(const std::string& manager);

 private:
  struct Connection {
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<Stub> stub;
  };

  void Leave();

  const Connect connect_;
  const size_t most_;
  std::string current_;
  std::map<std::string, Connection> connections_;  // by address
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_CONNECTIONS_H_
