// Processes that are no members and connect to nodes nevertheless. They send
// messages that they saw members send, unchanged, changed, or from an older
// view, and under a member's name. They must be given nothing, and must do no
// harm.
#ifndef KAMINO_TESTS_SIMULATION_STRANGERS_H_
#define KAMINO_TESTS_SIMULATION_STRANGERS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/cluster.h"
#include "tests/simulation/random.h"
#include "tests/simulation/timed_network.h"
#include "tests/simulation/world.h"
#include "transport/link.h"

namespace kamino::simulation {

// In a cluster with certificates one has no node's certificate, and the other
// that of a node that is no member; they send whatever members send. In the
// clear, a stranger that has seen all of that equals a member, so there they do
// not know a member's incarnation.
class Strangers {
 public:
  Strangers(Cluster* cluster, uint64_t seed);
  ~Strangers();

  // Runs from now on, until Stop. The run fails once a stranger is given
  // anything.
  void Start();
  void Stop();

 private:
  class Stranger;
  class Ear;  // at a stranger's end of a link

  void Note(const TimedNetwork::Passing& passing);
  void Act();
  // The next message; "": nothing is known yet.
  std::string Hello();
  std::string Message();
  // Changes or removes some of its bytes.
  void Mutate(std::string* frame);
  void Hear(const std::string& who, const std::string& frame);

  Cluster* const cluster_;
  World* const world_;
  Random random_;
  bool stopped_ = true;
  std::vector<std::unique_ptr<Stranger>> strangers_;
  // The last hellos of members.
  std::deque<std::string> hellos_;
  std::deque<std::string> messages_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_STRANGERS_H_
