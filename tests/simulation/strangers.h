// Processes that are no members and connect to nodes all the same: they say
// what they have seen members say, as it was, changed, or of an older view, and
// under the name of a member. They must be given nothing, and nobody may mind.
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

// In a cluster with certificates one has none of a node, and the other that of
// a node that is no member; they say whatever members do. In the clear who has
// seen all of that is as good as a member, so there they do not know in which
// life a member is.
class Strangers {
 public:
  Strangers(Cluster* cluster, uint64_t seed);
  ~Strangers();

  // From now on, until Stop. The run fails once one is given anything.
  void Start();
  void Stop();

 private:
  class Stranger;
  class Ear;  // at a stranger's end of a link

  void Note(const TimedNetwork::Passing& passing);
  void Act();
  // What is said next; "": nothing is known yet.
  std::string Hello();
  std::string Message();
  // Some of its bytes are others, or missing.
  void Mutate(std::string* frame);
  void Hear(const std::string& who, const std::string& frame);

  Cluster* const cluster_;
  World* const world_;
  Random random_;
  bool stopped_ = true;
  std::vector<std::unique_ptr<Stranger>> strangers_;
  // Of members; the last ones.
  std::deque<std::string> hellos_;
  std::deque<std::string> messages_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_STRANGERS_H_
