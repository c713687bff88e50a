// What a manager needs of etcd: a lease, a leader key bound to it, and a value
// replaced by compare-and-swap under that leadership.
//
// Nothing is decided by a plain read: etcd 3.4.23 may answer one from an old
// state after its process was paused. Comparisons within a transaction are
// always of the latest state.
#ifndef KAMINO_MEMBERSHIP_ETCD_ETCD_H_
#define KAMINO_MEMBERSHIP_ETCD_ETCD_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kamino::membership {

// Blocking calls, each with a deadline. One thread at a time. kUnavailable or
// kDeadlineExceeded: etcd was not reached, or its answer was lost: a change may
// have been made, or be made later.
class Etcd {
 public:
  struct Value {
    std::string value;
    int64_t create_revision = 0;  // 0: the key is absent
    int64_t mod_revision = 0;     // likewise
  };
  struct Election {
    bool won = false;
    Value leader;  // ours when won, else the present one's
    Value view;    // of the same moment; when won
  };

  virtual ~Etcd() = default;

  virtual absl::StatusOr<int64_t> GrantLease(int64_t ttl_seconds) = 0;
  // kNotFound: the lease has run out.
  virtual absl::Status KeepAlive(int64_t lease) = 0;
  virtual absl::Status RevokeLease(int64_t lease) = 0;

  // Makes `leader_key` with `name`, bound to `lease`, unless it is there; reads
  // `view_key` in the same transaction.
  virtual absl::StatusOr<Election> Campaign(const std::string& leader_key,
                                            const std::string& name,
                                            int64_t lease,
                                            const std::string& view_key) = 0;

  // Replaces `view_key` if its mod_revision is `expected_revision` and
  // `leader_key` still has `leader_revision` as its create_revision. Returns
  // what is stored afterwards, by value and mod_revision. kAborted: the leader
  // key is another's.
  virtual absl::StatusOr<Value> Replace(const std::string& view_key,
                                        const std::string& value,
                                        int64_t expected_revision,
                                        const std::string& leader_key,
                                        int64_t leader_revision) = 0;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_ETCD_ETCD_H_
