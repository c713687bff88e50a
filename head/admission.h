// The head's part of the chain protocol (Kamino-Tx, section 5.1): admits
// requests, executes them in place against the undo copy, passes committed ones
// to the chain, parks dependent ones, and answers when the tail has completed
// them.
//
// The path of a request:
//   1. Requests that are ready together are executed as one log entry, in the
//      order of arrival, in a transaction that never waits for a lock. Ready
//      requests are new ones and those that a lock release has freed; so a hot
//      index leaf admits a batch per round trip rather than one request.
//   2. A request that meets a locked object undoes its changes, holds nothing,
//      and is parked on that object, so there is no deadlock. Its batch
//      continues without it, from the start if it had changed something; it is
//      parked once the batch has ended.
//   3. A request that fails changes nothing and never enters the chain. Nor
//      does one whose outcome is stored already.
//   4. The entry becomes durable in the ring, then its commit mark is set, then
//      it is sent. Its locks stay until the tail has completed it and the undo
//      copy has it. Its requests are answered when it is completed, including
//      those that failed within it: they may have seen its changes.
//
// With pipelined dependent requests (AdmissionOptions::pipelines) locks only
// wait for the undo copy. So a request may see changes that are not completed,
// fail because of them, or repeat one of them: in each case it is answered once
// everything executed before it is completed.
//
// A head that follows a crashed one is on probation for a while: the request
// that crashed the other head may arrive again. It executes one request at a
// time, and only after its successor knows of it. If it crashes too, the next
// head refuses that request (replica/refused_requests.h).
//
// Every executed request is a mutation with its own number; the log entry holds
// all of them. Requests that fail or repeat get no number.
//
// No I/O, threads or clocks inside. Not thread-safe: the core thread owns it.
#ifndef KAMINO_HEAD_ADMISSION_H_
#define KAMINO_HEAD_ADMISSION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/kamino/kamino_store.h"
#include "head/client_clock.h"
#include "head/request.h"
#include "head/session_table.h"
#include "head/waiting_requests.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/chain_core.h"
#include "replica/refused_requests.h"
#include "replica/request_identity.h"
#include "replica/request_meter.h"
#include "replica/stage_watch.h"
#include "replica/state_machine.h"

