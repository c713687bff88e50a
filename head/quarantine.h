// Requests on which heads may have crashed.
//
// A head that follows a crashed one is on probation for a while: the request
// that crashed the other head may arrive again. It executes one request at a
// time, and only after its successor knows of it. If it crashes too, the next
// head refuses that request (replica/state/refused_requests.h): the request is
// quarantined.
#ifndef KAMINO_HEAD_QUARANTINE_H_
#define KAMINO_HEAD_QUARANTINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/transaction.h"
#include "head/head_context.h"
#include "head/request.h"
#include "replica/log/request_identity.h"
#include "replica/state/refused_requests.h"

namespace kamino::head {

// Not thread-safe: the core thread owns it.
class Quarantine {
 public:
  explicit Quarantine(HeadContext* context);

  // A new head, on a state that exists.
  absl::Status Load(engine::Reader& reader, absl::Time now);

  // At the start of each call of Admission::ExecuteReady. `executes`: not
  // during a planned stop.
  void BeginTurn(absl::Time now, bool executes);
  // Whether the request is executed alone, after the successor knows of it.
  bool IsWatched(Request& request);
  // Whether the next request may be executed now; announces it.
  bool MayBegin(Request& next, replica::Actions* actions);
  bool IsAnnounced(const Request& request) const;
  void EndAnnouncement(replica::Actions* actions);

  // Whether nothing of the request is left to execute: its outcome is stored,
  // or no longer known.
  absl::StatusOr<bool> IsSettled(engine::Transaction& transaction,
                                 const replica::Mutation& mutation);
  // Not OK: heads have crashed on the request.
  absl::Status Check(engine::Transaction& transaction, Request* request);
  // The request was executed to its end, and is committed or rolled back, and
  // this process is alive: ends the quarantine of its bytes.
  void NoteSurvived(Request* request);

  // Submits again what could not be recorded: quarantines, and their ends.
  void SubmitUnrecorded();

  // No request is executed in this turn: the successor has not confirmed the
  // announcement, or this head has no lease.
  bool awaits_successor() const { return awaits_successor_; }
  bool on_probation() const { return on_probation_; }
  size_t size() const { return refused_.size(); }

 private:
  void BeginProbation(absl::Time now);
  // Refuses from now on the requests on which an earlier head may have crashed.
  void HearSuspected();
  bool WasCarriedOut(const replica::RequestIdentity& request);
  // Computed once for each request that needs it.
  const replica::RequestIdentity& IdentityOf(Request& request);
  // Records that the request is quarantined. With client 0 and number 0: that
  // requests with this digest no longer are.
  void SubmitRefusal(const replica::RequestIdentity& request);

  HeadContext* const context_;
  replica::RefusedRequests refused_;
  std::vector<replica::RequestIdentity> unrecorded_;
  absl::Time probation_until_ = absl::InfinitePast();
  bool on_probation_ = false;  // as of this turn
  // The request that was announced to the successor.
  std::optional<replica::RequestIdentity> announced_;
  bool awaits_successor_ = false;
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_QUARANTINE_H_
