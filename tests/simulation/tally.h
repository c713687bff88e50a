// What befell a run, by kind: of those that are there to be counted.
#ifndef KAMINO_TESTS_SIMULATION_TALLY_H_
#define KAMINO_TESTS_SIMULATION_TALLY_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace kamino::simulation {

enum class Kind : size_t {
  kStorm,       // of restarts
  kStaysDown,   // a node that had died too often
  kRemoval,     // a node is out as an operator asked for it
  kDrain,       // likewise, once another had taken its place
  kRefused,     // an operator was told why not
  kDecay,       // in a chain of three or more
  kDecayOfTwo,  // in one of two
  kError,       // likewise
  kErrorOfTwo,
  kRot,
  kMixedFiles,
  kMisfit,          // a node is refused, as it differs from the others
  kLacks,           // a member lacks what a client asks for
  kCleanRead,       // at another node than the tail
  kNotClean,        // likewise, of what was being changed
  kSessionExpired,  // a client is told
  kSessionClosed,   // as its client asked
  kVoided,          // a number whose outcome was not known
  kSurvivor,        // a node that went on before any other one was back
  kCatchUp,         // a node came back and got what had changed alone
  kWholeHeap,       // a node joined, by a copy of the whole heap
  kStranger,        // somebody who is no member has connected
  kStop,            // a node was told to end
  kStopOfAll,       // all were
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
                  "misfits",
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
  // Each kind once at the most: for how many runs had it.
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