namespace kamino::head {

struct AdmissionOptions {
  size_t max_waiting = 8192;  // requests ready or parked; more are refused
  // Log entries without completion; ready requests wait when there are more.
  // Well below the slots of the engine's commit log: the undo copy's lag takes
  // some.
  size_t max_in_flight = 32;
  size_t max_batch = 64;              // requests in one log entry
  size_t max_batch_bytes = 1u << 20;  // of arguments in one log entry
  // Objects that one request may touch. A call of ExecuteReady ends after about
  // as many, and so does a batch; the rest waits for the next.
  uint64_t max_touched = replica::kMaxTouchedObjects;
  // The undo copy may lack this many log entries; then ready requests wait for
  // it. So a slow medium slows clients down instead of building up a backlog
  // for which a single transaction must wait.
  size_t max_unpropagated = 64;
  // A call of ExecuteReady ends after about max_turn, by `clock`, and leaves
  // the remaining requests to the next call, because ticks and messages wait
  // for the whole call. With a null clock there is no such limit.
  std::function<absl::Time()> clock;
  absl::Duration max_turn = absl::Milliseconds(40);
  // Results that are kept until the tail has completed their mutations. Above
  // that, ready requests wait; one operation may exceed it.
  size_t max_result_bytes = 64u << 20;
  size_t max_clients = 65536;  // outcomes stored
  // The stored results take at most this part of the heap, 1/8. Short ones,
  // which fit the room that each outcome has, do not count.
  size_t outcomes_share = 8;
  // Outcomes that a request drops when there is no room for its own: many, so
  // that few requests must, but few enough to fit a transaction easily.
  size_t evict_at_once = 32;
  absl::Duration client_min_idle = absl::Minutes(10);
  // Open sessions, and the slots of all of them; the slots are also limited by
  // the part of the heap in `outcomes_share`. No session is closed to make room
  // for another. One identity has at most three quarters of either.
  size_t max_sessions = 65536;
  uint64_t max_session_slots = 1u << 20;
  // Sessions that one mutation closes, and about as many slots.
  size_t close_at_once = 64;
  uint64_t close_slots_at_once = 1024;
  // Between two ticks; a longer pause does not count as silence of a session.
  absl::Duration longest_pause = absl::Milliseconds(250);
  // Requests that depend on entries without completion are executed behind them
  // (base/chain_mode.h, Pipelines) rather than parked until completion.
  bool pipelines = false;
  // How long a new head is on probation: long enough for clients of the crashed
  // head to find the new one and to retry.
  absl::Duration probation = absl::Seconds(5);
  // Whether this node may answer by itself. Without it, answers that did not go
  // through the chain are withheld, because their state may be stale.
  std::function<bool()> lease_valid = [] { return true; };
  // Observes the stages of requests and log entries; may be null.
  replica::StageWatch* stages = nullptr;
  // Called before a request is executed, for observers.
  std::function<void(absl::string_view function, uint64_t client)> executing =
      [](absl::string_view, uint64_t) {};
};

struct AdmissionStats {
  uint64_t in_flight = 0;
  uint64_t parked = 0;
  uint64_t committed = 0;
  uint64_t aborted = 0;
  uint64_t repeated = 0;
  uint64_t rejected = 0;
  uint64_t clients = 0;
  uint64_t evicted = 0;
  uint64_t result_bytes = 0;         // kept until their mutations are completed
  uint64_t stored_result_bytes = 0;  // of outcomes, except short ones
  uint64_t sessions = 0;             // open ones
  uint64_t session_slots = 0;        // of all of them
  bool on_probation = false;
  uint64_t poisonous = 0;  // requests refused because heads crashed on them
  // Requests whose bytes had to be digested.
  uint64_t identified = 0;
};

class Admission {
 public:
  // All pointers must outlive this. `store` must be fresh or recovered, with
  // no transaction running; the core must be head.
  Admission(AdmissionOptions options, engine::KaminoStore* store,
            replica::StateMachine* state, replica::ChainCore* core);
  // Requests still here are answered with REASON_OUTCOME_UNKNOWN (executed)
  // or REASON_NOT_HEAD (not executed).
  ~Admission();

  // Section 5.2: a new head holds the locks of everything in its ring that is
  // not known to be completed. Formats the chain's state if it is new and never
  // had one. After an error the node must stop; one error is that the state's
  // root cannot be read, which must not be formatted over.
  absl::Status Promote(absl::Time now, replica::Actions* actions);

  // Accepts the request; ExecuteReady executes it. A session's request
  // (Mutation::in_session) renews its lease.
  void Submit(Request request, absl::Time now);

  // --- Sessions (docs/formats/session.md).

  // Opens a session, as a mutation. `done` is called exactly once, on the core
  // thread, and must not call back into the node; it gets the current state of
  // the session, which may have been open before. The session belongs to its
  // opener: here and below, another `by` gets kPermissionDenied; a null `by`
  // may use any session. Errors: REASON_INVALID_ARGUMENT: no id, window or
  // lease, or too long a name; REASON_OVERLOADED: no room for one more session;
  // REASON_SESSION_EXPIRED: the session is of another recovery epoch, or was
  // closed meanwhile; those of Submit.
  using SessionOpened = absl::AnyInvocable<void(absl::StatusOr<SessionInfo>)>;
  void OpenSession(const SessionParams& params, absl::Time now,
                   SessionOpened done);
  // Returns the current state of the session of that id and recovery epoch, and
  // renews its lease. `done` as above. REASON_SESSION_EXPIRED: it is closed,
  // for any later head too: its end has gone through the chain.
  // REASON_RECONFIGURING: another head may have newer state.
  void AskForSession(uint64_t id, uint64_t epoch, absl::Time now,
                     SessionOpened done, const PrincipalPtr& by = nullptr);
  // Closes a session, as a mutation: OK once the chain has closed it.
  // REASON_SESSION_EXPIRED: there is none; those of Submit. `done` as above.
  void CloseSession(uint64_t id, absl::Time now,
                    absl::AnyInvocable<void(absl::Status)> done,
                    const PrincipalPtr& by = nullptr);
  // Renews the session's lease; does nothing if there is no such session.
  void HearSession(uint64_t id, absl::Time now);
  // nullopt: there is none of that id in this recovery epoch.
  std::optional<SessionInfo> FindSession(uint64_t id) const;

