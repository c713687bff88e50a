// Which clients have a stored outcome, and which of them may lose it: the head
// bounds their number and drops those that have been silent longest.
#ifndef KAMINO_HEAD_CLIENT_CLOCK_H_
#define KAMINO_HEAD_CLIENT_CLOCK_H_

#include <cstdint>
#include <list>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace kamino::head {

// Not thread-safe: the core thread owns it.
class ClientClock {
 public:
  // At most `max_clients` are kept; one that was heard of within `min_idle`
  // is never dropped.
  ClientClock(size_t max_clients, absl::Duration min_idle)
      : max_clients_(max_clients), min_idle_(min_idle) {}

  void Touch(uint64_t client_id, absl::Time now);
  void Forget(uint64_t client_id);
  bool Knows(uint64_t client_id) const { return by_id_.contains(client_id); }
  size_t size() const { return by_id_.size(); }
  bool full() const { return by_id_.size() >= max_clients_; }

  // The client to drop for a new one; none when all are too recent.
  absl::optional<uint64_t> Oldest(absl::Time now) const;

 private:
  struct Entry {
    uint64_t client_id;
    absl::Time last_heard;
  };

  const size_t max_clients_;
  const absl::Duration min_idle_;
  std::list<Entry> by_age_;  // longest silent first
  absl::flat_hash_map<uint64_t, std::list<Entry>::iterator> by_id_;
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_CLIENT_CLOCK_H_
