// Operators, who take nodes out of the chain and add them again, as by
// `kamino admin`: they ask whoever leads, look whether it is so, ask again if
// that was lost, and give up when they are told why it cannot be.
#ifndef KAMINO_TESTS_SIMULATION_OPERATOR_H_
#define KAMINO_TESTS_SIMULATION_OPERATOR_H_

#include <functional>
#include <map>
#include <string>

#include "membership/manager_core.h"
#include "tests/simulation/cluster.h"

namespace kamino::simulation {

class Operator {
 public:
  using Removal = membership::ManagerCore::Removal;

  explicit Operator(Cluster* cluster);

  // Has that node leave the chain. `out` is called once it is known to be out;
  // it stays out until Add. Who is refused gives up and adds it, unless it
  // `insists`.
  void TakeOut(const std::string& node, Removal how, std::function<void()> out,
               bool insists = false);
  // It may join again.
  void Add(const std::string& node);

  // Somebody is out, or is to be, or may not be known to be in again.
  bool busy() const { return !tasks_.empty(); }
  // Nobody may count on that node.
  bool Wants(const std::string& node) const { return tasks_.count(node) > 0; }

  // Faults are over: whoever is out is added, and what was asked for must come
  // to an end.
  void Finish();

 private:
  struct Task {
    bool adds = false;
    Removal how = Removal::kNow;
    std::function<void()> out;
    bool insists = false;
    bool is_out = false;
    std::string asked_of;  // the manager; "": nobody yet
    absl::Time asked;
    absl::Time since;
  };

  void Poll();
  void See(SimManager* leader, const std::string& node, Task* task);
  void Ask(SimManager* leader, const std::string& node, Task* task);
  // Those whom nobody here has taken out: by a view that was put back.
  void AddAll(SimManager* leader);

  Cluster* const cluster_;
  World* const world_;
  std::map<std::string, Task> tasks_;  // by node
  bool polls_ = false;
  bool finishes_ = false;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_OPERATOR_H_