  // Executes ready requests: answers, parks or sends them. May leave some for
  // the next call, to limit its duration.
  void ExecuteReady(absl::Time now, replica::Actions* actions);

  // The tail has applied everything up to `sequence`: answers, releases locks.
  void OnCompleted(uint64_t sequence);

  // Copies up to `max` committed transactions to the undo copy and releases
  // their locks. Returns how many are left.
  size_t PropagateToBackup(size_t max);

  // Stops executing, as Retire does; but new requests wait until there is
  // another head, and are then redirected to it.
  void Hold() { held_ = true; }

  // A planned stop of this process: nothing more is executed, and the next
  // ExecuteReady ends any announcement.
  void Retire() { retired_ = true; }

  // Answers waiting requests whose deadline has passed or whose client has
  // given up, except one that was announced to the successor.
  void OnTick(absl::Time now);

  // Whether ExecuteReady has something to execute.
  bool has_ready() const {
    return !retired_ && !held_ && !awaits_successor_ && waiting_.has_ready() &&
           in_flight_.size() < options_.max_in_flight &&
           !UndoCopyIsFarBehind() && result_bytes_ < options_.max_result_bytes;
  }

  // Whether the last call of ExecuteReady has used up its turn.
  bool turn_is_over() const {
    return touched_ >= options_.max_touched || turn_is_long_;
  }

  AdmissionStats stats() const;
  // Not OK when the heap cannot be trusted any more; the node must stop.
  const absl::Status& fatal() const { return fatal_; }
  // Not OK after a request met a damaged object. The request waits, and nothing
  // is executed: the node should leave the chain, or answer the request with
  // that.
  const absl::Status& damage() const { return damage_; }
  // Answers that request; others may meet damage again.
  void AnswerDamage();

 private:
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

  absl::Status FormatState(absl::Time now, replica::Actions* actions);
  std::vector<Request> TakeBatch();

  // --- Requests on which heads may have crashed (head/probation.cc).

  void BeginProbation(absl::Time now);
  // Refuses from now on the requests on which an earlier head may have crashed.
  void HearBlamed();
  bool WasCarriedOut(const replica::RequestIdentity& request);
  // Whether there is nothing to refuse: its outcome is stored, or no longer
  // known.
  absl::StatusOr<bool> IsSettled(engine::Transaction& transaction,
                                 const replica::Mutation& mutation);
  // Whether the request is executed alone, after the successor knows of it.
  bool IsWatched(Request& request);
  bool IsAnnounced(const Request& request) const;
  // Computed once for each request that needs it.
  const replica::RequestIdentity& IdentityOf(Request& request);
  // Whether the first ready request may be executed now; announces it.
  bool MayBegin(replica::Actions* actions);
  void EndAnnouncement(replica::Actions* actions);
  // Not OK: heads have crashed on the request.
  absl::Status CheckPoison(engine::Transaction& transaction, Request* request);
  // The request was executed to its end, and is committed or rolled back, and
  // this process is alive: pardons its bytes if they were suspect.
  void NoteSurvived(Request* request);
  void SubmitRefusal(const replica::RequestIdentity& request);
  // Retries refusals and pardons that could not be recorded.
  void SubmitUnrecorded();

