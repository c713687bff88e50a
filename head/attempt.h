// The execution of a request within the transaction of its batch.
#ifndef KAMINO_HEAD_ATTEMPT_H_
#define KAMINO_HEAD_ATTEMPT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "engine/transaction.h"
#include "head/request.h"
#include "head/session_table.h"

namespace kamino::head {

// A request executed within a transaction, and its answer once that is done.
struct Attempt {
  bool executed = false;      // part of the log entry
  bool spoilt = false;        // failed, and the transaction must be aborted
  bool damaged = false;       // by a damaged object
  bool ended = false;         // the function returned, perhaps a refusal
  bool lacks_room = false;    // in the heap, or among the stored results
  bool lacks_copies = false;  // undo copies did not fit among those in use
  std::optional<engine::ObjectId> conflict;  // of this locked object
  RequestOutcome outcome;
  size_t stored_bytes = 0;    // bytes that its stored result takes
  size_t replaced_bytes = 0;  // bytes of the result that it replaces

  size_t added_bytes() const {
    return stored_bytes - std::min(stored_bytes, replaced_bytes);
  }
};

// Changes to sessions and clients with a stored outcome by the current batch.
struct BatchClients {
  absl::flat_hash_set<uint64_t> asking;  // of every request in it
  absl::flat_hash_set<uint64_t> added;
  absl::flat_hash_set<uint64_t> evicted;
  size_t result_bytes = 0;     // additional bytes of stored results
  uint64_t sessions = 0;       // opened
  uint64_t session_slots = 0;  // of these
  // By owner.
  absl::flat_hash_map<std::string, SessionTable::Share> session_shares;
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_ATTEMPT_H_
