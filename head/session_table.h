// Which sessions are open, as the head knows it: what each may do, when it was
// heard of last, and what its stored results take. Volatile; what counts is in
// the chain's state (docs/formats/session.md, replica/sessions.h).
//
// A session that is silent for longer than its lease is due to be closed. Time
// in which the head itself stood still is nobody's silence: between two calls
// that are further apart than `longest_pause` no time passes here. So it is to
// be asked more often what is due, whether or not anything is.
#ifndef KAMINO_HEAD_SESSION_TABLE_H_
#define KAMINO_HEAD_SESSION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "base/principal.h"

namespace kamino::head {

// What a client asks for. Window and lease are cut to what may be.
struct SessionParams {
  uint64_t id = 0;       // not 0
  uint32_t window = 0;   // 1 to replica::session_format::kMaxWindow
  absl::Duration lease;  // kMinSessionLease to kMaxSessionLease
  absl::Time deadline = absl::InfiniteFuture();  // as Request::deadline
  PrincipalPtr by;                               // its owner; null: any caller
  std::function<bool()> abandoned;               // as Request::abandoned
};

inline constexpr absl::Duration kMinSessionLease = absl::Seconds(1);
inline constexpr absl::Duration kMaxSessionLease = absl::Hours(1);

// A session as it is.
struct SessionInfo {
  uint64_t id = 0;
  uint32_t window = 0;
  absl::Duration lease;
  uint64_t epoch = 0;      // the recovery epoch it belongs to
  uint64_t opened = 0;     // number of the mutation that opened it
  std::string owner = "";  // identity of who has opened it; empty: nobody's
};

// Not thread-safe: the core thread owns it.
class SessionTable {
 public:
  explicit SessionTable(absl::Duration longest_pause)
      : longest_pause_(longest_pause) {}

  // Sessions of another epoch than that are due from now on, and not found.
  void SetEpoch(uint64_t epoch);
  uint64_t epoch() const { return epoch_; }

  // A session has a whole lease from now on. One that is there stays as it is.
  void Add(const SessionInfo& session, size_t result_bytes, absl::Time now);
  void Remove(uint64_t id);
  // Nothing is done for one that is not there.
  void Hear(uint64_t id, absl::Time now);
  // One of the current epoch; null: there is none.
  const SessionInfo* Find(uint64_t id) const;
  // Whether there is one, of whatever epoch.
  bool Has(uint64_t id) const { return by_id_.contains(id); }
  // Of a session that is there: its results take so much more, or less.
  void AddResultBytes(uint64_t id, size_t more, size_t less);

  // Sessions that are due, up to `most` of `most_slots` together, but one where
  // there is any.
  std::vector<uint64_t> Due(absl::Time now, size_t most, uint64_t most_slots);

  // What one identity has open.
  struct Share {
    uint64_t sessions = 0;
    uint64_t slots = 0;
  };
  Share ShareOf(const std::string& owner) const;

  size_t size() const { return by_id_.size(); }
  uint64_t slots() const { return slots_; }              // of all
  size_t result_bytes() const { return result_bytes_; }  // of all

 private:
  struct Entry {
    SessionInfo info;
    absl::Time last_heard;  // by the table's clock
    absl::Time queued;      // under which due_ has it
    size_t result_bytes = 0;
  };

  // The table's clock: `now` without what the head stood still.
  absl::Time Advance(absl::Time now);
  absl::Time DueAt(const Entry& entry) const;
  void Queue(uint64_t id, Entry* entry, absl::Time at);

  const absl::Duration longest_pause_;
  uint64_t epoch_ = 0;
  absl::flat_hash_map<uint64_t, Entry> by_id_;
  // Each session once, at a time by which it is not due yet or is: it is looked
  // at again then, rather than moved each time it is heard of.
  std::set<std::pair<absl::Time, uint64_t>> due_;
  absl::flat_hash_map<std::string, Share> shares_;  // by owner
  uint64_t slots_ = 0;
  size_t result_bytes_ = 0;
  absl::Time last_call_ = absl::InfinitePast();
  absl::Duration stood_still_;
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_SESSION_TABLE_H_
