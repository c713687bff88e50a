// The head's part of the chain protocol (Kamino-Tx, section 5.1): admits
// requests, executes them in place against the backup, hands committed ones to
// the chain, parks dependent ones, and answers when the tail has completed.
//
// How a request goes:
//   1. Requests that are ready together are executed as one log entry, in the
//      order they came, in a transaction that never waits for a lock. Ready
//      are new ones and those that a release of locks has freed; a hot index
//      leaf so admits a batch per round trip rather than one request.
//   2. One that meets a locked object takes back what it did, holds nothing,
//      and is parked on that object, so there is no deadlock; once its batch
//      has ended, which goes on without it, from the start if it had changed
//      something.
//   3. One that fails changes nothing and never enters the chain. Neither does
//      one whose outcome is stored already.
//   4. The entry becomes durable in the ring, then its commit mark is set,
//      then it is sent. Its locks stay until the tail has completed it and the
//      backup holds it. Its requests are answered when it is completed, also
//      those that failed within it: they may have seen what it wrote.
//
// Where dependent requests are pipelined (AdmissionOptions::pipelines) locks
// only wait for the backup. So a request may see what is not completed, and may
// fail of it, or be a repetition of it: whatever it comes to, it is answered
// once everything is completed that was executed before it.
//
// A head that follows one that died is on probation for a while: the request
// that killed the other one may be among those that come. It executes one
// request at a time, and none before its successor knows of it. If it dies as
// well, the next head refuses that one (replica/refused_requests.h).
//
// Every request that is executed is a mutation with a number of its own; the
// log entry is all of them together. Those that fail or repeat get none.
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
  // Log entries without completion; ready requests wait for the next one. Well
  // below the slots of the engine's commit log: the backup's lag takes some.
  size_t max_in_flight = 32;
  size_t max_batch = 64;              // requests in one log entry
  size_t max_batch_bytes = 1u << 20;  // of arguments in one log entry
  // Objects that one request may touch. One call of ExecuteReady ends after
  // about as many, and so does a batch; what is left waits for the next.
  uint64_t max_touched = replica::kMaxTouchedObjects;
  // The undo copy may lack this many log entries; then ready requests wait for
  // it. So a slow medium slows clients down, instead of building a backlog that
  // a single transaction has to wait for.
  size_t max_unpropagated = 64;
  // A call of ExecuteReady ends after about max_turn, by `clock`, and leaves
  // the remaining requests to the next call, because ticks and messages wait
  // for the whole call. With a null clock there is no such limit.
  std::function<absl::Time()> clock;
  absl::Duration max_turn = absl::Milliseconds(40);
  // Results that are kept until the tail has completed what they are of. With
  // more ready requests wait; one operation may exceed it.
  size_t max_result_bytes = 64u << 20;
  size_t max_clients = 65536;  // outcomes stored
  // The results stored with them take this part of the heap at most, 1/8, but
  // for short ones, which fit the room that each outcome has.
  size_t outcomes_share = 8;
  // Outcomes that a request drops when there is no room for its own: many, so
  // that few requests have to, but what fits a transaction easily.
  size_t evict_at_once = 32;
  absl::Duration client_min_idle = absl::Minutes(10);
  // Sessions that may be open, and slots of all of them; of these no more than
  // fit the part of the heap that `outcomes_share` says. None is closed for
  // another one. One identity has three quarters of either at most.
  size_t max_sessions = 65536;
  uint64_t max_session_slots = 1u << 20;
  // Sessions that one mutation closes, and about as many slots.
  size_t close_at_once = 64;
  uint64_t close_slots_at_once = 1024;
  // Between two ticks; what is longer is no silence of any session.
  absl::Duration longest_pause = absl::Milliseconds(250);
  // Requests that depend on entries without completion are executed behind
  // them (base/chain_mode.h, Pipelines), rather than parked until that.
  bool pipelines = false;
  // How long a new head is on probation: long enough for clients of the one
  // that died to find the new one, and to ask again.
  absl::Duration probation = absl::Seconds(5);
  // Whether this node may answer by itself. Answers that did not go through
  // the chain are withheld without it: the state they come from may be old.
  std::function<bool()> lease_valid = [] { return true; };
  // Told of the stages of requests and log entries; may be null.
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
  uint64_t result_bytes = 0;         // kept until what they are of is completed
  uint64_t stored_result_bytes = 0;  // of outcomes, but for short ones
  uint64_t sessions = 0;             // that are open
  uint64_t session_slots = 0;        // of all of them
  bool on_probation = false;
  uint64_t poisonous = 0;  // requests that are refused as heads died of them
  // Requests whose bytes were digested, as it mattered which they are.
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
  // not known to be completed. Formats the chain's state when it is new: when
  // there is none, and never was. An error means that the node must stop; one
  // is that the state's root cannot be read, which must not be formatted over.
  absl::Status Promote(absl::Time now, replica::Actions* actions);

  // Takes the request in; ExecuteReady executes it. One that is of a session
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

  // Moves up to `max` committed transactions into the backup and releases
  // their locks. Returns how many are left.
  size_t PropagateToBackup(size_t max);

  // Stops executing, as below; but new requests wait until there is another
  // head, and are then redirected to it.
  void Hold() { held_ = true; }

  // This process ends in order: nothing more is executed, and with the next
  // ExecuteReady nothing is announced any more.
  void Retire() { retired_ = true; }

  // Answers requests that wait and whose deadline has passed, or that were
  // given up; but none that the successor was told of.
  void OnTick(absl::Time now);

  // Whether ExecuteReady has something to execute.
  bool has_ready() const {
    return !retired_ && !held_ && !awaits_successor_ && waiting_.has_ready() &&
           in_flight_.size() < options_.max_in_flight &&
           !UndoCopyIsFarBehind() && result_bytes_ < options_.max_result_bytes;
  }

  // Whether the last call of ExecuteReady has done enough for a while.
  bool turn_is_over() const {
    return touched_ >= options_.max_touched || turn_is_long_;
  }

  AdmissionStats stats() const;
  // Not OK once the heap cannot be trusted any more; the node must stop.
  const absl::Status& fatal() const { return fatal_; }
  // Not OK once a request, which waits now, came by an object that is damaged;
  // nothing is executed then: the node should leave the chain to others, or
  // answer the request with that.
  const absl::Status& damage() const { return damage_; }
  // That one is answered so; others may come by damage again.
  void AnswerDamage();

 private:
  // A request executed within a transaction, and its answer once that is done.
  struct Attempt {
    bool executed = false;      // part of the log entry
    bool spoilt = false;        // failed, and the transaction is to be aborted
    bool damaged = false;       // as an object is
    bool ended = false;         // the function came to its end, if to a refusal
    bool lacks_room = false;    // in the heap, or among the stored results
    bool lacks_copies = false;  // there was no room for them, as they lay
    std::optional<engine::ObjectId> conflict;  // met this locked object
    RequestOutcome outcome;
    size_t stored_bytes = 0;    // that its result takes, where it is stored
    size_t replaced_bytes = 0;  // that the one takes in whose place that goes
  };

  // How the clients with a stored outcome, and sessions, change by the batch
  // under way.
  struct BatchClients {
    absl::flat_hash_set<uint64_t> asking;  // of every request in it
    absl::flat_hash_set<uint64_t> added;
    absl::flat_hash_set<uint64_t> evicted;
    size_t result_bytes = 0;     // that stored results take more
    uint64_t sessions = 0;       // that are opened
    uint64_t session_slots = 0;  // of these
    // By who opens them.
    absl::flat_hash_map<std::string, SessionTable::Share> session_shares;
  };

  absl::Status FormatState(absl::Time now, replica::Actions* actions);
  std::vector<Request> TakeBatch();

  // --- Requests that heads may have died of (head/probation.cc).

  void BeginProbation(absl::Time now);
  // Refuses from now on what a head before this one may have died of.
  void HearBlamed();
  bool WasCarriedOut(const replica::RequestIdentity& request);
  // Whether there is nothing to refuse: its outcome is stored, or is not known
  // any more.
  absl::StatusOr<bool> IsSettled(engine::Transaction& transaction,
                                 const replica::Mutation& mutation);
  // Whether the request is executed alone, once the successor knows of it.
  bool IsWatched(Request& request);
  bool IsAnnounced(const Request& request) const;
  // Once for each request that it matters of.
  const replica::RequestIdentity& IdentityOf(Request& request);
  // Whether what is ready first may be executed now; tells the successor.
  bool MayBegin(replica::Actions* actions);
  void EndAnnouncement(replica::Actions* actions);
  // Not OK: it is one that heads have died of.
  absl::Status CheckPoison(engine::Transaction& transaction, Request* request);
  // It was executed to its end, and is committed or taken back, and this
  // process is still there: pardons its bytes if they were under suspicion.
  void NoteSurvived(Request* request);
  void SubmitRefusal(const replica::RequestIdentity& request);
  // Those that could not be recorded are tried again.
  void SubmitUnrecorded();

  // Executes `batch` but for requests that spoil it: those are parked, to be
  // executed alone or, when they were, answered.
  void ExecuteBatch(std::vector<Request> batch, absl::Time now,
                    replica::Actions* actions);
  // Executes `batch` in one transaction. When batch[i] spoils it, everything
  // is rolled back, no request is answered, and the attempt and i are returned.
  std::optional<std::pair<size_t, Attempt>> TryBatch(
      std::vector<Request>* batch, absl::Time now, replica::Actions* actions);
  void Park(engine::ObjectId object, Request request, absl::Time now);
  // Tells the waiting time of a request that is executed now.
  void TellHowLongItWaited(Request* request, absl::Time now);
  // At the begin of ExecuteReady.
  void NoteTurn(absl::Time now);
  // Looks whether this call of ExecuteReady has lasted long.
  void NoteTime();
  // Whether request `i` of a batch is left to the next turn.
  bool TurnEndsBefore(size_t i);
  bool UndoCopyIsFarBehind() const;
  // That ends with mutation `last`, and was made just now.
  void NoteEntry(uint64_t last, uint32_t together);
  // Of one that is parked, and is not any more: how long it was.
  static absl::Duration EndParking(Request* request, absl::Time now);
  Attempt ExecuteOne(engine::Transaction& transaction, Request& request,
                     uint64_t sequence, BatchClients* clients, absl::Time now);
  // Of a request that failed, given how much was declared before it.
  Attempt Failed(engine::Transaction& transaction, const absl::Status& status,
                 size_t declared, bool changed);
  // `executed` of the batch's requests were, each as the next mutation.
  void CommitBatch(engine::Transaction& transaction, uint32_t executed,
                   std::vector<Request>* batch, std::vector<Attempt> attempts,
                   absl::Time now, replica::Actions* actions);
  void NoteCommitted(const replica::Mutation& mutation, const Attempt& attempt,
                     absl::Time now);
  void Abort(engine::Transaction& transaction);

  // Chooses what the mutation is about where the head does so, and makes room
  // for what it leaves. An error is the request's answer, or that of the
  // transaction.
  absl::Status Prepare(engine::Transaction& transaction,
                       const BatchClients& clients, absl::Time now,
                       Request* request);
  // What is part of no entry only a head may tell.
  RequestOutcome IfStillHead(RequestOutcome outcome) const;
  void Answer(Request& request, RequestOutcome outcome);
  struct Waiter;
  struct Flight;
  void Answer(Waiter* waiter, const Flight& flight);
  // Of a request that was executed and is part of no entry, when what it may
  // have seen is completed.
  void AnswerWhatItSaw(Request& request, RequestOutcome outcome);
  // An error of the engine, in terms a client can act upon.
  absl::Status Explain(const absl::Status& status);

  // --- Room for outcomes, and what they leave (head/outcome_room.cc).

  // Chooses clients to drop when `request` brings a new one and there is no
  // room for it. An error is the request's answer, or that of the transaction.
  absl::Status MakeRoomForClient(engine::Transaction& transaction,
                                 const BatchClients& clients, absl::Time now,
                                 Request* request);
  bool IsKnown(uint64_t client_id, const BatchClients& clients) const;
  // Not OK: stored results take too much with this one, which is taken back.
  absl::Status CheckResultFits(const Attempt& attempt,
                               BatchClients* clients) const;
  // What lacked room is to be tried again once idle clients' outcomes are
  // dropped, if there are any: `refusal` says so then.
  void DropForRoom(absl::Time now, absl::Status* refusal);
  void SubmitDrop();
  // Not OK: the request has taken room of the reserve (head/reserve.h) that it
  // may not use, and must be rolled back. `before`: the reserve when its
  // execution began.
  absl::Status CheckReserve(const replica::Mutation& mutation,
                            const replica::RoomTaken& room,
                            const Attempt& attempt,
                            const engine::HeapReserve& before) const;
  // Chooses clients for a mutation that only drops.
  absl::Status ChooseDropped(absl::Time now, Request* request);
  // The bytes of a stored result beyond the room that each outcome has.
  static size_t StoredBytes(const replica::Mutation& mutation,
                            absl::string_view result);

  // --- Sessions (head/sessions.cc).

  absl::Status LoadSessions(absl::Time now);
  // Not OK: that of the request is known, and of another recovery epoch, or of
  // somebody else.
  absl::Status CheckSession(engine::Reader& reader,
                            const Request& request) const;
  absl::Status CheckMayClose(engine::Reader& reader,
                             const Request& request) const;
  absl::Status CheckRoomForSession(const replica::Mutation& mutation,
                                   const BatchClients& batch) const;
  // Limits the session that the mutation opens to kNarrowWindow slots.
  static void NarrowWindow(replica::Mutation* mutation);
  // Of CheckRoomForSession; `most_slots`: of all sessions.
  absl::Status CheckShare(const kamino::internal::v1::OpenSession& wanted,
                          const BatchClients& batch, uint64_t most_slots) const;
  static void NoteOpened(const replica::Mutation& mutation,
                         BatchClients* batch);
  // Of mutation `sequence`, the head's own.
  void NoteOwnCommitted(const replica::Mutation& mutation, uint64_t sequence,
                        absl::Time now);
  // At once, unless what has opened it is in flight.
  void AnswerOnceOpened(const SessionInfo& session, SessionOpened done);
  // As CloseSession; not executed after the deadline.
  void SubmitClose(uint64_t id, absl::Time now, absl::Time deadline,
                   absl::AnyInvocable<void(absl::Status)> done,
                   const PrincipalPtr& by);
  void CloseSilentSessions(absl::Time now);
  // Chooses sessions for a mutation that closes those that were silent.
  absl::Status ChooseClosed(absl::Time now, Request* request);

  // --- Restores of backups (head/restores.cc).

  // It is alone in its entry, behind which numbers are skipped.
  static bool BeginsRestore(const Request& request);
  // By those of the batch that were executed, behind them.
  static uint64_t SkippedBy(const std::vector<Request>& batch,
                            const std::vector<Attempt>& attempts);
  // That its objects fit, and which numbers it skips.
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
    bool by_itself = false;  // it is part of no entry
  };
  // A log entry.
  struct Flight {
    std::vector<Waiter> waiters;
    uint32_t together = 0;  // requests in it; 0: its times are not known
    replica::StageWatch::Entry entry;
    absl::Time acknowledged = absl::InfiniteFuture();
  };
  class HeadTimes final : public RequestTimesSource {
   public:
    // `flight`: the entry that it is part of, if it is of one. They outlive it.
    HeadTimes(absl::Time now, const RequestWaits* waits, const Flight* flight)
        : RequestTimesSource(now), waits_(waits), flight_(flight) {}
    RequestTimes Times() const override;

   private:
    const RequestWaits* const waits_;
    const Flight* const flight_;
  };
  std::map<uint64_t, Flight> in_flight_;  // by last mutation
  uint64_t acknowledged_ = 0;             // of these, by what was noted last
  uint64_t completed_ = 0;   // mutation, by what this head was told
  size_t result_bytes_ = 0;  // of in_flight_
  uint32_t executed_ = 0;    // requests, the first time
  uint64_t touched_ = 0;     // objects, in this call of ExecuteReady
  bool turn_is_long_ = false;
  uint64_t look_at_ = 0;     // touched_ with which the clock is looked at next
  absl::Time now_;           // of that call, or of a tick since
  bool tells_slow_ = false;  // as of that call: of slow operations
  bool dropping_ = false;    // a mutation that only drops outcomes is under way
  // Until when what it frees may take to be free.
  absl::Time room_due_ = absl::InfinitePast();
  bool closing_ = false;  // a mutation that closes silent sessions is under way
  bool chosen_none_ = false;  // all of them had been heard of since
  // When the next one may be tried.
  absl::Time close_due_ = absl::InfinitePast();

  replica::RefusedRequests refused_;
  std::vector<replica::RequestIdentity> unrecorded_;  // refusals and pardons
  absl::Time probation_until_ = absl::InfinitePast();
  bool on_probation_ = false;  // as of this call of ExecuteReady
  // The request that the successor was told of.
  std::optional<replica::RequestIdentity> announced_;
  bool awaits_successor_ = false;
  bool retired_ = false;
  bool held_ = false;
  AdmissionStats counters_;
  absl::Status fatal_;
  absl::Status damage_;
  std::optional<Request> damaged_;  // that came by it
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_ADMISSION_H_
