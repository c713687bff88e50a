// The names of a simulated network: a slow name server, and a process's cache
// of its answers.
#ifndef KAMINO_TESTS_SIMULATION_TIMED_NAMES_H_
#define KAMINO_TESTS_SIMULATION_TIMED_NAMES_H_

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "tests/simulation/world.h"
#include "transport/socket/resolver.h"

namespace kamino::simulation {

// Shared by all processes of a network.
struct NameServer {
  absl::Duration takes;  // infinite: it does not answer
};

// A process's names. Its lookups always find the name: addresses are names
// here.
class TimedNames final : public transport::Resolver,
                         public std::enable_shared_from_this<TimedNames> {
 public:
  // Both outlive it.
  TimedNames(World* world, const NameServer* server)
      : world_(world), server_(server) {}

  void LookUp(const std::string& host, absl::Time deadline,
              Answer answer) override;
  Addresses LastGood(const std::string& host) const override;

  // Calls `go` once: when the lookup has ended or, when it is late, if one has
  // ended before: like a SocketLink, which may go to the last good address.
  void Find(const std::string& host, std::function<void()> go);

 private:
  World* const world_;
  const NameServer* const server_;
  std::set<std::string> known_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_TIMED_NAMES_H_
