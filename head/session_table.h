// The open sessions as the head knows them: owner, last activity, and the size
// of their stored results. Volatile; the chain's state is authoritative
// (docs/formats/session.md, replica/state/sessions.h).
//
// A session that is silent for longer than its lease is due to be closed. Time
// in which the head itself stood still does not count: between two calls that
// are further apart than `longest_pause` no time passes here. So due sessions
// must be asked for more often than that.
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

// A client's parameters. Window and lease are cut to the allowed range.
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

// The state of a session.
struct SessionInfo {
  uint64_t id = 0;
  uint32_t window = 0;
  absl::Duration lease;
  uint64_t epoch = 0;      // the recovery epoch it belongs to
  uint64_t opened = 0;     // number of the mutation that opened it
  std::string owner = "";  // identity of its opener; empty: none
};

// Not thread-safe: the core thread owns it.
class SessionTable {
 public:
  explicit SessionTable(absl::Duration longest_pause)
      : longest_pause_(longest_pause) {}

  // From now on sessions of other epochs are due, and Find ignores them.
  void SetEpoch(uint64_t epoch);
  uint64_t epoch() const { return epoch_; }

  // The session starts with a whole lease. An existing one stays unchanged.
  void Add(const SessionInfo& session, size_t result_bytes, absl::Time now);
  void Remove(uint64_t id);
  // Does nothing if the session does not exist.
  void Hear(uint64_t id, absl::Time now);
  // A session of the current epoch; null: there is none.
  const SessionInfo* Find(uint64_t id) const;
  // Whether there is one, of any epoch.
  bool Has(uint64_t id) const { return by_id_.contains(id); }
  // The results of an existing session grow or shrink by so much.
  void AddResultBytes(uint64_t id, size_t more, size_t less);

  // Sessions that are due: up to `most`, with up to `most_slots` slots
  // together, but at least one if there is any.
  std::vector<uint64_t> Due(absl::Time now, size_t most, uint64_t most_slots);

  // The open sessions of one identity.
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
    absl::Time queued;      // its time in due_
    size_t result_bytes = 0;
  };

  // Advances the table's clock, which leaves out the head's standstills.
  absl::Time Advance(absl::Time now);
  absl::Time DueAt(const Entry& entry) const;
  void Queue(uint64_t id, Entry* entry, absl::Time at);

  const absl::Duration longest_pause_;
  uint64_t epoch_ = 0;
  absl::flat_hash_map<uint64_t, Entry> by_id_;
  // Each session once, at a time not later than it is due: the table
  // re-examines it then, instead of moving it at each activity.
  std::set<std::pair<absl::Time, uint64_t>> due_;
  absl::flat_hash_map<std::string, Share> shares_;  // by owner
  uint64_t slots_ = 0;
  size_t result_bytes_ = 0;
  absl::Time last_call_ = absl::InfinitePast();
  absl::Duration stood_still_;
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_SESSION_TABLE_H_
