// The events of a run, by kind: those kinds that are counted.
#ifndef KAMINO_TESTS_SIMULATION_TALLY_H_
#define KAMINO_TESTS_SIMULATION_TALLY_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace kamino::simulation {

enum class Kind : size_t {
  kStorm,       // of restarts
  kStaysDown,   // a node that had died too often
  kRemoval,     // an operator removed a node
  kDrain,       // likewise, once another node had its place
  kRefused,     // a manager refused an operator's command
  kDecay,       // in a chain of three or more
  kDecayOfTwo,  // in one of two
  kError,       // likewise
  kErrorOfTwo,
  kRot,
  kMixedFiles,
  kMismatch,        // a node is refused, as it differs from the others
  kFinalized,       // an operator finalizes a release
  kLacks,           // a member lacks what a client asks for
  kCleanRead,       // at a node other than the tail
  kNotClean,        // likewise, of objects being changed
  kSessionExpired,  // a client is told
  kSessionClosed,   // as its client asked
  kVoided,          // a number whose outcome was not known
  kSurvivor,        // a node continued before any other was back
  kCatchUp,         // a returning node got only the changes
  kWholeHeap,       // a node joined, by a copy of the whole heap
  kStranger,        // a process that is no member connected
  kStop,            // a planned stop of a node
  kStopOfAll,       // of all nodes
  kFull,            // a mutation found no room in the heap
  kCount,
};

inline constexpr std::array<const char*, static_cast<size_t>(Kind::kCount)>
    kKindNames = {"restart storms",
                  "nodes that stay down",
                  "removals",
                  "drains",
                  "operators refused",
                  "decays",
                  "decays in chains of two",
                  "errors",
                  "errors in chains of two",
                  "rot",
                  "mixed files",
                  "failed",
                  "finalizations",
                  "procedures that a member lacks",
                  "reads at clean replicas",
                  "reads of what was not clean",
                  "sessions that expire",
                  "sessions that are closed",
                  "numbers that are voided",
                  "survivors that go on alone",
                  "nodes that catch up",
                  "nodes that get the whole heap",
                  "strangers",
                  "planned stops",
                  "planned stops of all",
                  "mutations for which the heap is full"};

class Tally {
 public:
  void Count(Kind kind) { ++counts_[static_cast<size_t>(kind)]; }
  uint64_t of(Kind kind) const { return counts_[static_cast<size_t>(kind)]; }

  void Add(const Tally& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }
  // Counts each kind at most once: in how many runs it occurred.
  void AddRun(const Tally& run) {
    for (size_t i = 0; i < counts_.size(); ++i) {
      counts_[i] += run.counts_[i] > 0 ? 1 : 0;
    }
  }

 private:
  std::array<uint64_t, static_cast<size_t>(Kind::kCount)> counts_ = {};
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_TALLY_H_
