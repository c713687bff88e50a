// What a manager needs of etcd: a leadership that is taken over and renewed by
// writes, and a value replaced by compare-and-swap under that leadership.
//
// Nothing rests on leases of etcd's: a member that led, and has not heard that
// it does no more, goes on to answer keep-alives, and has all leases revoked
// when it hears of it (etcd issue 15247). Nor is anything decided by a plain
// read: etcd 3.4.23 may answer one from an old state after its process was
// paused (etcd issue 20418). A transaction that writes is of the latest state,
// and answered only once a quorum has it.
#ifndef KAMINO_MEMBERSHIP_ETCD_ETCD_H_
#define KAMINO_MEMBERSHIP_ETCD_ETCD_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kamino::membership {

// Blocking calls, each with a deadline. One thread at a time. kUnavailable or
// kDeadlineExceeded: etcd was not reached, or its answer was lost: a change may
// have been made, or be made later. kResourceExhausted: etcd is full; it then
// takes Look and Compact only.
class Etcd {
 public:
  struct Value {
    std::string value;
    int64_t mod_revision = 0;  // 0: the key is absent
  };
  struct Keys {
    std::string leader;   // written when the leadership is taken over
    std::string renewal;  // then, and each time it is renewed
    std::string view;
  };
  // A store that was emptied may have the revision again, for another leader.
  struct Leadership {
    std::string name;      // the leader key's value
    int64_t revision = 0;  // and mod_revision
  };
  // Of one moment.
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

  // What is, or was, stored: whatever follows from it has to be compared again.
  virtual absl::StatusOr<Stored> Look(const Keys& keys) = 0;

  // Writes `name` and `renewal` to the first two keys, if their mod_revisions
  // are those given.
  virtual absl::StatusOr<Election> Campaign(const Keys& keys,
                                            const std::string& name,
                                            const std::string& renewal,
                                            int64_t leader_revision,
                                            int64_t renewal_revision) = 0;

  // Writes `renewal` if the leader key is `leadership`'s. Returns what is
  // stored afterwards: the renewal's mod_revision is the store's. kAborted: the
  // leader key is another's.
  virtual absl::StatusOr<Stored> Renew(const Keys& keys,
                                       const std::string& renewal,
                                       const Leadership& leadership) = 0;

  // Replaces the view if its mod_revision is `expected_revision` and the leader
  // key is `leadership`'s. Returns what is stored afterwards. kAborted: the
  // leader key is another's.
  virtual absl::StatusOr<Value> Replace(const Keys& keys,
                                        const std::string& value,
                                        int64_t expected_revision,
                                        const Leadership& leadership) = 0;

  // Forgets what values were before `revision`.
  virtual absl::Status Compact(int64_t revision) = 0;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_ETCD_ETCD_H_
