// The head's part of sessions: opens and closes them by its own mutations, and
// finds those that were silent for longer than their lease.
// docs/formats/session.md describes their use.
#ifndef KAMINO_HEAD_HEAD_SESSIONS_H_
#define KAMINO_HEAD_HEAD_SESSIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/transaction.h"
#include "head/attempt.h"
#include "head/head_context.h"
#include "head/in_flight_entries.h"
#include "head/request.h"
#include "head/session_table.h"
#include "kamino/internal/v1/operation.pb.h"

namespace kamino::head {

// Accepts a request (Admission::Submit).
using SubmitFunction = std::function<void(Request, absl::Time now)>;

// Notes a session that the mutation opens in the batch.
void NoteOpened(const replica::Mutation& mutation, BatchClients* batch);

// Not thread-safe: the core thread owns it.
class HeadSessions {
 public:
  HeadSessions(HeadContext* context, InFlightEntries* in_flight,
               SubmitFunction submit);

  // A new head, on a state that exists.
  absl::Status Load(engine::Reader& reader, absl::Time now);
  // From now on sessions are of the view's recovery epoch.
  void SetEpoch();

  // --- Requests of clients.

  // Opens a session, as a mutation. `done` is called exactly once, on the core
  // thread, and must not call back into the node; it gets the current state of
  // the session, which may have been open before. The session belongs to its
  // opener: here and below, another `by` gets kPermissionDenied; a null `by`
  // may use any session. Errors: REASON_INVALID_ARGUMENT: no id, window or
  // lease, or too long a name; REASON_OVERLOADED: no room for one more session;
  // REASON_SESSION_EXPIRED: the session is of another recovery epoch, or was
  // closed meanwhile; those of Admission::Submit.
  using Opened = absl::AnyInvocable<void(absl::StatusOr<SessionInfo>)>;
  void Open(const SessionParams& params, absl::Time now, Opened done);
  // Returns the current state of the session of that id and recovery epoch, and
  // renews its lease. `done` as above. REASON_SESSION_EXPIRED: it is closed,
  // for any later head too: its end has gone through the chain.
  // REASON_RECONFIGURING: another head may have newer state.
  void Ask(uint64_t id, uint64_t epoch, absl::Time now, Opened done,
           const PrincipalPtr& by = nullptr);
  // Closes a session, as a mutation: OK once the chain has closed it.
  // REASON_SESSION_EXPIRED: there is none; those of Admission::Submit. `done`
  // as above.
  void Close(uint64_t id, absl::Time now,
             absl::AnyInvocable<void(absl::Status)> done,
             const PrincipalPtr& by = nullptr);
  // Renews the session's lease; does nothing if there is no such session.
  void Hear(uint64_t id, absl::Time now);
  // nullopt: there is none of that id in this recovery epoch.
  std::optional<SessionInfo> Find(uint64_t id) const;

  // --- Decisions about a request before its execution.

  // Not OK: the request's session is known, and of another recovery epoch or
  // another owner.
  absl::Status Check(engine::Reader& reader, const Request& request) const;
  absl::Status CheckMayClose(engine::Reader& reader,
                             const Request& request) const;
  absl::Status CheckRoom(const replica::Mutation& mutation,
                         const BatchClients& batch) const;
  // Chooses sessions for a mutation that closes silent ones.
  absl::Status ChooseClosed(absl::Time now, Request* request);

  // --- After a commit.

  // Notes the commit of mutation `sequence`, the head's own.
  void NoteCommitted(const replica::Mutation& mutation, uint64_t sequence,
                     absl::Time now);
  void AddResultBytes(uint64_t id, size_t more, size_t less) {
    table_.AddResultBytes(id, more, less);
  }

  // At each tick.
  void CloseSilent(absl::Time now);

  const SessionTable& table() const { return table_; }

 private:
  // Part of CheckRoom; `most_slots`: of all sessions.
  absl::Status CheckShare(const kamino::internal::v1::OpenSession& wanted,
                          const BatchClients& batch, uint64_t most_slots) const;
  // Answers at once, unless the mutation that opened it is in flight.
  void AnswerOnceOpened(const SessionInfo& session, Opened done);
  // As Close; not executed after the deadline.
  void SubmitClose(uint64_t id, absl::Time now, absl::Time deadline,
                   absl::AnyInvocable<void(absl::Status)> done,
                   const PrincipalPtr& by);

  HeadContext* const context_;
  InFlightEntries* const in_flight_;
  const SubmitFunction submit_;
  SessionTable table_;
  bool closing_ = false;  // a mutation that closes silent sessions is under way
  bool chosen_none_ = false;  // none of them was silent any more
  // When the next one may be tried.
  absl::Time close_due_ = absl::InfinitePast();
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_HEAD_SESSIONS_H_
