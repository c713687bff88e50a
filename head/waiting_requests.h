// The requests that wait at a head: for their turn, for a lock, or to be
// executed alone.
#ifndef KAMINO_HEAD_WAITING_REQUESTS_H_
#define KAMINO_HEAD_WAITING_REQUESTS_H_

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/kamino/kamino_store.h"
#include "head/request.h"

namespace kamino::head {

// Not OK: the client has stopped waiting for the request, which was not
// executed.
absl::Status CheckAwaited(const Request& request, absl::Time now);

// Ends the parking of a request; returns how long it was.
absl::Duration EndParking(Request* request, absl::Time now);

// Not thread-safe: the core thread owns it.
class WaitingRequests {
 public:
  size_t size() const { return ready_.size() + alone_.size() + parked_count_; }
  size_t parked() const { return parked_count_; }
  bool has_ready() const { return !ready_.empty() || !alone_.empty(); }

  // --- In order of arrival.

  void Add(Request request) { ready_.push_back(std::move(request)); }
  // Puts the batch's requests from `begin` on back to the front.
  void PutBack(std::vector<Request>* batch, size_t begin);

  // --- Before all others, each alone.

  void AddAlone(Request request) { alone_.push_back(std::move(request)); }
  void PutBackAlone(Request request) { alone_.push_front(std::move(request)); }

  // --- Until a release of the object's lock makes them ready.

  void Park(engine::ObjectId object, Request request, absl::Time now);
  void OnUnlocked(absl::Span<const engine::ObjectId> objects);

  // --- The next requests; only while has_ready().

  Request& next() { return alone_.empty() ? ready_.front() : alone_.front(); }
  Request TakeNext();
  // Null if the next one is executed alone, or there is none.
  Request* next_ready() {
    return alone_.empty() && !ready_.empty() ? &ready_.front() : nullptr;
  }

  // All requests for which `gone` is true, in an order that a simulation can
  // repeat.
  std::vector<Request> TakeIf(absl::FunctionRef<bool(const Request&)> gone);

 private:
  std::map<engine::ObjectId, std::deque<Request>> parked_;
  size_t parked_count_ = 0;
  std::deque<Request> ready_;
  std::deque<Request> alone_;  // spoilt a batch, or are the head's own
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_WAITING_REQUESTS_H_
