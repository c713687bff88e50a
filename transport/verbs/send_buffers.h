// The registered memory of the links of one group of pairs: for each link a
// slab, which holds its share of the group's receives and its SENDs. All links
// share the receives. A slab is kept for the next link when its link ends.
//
// Invariant: the receives of each slab that is free or taken are posted, or are
// being delivered; the hub posts them again after that.
//
// Threads: the loop's thread only. The group is not owned. It must be destroyed
// before this object, because it uses the memory.
#ifndef KAMINO_TRANSPORT_VERBS_SEND_BUFFERS_H_
#define KAMINO_TRANSPORT_VERBS_SEND_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "transport/verbs/pinned_memory.h"
#include "transport/verbs/send_format.h"
#include "transport/verbs/send_wire.h"
#include "transport/verbs/verbs_group.h"

namespace kamino::transport {

class SendBuffers {
 public:
  static constexpr size_t kSlabBuffers = kLinkReceives + kLinkSends;

  explicit SendBuffers(VerbsGroup* group) : group_(group) {}

  size_t slabs() const { return slabs_.size(); }
  bool has_free() const { return !free_.empty(); }
  // No slab is taken.
  bool idle() const { return taken_ == 0; }

  // Adds a free slab, whose receives are posted on return. On error there may
  // be one more slab, which is never free.
  absl::Status AddSlab();
  // Takes a slab; there is a free one.
  size_t Take();
  void GiveBack(size_t slab);

  SendWire::Buffers SendsOf(size_t slab) const {
    return {slabs_[slab].memory.bytes().subspan(kLinkReceives * kSendBuffer),
            slabs_[slab].key};
  }
  // The receive that a completion names, ready to be posted again.
  GroupReceive ReceiveOf(uint64_t id) const {
    const Slab& slab = slabs_[id / kLinkReceives];
    return {id,
            slab.memory.bytes().subspan(id % kLinkReceives * kSendBuffer,
                                        kSendBuffer),
            slab.key};
  }

 private:
  struct Slab {
    PinnedMemory memory;
    uint32_t key = 0;
  };

  VerbsGroup* const group_;
  std::vector<Slab> slabs_;
  std::vector<size_t> free_;
  size_t taken_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_SEND_BUFFERS_H_
