// Requests on which heads crashed, kept in the chain's state: the last 64.
//
// If a head crashes while it executes a request, after another head has
// crashed, that is no proof: it may have lost power just then. So only that one
// request, by name and bytes, is refused for good. Others with the same bytes
// are quarantined: they are executed alone, and only after the successor knows
// of them. If a head crashes on one again, all requests with these bytes are
// refused; if it does not, they are treated as any other.
//
// Not thread-safe.
#ifndef KAMINO_REPLICA_STATE_REFUSED_REQUESTS_H_
#define KAMINO_REPLICA_STATE_REFUSED_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replica/log/request_identity.h"
#include "replica/state/state_format.h"

namespace kamino::replica {

class RefusedRequests {
 public:
  RefusedRequests() : kept_() {}
  explicit RefusedRequests(const state_format::RefusedRequests& kept)
      : kept_(kept) {}

  size_t size() const;
  // Whether the bytes of a request of that name may matter: some bytes are
  // suspect, or a request of that name is refused. Usually there are none, and
  // a digest of every request's bytes can be saved.
  bool Concern(uint64_t client_id, uint64_t number) const;
  bool Has(const RequestIdentity& request) const;
  bool Refuses(const RequestIdentity& request) const;
  // Whether it has the bytes of a refused request and is not that request
  // itself.
  bool Watches(const RequestIdentity& request) const;

  // Slots that this changes, each to be stored.
  using Changes = std::vector<size_t>;
  // `sequence`: of the recording mutation. A known request stays.
  Changes Add(const RequestIdentity& request, uint64_t sequence);
  // No node crashed on those bytes this time.
  Changes Clear(uint64_t digest);

  const state_format::RefusedSlot& slot(size_t index) const {
    return kept_.slots[index];
  }

 private:
  int CountOf(uint64_t digest) const;

  state_format::RefusedRequests kept_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_REFUSED_REQUESTS_H_
