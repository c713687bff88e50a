// A manager's interface to etcd: a leadership that is acquired and renewed by
// writes, and a value that is replaced by compare-and-swap under that
// leadership.
//
// Kamino does not use etcd's leases: a former etcd leader that does not know
// yet that it lost leadership still answers keep-alives, and revokes all leases
// when it learns it (etcd issue 15247). Nor does it decide by plain reads: etcd
// 3.4.23 may answer one from an old state after its process was paused (etcd
// issue 20418). A writing transaction sees the latest state, and is answered
// only once a quorum has it.
#ifndef KAMINO_MEMBERSHIP_ETCD_ETCD_H_
#define KAMINO_MEMBERSHIP_ETCD_ETCD_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kamino::membership {

// Blocking calls, each with a deadline; one thread at a time. kUnavailable or
// kDeadlineExceeded: etcd was not reached, or its answer was lost, so the
// change may have been made, or may still be. kResourceExhausted: etcd is full,
// and accepts Look and Compact only.
class Etcd {
 public:
  struct Value {
    std::string value;
    int64_t mod_revision = 0;  // 0: the key is absent
  };
  struct Keys {
    std::string leader;   // written when a manager acquires the leadership
    std::string renewal;  // written then, and at each renewal
    std::string view;
  };
  // Both fields are needed: an emptied store may reuse the revision for another
  // leader.
  struct Leadership {
    std::string name;      // the leader key's value
    int64_t revision = 0;  // and mod_revision
  };
  // Values of one moment.
  struct Stored {
    Value leader;
    Value renewal;
    Value view;
  };
  struct Election {
    bool won = false;
    Stored stored;  // afterwards
  };

  virtual ~Etcd() = default;

  // The values may be outdated: decisions that follow from them must be
  // compared again in a transaction.
  virtual absl::StatusOr<Stored> Look(const Keys& keys) = 0;

  // Writes `name` and `renewal` to the first two keys, if their mod_revisions
  // are those given.
  virtual absl::StatusOr<Election> Campaign(const Keys& keys,
                                            const std::string& name,
                                            const std::string& renewal,
                                            int64_t leader_revision,
                                            int64_t renewal_revision) = 0;

  // Writes `renewal` if the leader key is `leadership`'s. Returns the stored
  // values afterwards; the renewal's mod_revision is the store's. kAborted:
  // another leader holds the key.
  virtual absl::StatusOr<Stored> Renew(const Keys& keys,
                                       const std::string& renewal,
                                       const Leadership& leadership) = 0;

  // Replaces the view if its mod_revision is `expected_revision` and the leader
  // key is `leadership`'s. Returns the stored value afterwards. kAborted:
  // another leader holds the key.
  virtual absl::StatusOr<Value> Replace(const Keys& keys,
                                        const std::string& value,
                                        int64_t expected_revision,
                                        const Leadership& leadership) = 0;

  // Drops the history of values before `revision`.
  virtual absl::Status Compact(int64_t revision) = 0;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_ETCD_ETCD_H_
