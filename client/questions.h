// Decides when a client asks which node for its chain. A client asks in rounds:
// it sends a question to every address, and the first answer ends the round.
// Rounds may follow each other quickly while a slow node still works on the
// question of an earlier one.
//
// Invariants:
//   1. At most one question is in flight to an address.
//   2. After a question that took longer than kQuick, the next one to that
//      address waits for the same time again, at most kMaxPause.
//   3. A round ends with the first answer (Until::kFirst), with the last
//      question in flight, or after `patience` (half of it with Until::kAll, so
//      that a silent seed delays a client little). A question outlives its
//      round, and its answer counts for the present one, so that a client of
//      slow nodes learns the chain, too.
#ifndef KAMINO_CLIENT_QUESTIONS_H_
#define KAMINO_CLIENT_QUESTIONS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino::client {

// Thread-safe. No question may be in flight at its end (AwaitEnd).
class Questions {
 public:
  static constexpr absl::Duration kQuick = absl::Milliseconds(50);
  static constexpr absl::Duration kMaxPause = absl::Seconds(5);

  // OK: the node has answered with a chain.
  using Ended = std::function<void(const absl::Status& status)>;
  // Sends a question and calls `ended` once, on any thread, perhaps before it
  // returns.
  using Ask = std::function<void(const std::string& address, Ended ended)>;
  // Runs `task` after `delay` on any thread, but not within the call. May run
  // it early; must not run it after the end of this object.
  using After =
      std::function<void(absl::Duration delay, std::function<void()> task)>;

  // The answer that ends a round.
  enum class Until { kFirst, kAll };

  struct Options {
    std::function<absl::Time()> clock;
    Ask ask;
    After after;  // null: rounds have no time limit
    absl::Duration patience = absl::Milliseconds(500);
  };

  explicit Questions(Options options) : options_(std::move(options)) {}

  // Joins the present round, or begins one: asks each address that may be asked
  // now. Calls `done` once, at the end of the round; at once if no question is
  // in flight and none may be sent.
  void Begin(const std::vector<std::string>& addresses, Until until,
             std::function<void()> done);

  // Sends a question to `address` outside the rounds. False: the address may
  // not be asked now.
  bool AskBeside(const std::string& address);

  // The error of the last round without an answer.
  absl::Status last_error() const;

  // Waits, at most `patience`, until no question is in flight and all waiters
  // were called; returns whether that is so. The caller has cancelled the
  // questions and begins none.
  bool AwaitEnd(absl::Duration patience);

 private:
  using Waiters = std::vector<std::function<void()>>;
  struct Round {
    Until until = Until::kFirst;
    bool answered = false;  // by at least one node
    absl::Status error;     // the most specific one
    Waiters waiters;
  };
  struct Place {
    bool in_flight = false;
    absl::Time asked;  // the last time
    absl::Time not_before = absl::InfinitePast();
  };

  // Counts a question to each address that may be asked, and returns those.
  std::vector<std::string> Choose(const std::vector<std::string>& addresses)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Send(const std::vector<std::string>& chosen);
  void OnEnded(const std::string& address, const absl::Status& status);
  void OnPatienceOver(const std::shared_ptr<Round>& round);
  // Ends the present round. Call the returned waiters without the lock.
  Waiters EndRound(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return busy_ == 0; }

  const Options options_;

  mutable absl::Mutex mutex_;
  std::shared_ptr<Round> round_ ABSL_GUARDED_BY(mutex_);  // null: none
  std::map<std::string, Place> places_ ABSL_GUARDED_BY(mutex_);
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  // Questions in flight, and questions whose waiters are being called.
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status last_error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_QUESTIONS_H_
