// What a node knows of each range of its heap: what the members agreed on, and
// whether its bytes are its own. Volatile.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_RANGE_BOOK_H_
#define KAMINO_REPLICA_RANGE_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace kamino::replica {

class RangeBook {
 public:
  enum class Origin : uint8_t {
    kOwn,       // what this node has executed, or others have borne out
    kCopied,    // came with a state transfer
    kBorrowed,  // some of it a neighbour has mended, and no hash bears it out
  };

  explicit RangeBook(uint64_t ranges)
      : agreed_(ranges), origin_(ranges, Origin::kOwn), foreign_(0) {}

  uint64_t ranges() const { return agreed_.size(); }

  // Nothing is known of it; of all ranges this is the origin.
  void Reset(Origin origin);

  // An operation stores to it.
  void OnWritten(uint64_t range);
  // A neighbour's bytes are stored to it.
  void OnBorrowed(uint64_t range);

  // Its digest is taken now: what is written from here on comes after that.
  void Begin(uint64_t range);
  // That digest is what the members agree on.
  void Agree(uint64_t range, uint64_t digest);

  // What they agreed on last, unless it was written to since; 0: not known.
  uint64_t agreed(uint64_t range) const { return agreed_[range]; }
  Origin origin(uint64_t range) const { return origin_[range]; }
  // No range is another's.
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

#endif  // KAMINO_REPLICA_RANGE_BOOK_H_
