// A node's knowledge of each range of its heap: what the members agreed on, and
// whether its bytes are its own. Volatile.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_STATE_RANGE_STATES_H_
#define KAMINO_REPLICA_STATE_RANGE_STATES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace kamino::replica {

class RangeStates {
 public:
  enum class Origin : uint8_t {
    kOwn,       // executed by this node, or confirmed by others
    kCopied,    // came with a state transfer
    kBorrowed,  // in part repaired from a neighbour, not confirmed by a hash
  };

  explicit RangeStates(uint64_t ranges)
      : agreed_(ranges), origin_(ranges, Origin::kOwn), foreign_(0) {}

  uint64_t count() const { return agreed_.size(); }

  // Forgets everything; all ranges get this origin.
  void Reset(Origin origin);

  // An operation stores to it.
  void OnWritten(uint64_t range);
  // A neighbour's bytes are stored to it.
  void OnBorrowed(uint64_t range);

  // Its digest is taken now; later writes are not in it.
  void Begin(uint64_t range);
  // The members agree on that digest.
  void Agree(uint64_t range, uint64_t digest);

  // The last agreed digest, unless the range was written since; 0: unknown.
  uint64_t agreed(uint64_t range) const { return agreed_[range]; }
  Origin origin(uint64_t range) const { return origin_[range]; }
  // All ranges are this node's own.
  bool all_own() const { return foreign_ == 0; }

 private:
  void SetOrigin(uint64_t range, Origin origin);

  struct Begun {
    uint64_t range;
    bool written = false;
    bool borrowed = false;
  };

  std::vector<uint64_t> agreed_;
  std::vector<Origin> origin_;
  size_t foreign_;  // ranges that are not kOwn
  std::optional<Begun> begun_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_RANGE_STATES_H_
