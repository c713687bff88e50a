// Operators that remove nodes from the chain and add them again, as by `kamino
// admin`. They ask the leader, look whether it was done, ask again if the
// request was lost, and give up when a manager tells why it cannot be done.
#ifndef KAMINO_TESTS_SIMULATION_OPERATOR_H_
#define KAMINO_TESTS_SIMULATION_OPERATOR_H_

#include <functional>
#include <map>
#include <string>

#include "membership/manager/manager_core.h"
#include "membership/manager/removals.h"
#include "tests/simulation/cluster.h"

namespace kamino::simulation {

class Operator {
 public:
  using Removal = membership::Removal;

  explicit Operator(Cluster* cluster);

  // Removes that node from the chain. Calls `out` once the node is known to be
  // out; it stays out until Add. If the removal is refused, the operator gives
  // up and adds the node again, unless he `insists`.
  void TakeOut(const std::string& node, Removal how, std::function<void()> out,
               bool insists = false);
  // The node may join again.
  void Add(const std::string& node);

  // A node is out, is to be removed, or may not be known to be in again.
  bool busy() const { return !tasks_.empty(); }
  // The chain may not count on that node.
  bool Wants(const std::string& node) const { return tasks_.count(node) > 0; }

  // Faults are over: adds every node that is out; every command must finish.
  void Finish();

 private:
  struct Task {
    bool adds = false;
    Removal how = Removal::kNow;
    std::function<void()> out;
    bool insists = false;
    bool is_out = false;
    std::string asked_of;  // the manager; "": none yet
    absl::Time asked;
    absl::Time since;
  };

  void Poll();
  void See(SimManager* leader, const std::string& node, Task* task);
  void Ask(SimManager* leader, const std::string& node, Task* task);
  // Adds nodes that no operator here removed: a view that was put back did.
  void AddAll(SimManager* leader);

  Cluster* const cluster_;
  World* const world_;
  std::map<std::string, Task> tasks_;  // by node
  bool polls_ = false;
  bool finishes_ = false;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_OPERATOR_H_
