// Every log entry of the chain, in order, as its tails applied it, with the
// numbers of its mutations. Checks take it as the truth about the run.
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

  struct Entry {
    uint64_t first;
    uint64_t last;
    std::string bytes;
  };

  // A node has the mutation in its ring.
  void OnAppended(uint64_t sequence) { newest_ = std::max(newest_, sequence); }
  uint64_t newest() const { return newest_; }

  // A tail has applied the next entry, which begins with size() + 1. It is
  // never removed again, except by CutAfter.
  void OnTailApplied(uint64_t last, absl::string_view bytes) {
    entries_.push_back({size() + 1, last, std::string(bytes)});
    world_->trace().Mix(bytes.size());
  }

  // Drops the entries after it: the chain was recovered by force.
  void CutAfter(uint64_t sequence) {
    while (size() > sequence) entries_.pop_back();
  }

  // The number of the last mutation.
  uint64_t size() const { return entries_.empty() ? 0 : entries_.back().last; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  World* const world_;
  uint64_t newest_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_COMMITTED_LOG_H_
