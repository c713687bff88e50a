// Limits of a head, and what it counts.
#ifndef KAMINO_HEAD_ADMISSION_OPTIONS_H_
#define KAMINO_HEAD_ADMISSION_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "replica/link/stage_watch.h"
#include "replica/request_meter.h"

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
  // Not OK: the error for a request that calls this function now, because a
  // member lacks the function or its release has withdrawn it. A client still
  // gets the outcome of an earlier call.
  std::function<absl::Status(absl::string_view function)> check_in_force =
      [](absl::string_view) { return absl::OkStatus(); };
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

}  // namespace kamino::head

#endif  // KAMINO_HEAD_ADMISSION_OPTIONS_H_
