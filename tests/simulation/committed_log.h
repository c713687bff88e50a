// Every operation of the chain, in order, as its tails have applied it: what
// happened, from where nobody can be mistaken about it.
#ifndef KAMINO_TESTS_SIMULATION_COMMITTED_LOG_H_
#define KAMINO_TESTS_SIMULATION_COMMITTED_LOG_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tests/simulation/world.h"

namespace kamino::simulation {

class CommittedLog {
 public:
  explicit CommittedLog(World* world) : world_(world) {}

  // A node has `operation` in its ring.
  void OnAppended(uint64_t sequence) { newest_ = std::max(newest_, sequence); }
  uint64_t newest() const { return newest_; }

  // A tail has applied it. From now on it stays.
  void OnTailApplied(const std::string& node, uint64_t sequence,
                     absl::string_view operation) {
    if (sequence <= size()) return;
    if (sequence != size() + 1) {
      world_->Fail(absl::DataLossError(
          absl::StrCat(node, " as tail has applied operation ", sequence,
                       ", but no tail has applied ", size() + 1)));
      return;
    }
    operations_.emplace_back(operation);
    world_->trace().Mix(operation.size());
  }

  uint64_t size() const { return operations_.size(); }
  const std::string& operation(uint64_t sequence) const {
    return operations_[sequence - 1];
  }

 private:
  World* const world_;
  uint64_t newest_ = 0;
  std::vector<std::string> operations_;  // number 1 first
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_COMMITTED_LOG_H_
