// The head's log entries that the tail has not completed, and the requests that
// get their answers then.
#ifndef KAMINO_HEAD_IN_FLIGHT_ENTRIES_H_
#define KAMINO_HEAD_IN_FLIGHT_ENTRIES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "head/head_context.h"
#include "head/request.h"
#include "replica/link/stage_watch.h"

namespace kamino::head {

// Not thread-safe: the core thread owns it.
class InFlightEntries {
 public:
  explicit InFlightEntries(HeadContext* context);

  // A new head: the tail has completed everything up to `completed`.
  void Begin(uint64_t completed);
  // At the start of each call of Admission::ExecuteReady.
  void BeginTurn(absl::Time now);
  void OnTick(absl::Time now) { now_ = now; }

  // Adds an entry that ends with mutation `last`.
  void Add(uint64_t last) { entries_[last]; }
  // Adds an executed request to that entry.
  void Add(uint64_t last, Request* request, RequestOutcome outcome);
  // That entry has so many requests; notes its times.
  void NoteEntry(uint64_t last, uint32_t together);

  // Answers a request that is part of no entry. REASON_RECONFIGURING without a
  // lease: this node's state may be stale.
  void Answer(Request& request, RequestOutcome outcome);
  // The same, once the changes that it may have seen are completed.
  void AnswerOnceCompleted(Request& request, RequestOutcome outcome);
  // Calls `done` once the entry of mutation `sequence` is completed: with OK,
  // REASON_RECONFIGURING without a lease, or AnswerAll's status. False: it is
  // completed already, and `done` is not called.
  bool AwaitCompletion(uint64_t sequence,
                       absl::AnyInvocable<void(RequestOutcome)> done);
  // Answers all requests with `status`.
  void AnswerAll(const absl::Status& status);

  // The tail has applied everything up to `sequence`: answers, releases locks.
  void OnCompleted(uint64_t sequence);

  size_t size() const { return entries_.size(); }
  size_t requests() const { return requests_; }  // in these entries
  size_t result_bytes() const { return result_bytes_; }

 private:
  struct Waiter {
    absl::AnyInvocable<void(RequestOutcome)> done;
    RequestOutcome outcome;
    RequestWaits waits;
    bool by_itself = false;  // part of no entry
  };
  struct Entry {
    std::vector<Waiter> waiters;
    uint32_t together = 0;  // requests in it; 0: its times are unknown
    replica::StageWatch::Entry entry;
    absl::Time acknowledged = absl::InfiniteFuture();
  };
  class HeadTimes final : public RequestTimesSource {
   public:
    // `entry`: the request's, if it is part of one. They outlive it.
    HeadTimes(absl::Time now, const RequestWaits* waits, const Entry* entry)
        : RequestTimesSource(now), waits_(waits), entry_(entry) {}
    RequestTimes Times() const override;

   private:
    const RequestWaits* const waits_;
    const Entry* const entry_;
  };

  // Only a head may return outcomes that are part of no entry.
  RequestOutcome IfStillHead(RequestOutcome outcome) const;
  void Answer(Waiter* waiter, const Entry& entry);

  HeadContext* const context_;
  std::map<uint64_t, Entry> entries_;  // by last mutation
  // The last mutation that the successor has acknowledged, as of the last turn.
  uint64_t acknowledged_ = 0;
  uint64_t completed_ = 0;   // the last mutation that the tail reported
  size_t result_bytes_ = 0;  // of all
  size_t requests_ = 0;
  absl::Time now_;           // of this turn, or of a tick since
  bool tells_slow_ = false;  // as of this turn: slow operations are reported
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_IN_FLIGHT_ENTRIES_H_