  // Executes `batch`. Requests that spoil it are parked, to be executed alone,
  // or answered if they were alone already.
  void ExecuteBatch(std::vector<Request> batch, absl::Time now,
                    replica::Actions* actions);
  // Executes `batch` in one transaction. When batch[i] spoils it, everything
  // is rolled back, no request is answered, and the attempt and i are returned.
  std::optional<std::pair<size_t, Attempt>> TryBatch(
      std::vector<Request>* batch, absl::Time now, replica::Actions* actions);
  void Park(engine::ObjectId object, Request request, absl::Time now);
  // Reports the waiting time of a request that is executed now.
  void TellHowLongItWaited(Request* request, absl::Time now);
  // At the start of ExecuteReady.
  void NoteTurn(absl::Time now);
  // Checks whether this call of ExecuteReady has lasted long.
  void NoteTime();
  // Whether request `i` of a batch is left to the next turn.
  bool TurnEndsBefore(size_t i);
  bool UndoCopyIsFarBehind() const;
  // Notes the new entry, which ends with mutation `last`.
  void NoteEntry(uint64_t last, uint32_t together);
  // Ends the parking of a request; returns how long it was.
  static absl::Duration EndParking(Request* request, absl::Time now);
  Attempt ExecuteOne(engine::Transaction& transaction, Request& request,
                     uint64_t sequence, BatchClients* clients, absl::Time now);
  // The attempt of a request that failed, given how much was declared before
  // it.
  Attempt Failed(engine::Transaction& transaction, const absl::Status& status,
                 size_t declared, bool changed);
  // `executed` requests of the batch were executed, each as the next mutation.
  void CommitBatch(engine::Transaction& transaction, uint32_t executed,
                   std::vector<Request>* batch, std::vector<Attempt> attempts,
                   absl::Time now, replica::Actions* actions);
  void NoteCommitted(const replica::Mutation& mutation, const Attempt& attempt,
                     absl::Time now);
  void Abort(engine::Transaction& transaction);

  // Chooses the parts of the mutation that the head chooses, and makes room for
  // its outcome. An error is the request's answer, or that of the transaction.
  absl::Status Prepare(engine::Transaction& transaction,
                       const BatchClients& clients, absl::Time now,
                       Request* request);
  // Only a head may return outcomes that are part of no entry.
  RequestOutcome IfStillHead(RequestOutcome outcome) const;
  void Answer(Request& request, RequestOutcome outcome);
  struct Waiter;
  struct Flight;
  void Answer(Waiter* waiter, const Flight& flight);
  // Answers an executed request that is part of no entry, once the changes that
  // it may have seen are completed.
  void AnswerWhatItSaw(Request& request, RequestOutcome outcome);
  // Translates an error of the engine for clients.
  absl::Status Explain(const absl::Status& status);

  // --- Room for outcomes and results (head/outcome_room.cc).

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
  void SubmitDrop();
  // Not OK: the request has taken room of the reserve (head/reserve.h) that it
  // may not use, and must be rolled back. `before`: the reserve when its
  // execution began.
  absl::Status CheckReserve(const replica::Mutation& mutation,
                            const replica::RoomTaken& room,
                            const Attempt& attempt,
                            const engine::HeapReserve& before) const;
  // Chooses clients for a mutation that only drops outcomes.
  absl::Status ChooseDropped(absl::Time now, Request* request);
  // The bytes of a stored result beyond the room that each outcome has.
  static size_t StoredBytes(const replica::Mutation& mutation,
                            absl::string_view result);

  // --- Sessions (head/sessions.cc).

  absl::Status LoadSessions(absl::Time now);
  // Not OK: the request's session is known, and of another recovery epoch or
  // another owner.
  absl::Status CheckSession(engine::Reader& reader,
                            const Request& request) const;
  absl::Status CheckMayClose(engine::Reader& reader,
                             const Request& request) const;
  absl::Status CheckRoomForSession(const replica::Mutation& mutation,
                                   const BatchClients& batch) const;
  // Limits the session that the mutation opens to kNarrowWindow slots.
  static void NarrowWindow(replica::Mutation* mutation);
  // Part of CheckRoomForSession; `most_slots`: of all sessions.
  absl::Status CheckShare(const kamino::internal::v1::OpenSession& wanted,
                          const BatchClients& batch, uint64_t most_slots) const;
  static void NoteOpened(const replica::Mutation& mutation,
                         BatchClients* batch);
  // Notes the commit of mutation `sequence`, the head's own.
  void NoteOwnCommitted(const replica::Mutation& mutation, uint64_t sequence,
                        absl::Time now);
  // Answers at once, unless the mutation that opened it is in flight.
  void AnswerOnceOpened(const SessionInfo& session, SessionOpened done);
  // As CloseSession; not executed after the deadline.
  void SubmitClose(uint64_t id, absl::Time now, absl::Time deadline,
                   absl::AnyInvocable<void(absl::Status)> done,
                   const PrincipalPtr& by);
  void CloseSilentSessions(absl::Time now);
  // Chooses sessions for a mutation that closes silent ones.
  absl::Status ChooseClosed(absl::Time now, Request* request);

