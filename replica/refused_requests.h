// Requests that heads died of, as the chain's state keeps them: the last 64.
//
// That a head died while it executed a request, after another head had died, is
// no proof: it may have lost its power just then. So what is refused for good
// is that one request, by name and bytes. Others of the same bytes are watched:
// they are executed alone, and not before the successor knows of it. If a head
// dies of one again, all of these bytes are refused; if it does not, they are
// as any other.
//
// Not thread-safe.
#ifndef KAMINO_REPLICA_REFUSED_REQUESTS_H_
#define KAMINO_REPLICA_REFUSED_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replica/request_identity.h"
#include "replica/state_format.h"

namespace kamino::replica {

class RefusedRequests {
 public:
  RefusedRequests() : kept_() {}
  explicit RefusedRequests(const state_format::RefusedRequests& kept)
      : kept_(kept) {}

  size_t size() const;
  // Whether it may matter which bytes a request of that name has: some are
  // under suspicion, or one of that name is refused. Most often nothing is, and
  // a digest of all requests' bytes can be saved.
  bool Concern(uint64_t client_id, uint64_t number) const;
  bool Has(const RequestIdentity& request) const;
  bool Refuses(const RequestIdentity& request) const;
  // Whether it is of the bytes of one that is refused, and is not itself.
  bool Watches(const RequestIdentity& request) const;

  // Slots that change by it, each to be stored.
  using Changes = std::vector<size_t>;
  // `sequence`: of the mutation that does so. One that is there stays.
  Changes Add(const RequestIdentity& request, uint64_t sequence);
  // Nobody died of those bytes this time.
  Changes Pardon(uint64_t digest);

  const state_format::RefusedSlot& slot(size_t index) const {
    return kept_.slots[index];
  }

 private:
  int CountOf(uint64_t digest) const;

  state_format::RefusedRequests kept_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_REFUSED_REQUESTS_H_
