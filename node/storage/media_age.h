// Checks whether the regions of a node are of the same age. Files can be
// restored from a copy one by one, or from two copies: each of them is valid,
// but together they are a state that never existed.
//
// Two things show it. All regions have the same stamp, which changes at each
// start. And each has its applied position of the chain's log
// (replica::AppliedMark), so that two copies from one start are told apart as
// soon as more than one drain lies between them.
#ifndef KAMINO_NODE_STORAGE_MEDIA_AGE_H_
#define KAMINO_NODE_STORAGE_MEDIA_AGE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/pmem/region.h"
#include "replica/log/applied_mark.h"

namespace kamino::node {

struct MediaStamp {
  uint64_t incarnation = 0;
  uint64_t nonce = 0;

  friend bool operator==(const MediaStamp& a, const MediaStamp& b) {
    return a.incarnation == b.incarnation && a.nonce == b.nonce;
  }
};

// A nonce for the stamp after `last`; `salt` is random for each. Never 0.
uint64_t NextNonce(const MediaStamp& last, uint64_t salt);

// The stamp and mark of the heap or of the undo copy. (Those of the ring are
// the node's record and the ring's own mark.)
class MediaAge {
 public:
  // `name` is the region's, for error texts. The region must outlive this.
  MediaAge(engine::Region* region, std::string name);

  // Durable on return.
  void SetStamp(const MediaStamp& stamp);
  replica::AppliedMark* mark() { return &mark_; }
  // The applied position, once Check has read the mark.
  uint64_t applied() const { return mark_.end(); }

  // The ring's stamp and mark.
  struct Ring {
    std::string name;
    MediaStamp stamp;
    uint64_t next_nonce = 0;  // of the next stamp, while it is written; or 0
    uint64_t begin = 0;       // of its mark
    uint64_t end = 0;
    uint64_t cleaned = 0;
    uint64_t received = 0;
  };
  // Whether this region and the ring are of the same age. kFailedPrecondition:
  // they are not; says which is older. kDataLoss: damaged.
  absl::Status Check(const Ring& ring);
  // The same with another region; both were checked with the ring.
  absl::Status CheckBeside(const MediaAge& other) const;

 private:
  // kDataLoss: damaged. All zeros: it was never set.
  absl::Status ReadStamp(MediaStamp* stamp) const;
  absl::Status CheckStamp(const Ring& ring) const;

  engine::Region* const region_;
  const std::string name_;
  replica::AppliedMark mark_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_MEDIA_AGE_H_
