// Makes room when stored outcomes exceed a limit: for one more client with a
// stored outcome, in the heap for a request's writes, or for one more stored
// result.
//
// The head drops outcomes of clients that were silent for long enough. If there
// are too many clients, the new client's mutation drops them; otherwise a
// mutation of its own does, because space that a transaction frees is not
// available to itself. Meanwhile the request that lacked room is refused with
// REASON_OVERLOADED, without a trace, and the client retries.
#ifndef KAMINO_HEAD_OUTCOME_ROOM_H_
#define KAMINO_HEAD_OUTCOME_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/transaction.h"
#include "head/attempt.h"
#include "head/client_clock.h"
#include "head/head_context.h"
#include "head/request.h"
#include "head/session_table.h"

namespace kamino::head {

// The bytes of a stored result beyond the room that each outcome has.
size_t StoredBytes(const replica::Mutation& mutation, absl::string_view result);

// Not thread-safe: the core thread owns it.
class OutcomeRoom {
 public:
  // `sessions` have stored results, too.
  OutcomeRoom(HeadContext* context, const SessionTable* sessions);

  // A new head, on a state that exists.
  absl::Status Load(engine::Reader& reader, absl::Time now);

  // The client is active; does nothing if it has no stored outcome.
  void Hear(uint64_t client_id, absl::Time now);
  // A commit has stored the client's outcome, or dropped outcomes.
  void Store(uint64_t client_id, size_t result_bytes, absl::Time now);
  void Drop(const std::vector<uint64_t>& clients);

  // Chooses clients to drop when `request` brings a new one and there is no
  // room for it. An error is the request's answer, or that of the transaction.
  absl::Status MakeRoomForClient(engine::Transaction& transaction,
                                 const BatchClients& clients, absl::Time now,
                                 Request* request);
  bool IsKnown(uint64_t client_id, const BatchClients& clients) const;
  // Not OK: stored results take too much with this one, which is rolled back.
  absl::Status CheckResultFits(const Attempt& attempt,
                               BatchClients* clients) const;
  // Retries a request that lacked room after the outcomes of idle clients are
  // dropped, if there are any: then `refusal` says so.
  void DropForRoom(absl::Time now, absl::Status* refusal);
  // Chooses clients for a mutation that only drops outcomes.
  absl::Status ChooseDropped(absl::Time now, Request* request);

  size_t clients() const { return clients_.size(); }
  size_t result_bytes() const { return clients_.result_bytes(); }
  size_t ResultBytesOf(uint64_t client_id) const {
    return clients_.ResultBytesOf(client_id);
  }

 private:
  void SubmitDrop();

  HeadContext* const context_;
  const SessionTable* const sessions_;
  ClientClock clients_;
  bool dropping_ = false;  // a mutation that only drops outcomes is under way
  // Until then, space that it frees may not be free yet.
  absl::Time room_due_ = absl::InfinitePast();
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_OUTCOME_ROOM_H_