  // --- Restores of backups (head/restores.cc).

  // Such a request is alone in its entry, and numbers after it are skipped.
  static bool BeginsRestore(const Request& request);
  // Numbers to skip after the executed requests of the batch.
  static uint64_t SkippedBy(const std::vector<Request>& batch,
                            const std::vector<Attempt>& attempts);
  // Checks that its objects fit, and sets the numbers it skips.
  absl::Status PrepareRestore(replica::Mutation* mutation) const;

  const AdmissionOptions options_;
  engine::KaminoStore* const store_;
  replica::StateMachine* const state_;
  replica::ChainCore* const core_;

  ClientClock clients_;
  SessionTable sessions_;
  WaitingRequests waiting_;
  struct Waiter {
    absl::AnyInvocable<void(RequestOutcome)> done;
    RequestOutcome outcome;
    RequestWaits waits;
    bool by_itself = false;  // part of no entry
  };
  // A log entry.
  struct Flight {
    std::vector<Waiter> waiters;
    uint32_t together = 0;  // requests in it; 0: its times are unknown
    replica::StageWatch::Entry entry;
    absl::Time acknowledged = absl::InfiniteFuture();
  };
  class HeadTimes final : public RequestTimesSource {
   public:
    // `flight`: its entry, if it is part of one. They outlive it.
    HeadTimes(absl::Time now, const RequestWaits* waits, const Flight* flight)
        : RequestTimesSource(now), waits_(waits), flight_(flight) {}
    RequestTimes Times() const override;

   private:
    const RequestWaits* const waits_;
    const Flight* const flight_;
  };
  std::map<uint64_t, Flight> in_flight_;  // by last mutation
  uint64_t acknowledged_ = 0;             // of these, as noted last
  uint64_t completed_ = 0;   // the last mutation that the tail reported
  size_t result_bytes_ = 0;  // of in_flight_
  uint32_t executed_ = 0;    // requests, at their first execution
  uint64_t touched_ = 0;     // objects, in this call of ExecuteReady
  bool turn_is_long_ = false;
  uint64_t look_at_ = 0;     // value of touched_ at which to read the clock
  absl::Time now_;           // of that call, or of a tick since
  bool tells_slow_ = false;  // as of that call: slow operations are reported
  bool dropping_ = false;    // a mutation that only drops outcomes is under way
  // Until then, space that it frees may not be free yet.
  absl::Time room_due_ = absl::InfinitePast();
  bool closing_ = false;  // a mutation that closes silent sessions is under way
  bool chosen_none_ = false;  // none of them was silent any more
  // When the next one may be tried.
  absl::Time close_due_ = absl::InfinitePast();

  replica::RefusedRequests refused_;
  std::vector<replica::RequestIdentity> unrecorded_;  // refusals and pardons
  absl::Time probation_until_ = absl::InfinitePast();
  bool on_probation_ = false;  // as of this call of ExecuteReady
  // The request that was announced to the successor.
  std::optional<replica::RequestIdentity> announced_;
  bool awaits_successor_ = false;
  bool retired_ = false;
  bool held_ = false;
  AdmissionStats counters_;
  absl::Status fatal_;
  absl::Status damage_;
  std::optional<Request> damaged_;  // the request that met it
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_ADMISSION_H_
