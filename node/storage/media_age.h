// Whether the regions of a node are of one age. Files can be put back from a
// copy one by one, or come from two copies: each of them is right in itself,
// and together they are a state that never was.
//
// Two things tell. All regions have one stamp, another one each time they are
// opened. And each says how far the chain's log is applied
// (replica::AppliedMark), so that within one time two copies are told apart as
// soon as more than one drain lies between them.
#ifndef KAMINO_NODE_STORAGE_MEDIA_AGE_H_
#define KAMINO_NODE_STORAGE_MEDIA_AGE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/pmem/region.h"
#include "replica/applied_mark.h"

namespace kamino::node {

struct MediaStamp {
  uint64_t incarnation = 0;
  uint64_t nonce = 0;

  friend bool operator==(const MediaStamp& a, const MediaStamp& b) {
    return a.incarnation == b.incarnation && a.nonce == b.nonce;
  }
};

// A nonce for the stamp after `last`; `salt` is drawn anew for each. Never 0.
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
  // By the mark, once Check has read it.
  uint64_t applied() const { return mark_.end(); }

  // What the node's ring says.
  struct Ring {
    std::string name;
    MediaStamp stamp;
    uint64_t next_nonce = 0;  // of the next stamp, while it is written; or 0
    uint64_t begin = 0;       // of its mark
    uint64_t end = 0;
    uint64_t cleaned = 0;
    uint64_t received = 0;
  };
  // Whether this region and the ring are of one age. kFailedPrecondition: they
  // are not; says which is the old one. kDataLoss: damaged.
  absl::Status Check(const Ring& ring);
  // Likewise, with another region; both were checked with the ring.
  absl::Status CheckBeside(const MediaAge& other) const;

 private:
  // kDataLoss: damaged. All zeros: none was ever set.
  absl::Status ReadStamp(MediaStamp* stamp) const;
  absl::Status CheckStamp(const Ring& ring) const;

  engine::Region* const region_;
  const std::string name_;
  replica::AppliedMark mark_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_MEDIA_AGE_H_
