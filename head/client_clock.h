// The clients with a stored outcome, by idle time. The head bounds their number
// and the size of their results, and drops the longest silent ones.
#ifndef KAMINO_HEAD_CLIENT_CLOCK_H_
#define KAMINO_HEAD_CLIENT_CLOCK_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace kamino::head {

// Not thread-safe: the core thread owns it.
class ClientClock {
 public:
  // A client that was active within `min_idle` is never dropped.
  explicit ClientClock(absl::Duration min_idle) : min_idle_(min_idle) {}

  void Touch(uint64_t client_id, absl::Time now);
  void Forget(uint64_t client_id);
  // Bytes of a known client's result; 0 before the first call.
  void SetResultBytes(uint64_t client_id, size_t bytes);
  size_t ResultBytesOf(uint64_t client_id) const;
  size_t result_bytes() const { return result_bytes_; }  // of all
  bool Knows(uint64_t client_id) const { return by_id_.contains(client_id); }
  size_t size() const { return by_id_.size(); }

  // Up to `most` clients that may be dropped, longest silent first; none of
  // `but`.
  std::vector<uint64_t> Idle(
      absl::Time now, size_t most,
      absl::FunctionRef<bool(uint64_t client_id)> but) const;

 private:
  struct Entry {
    uint64_t client_id;
    absl::Time last_heard;
    size_t result_bytes = 0;
  };

  const absl::Duration min_idle_;
  size_t result_bytes_ = 0;
  std::list<Entry> by_age_;  // longest silent first
  absl::flat_hash_map<uint64_t, std::list<Entry>::iterator> by_id_;
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_CLIENT_CLOCK_H_
