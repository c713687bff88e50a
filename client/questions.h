// Which nodes a client asks for its chain, and when. A client asks in rounds:
// it sends a question to every address, and the first answer ends the round. So
// rounds may follow one another quickly while a slow node still has the
// question of an earlier round, and each question is work for that node.
//
// Invariants:
//   1. At most one question is in flight to an address.
//   2. After a question that took longer than kQuick, the next one to that
//      address waits for as long again, kMaxPause at most.
//   3. A round ends with the first answer (Until::kFirst), with the last
//      question in flight, or after `patience` (half of it with Until::kAll, so
//      that one silent seed delays a client little). A question outlives it:
//      its answer counts for the round of that moment, so a client whose nodes
//      are all slow learns the chain, too.
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

// Thread-safe. Nothing may be in flight when it ends (AwaitEnd).
class Questions {
 public:
  static constexpr absl::Duration kQuick = absl::Milliseconds(50);
  static constexpr absl::Duration kMaxPause = absl::Seconds(5);

  // OK: the node has answered with a chain.
  using Ended = std::function<void(const absl::Status& status)>;
  // Sends a question, which is to call `ended` once, on any thread, perhaps
  // before it returns.
  using Ask = std::function<void(const std::string& address, Ended ended)>;
  // Runs `task` after `delay`, on any thread but not within the call. May run
  // it early, and must not run it after the end of this object.
  using After =
      std::function<void(absl::Duration delay, std::function<void()> task)>;

  // Which answer ends a round.
  enum class Until { kFirst, kAll };

  struct Options {
    std::function<absl::Time()> clock;
    Ask ask;
    After after;  // null: a round waits for its questions, however long
    absl::Duration patience = absl::Milliseconds(500);
  };

  explicit Questions(Options options) : options_(std::move(options)) {}

  // Takes part in the round under way, whatever ends that one. Without one it
  // begins a round: asks each address that may be asked now. Calls `done` once,
  // at the end of the round; at once where no question is in flight and none
  // may be sent.
  void Begin(const std::vector<std::string>& addresses, Until until,
             std::function<void()> done);

  // Sends a question to `address` beside the rounds: no round waits for it to
  // be sent. False: the address may not be asked now.
  bool AskBeside(const std::string& address);

  // Of the last round that ended without an answer.
  absl::Status last_error() const;

  // Waits until no question is in flight and all waiters were told, for
  // `patience` at most; says whether it is so. The caller has cancelled the
  // questions and begins none.
  bool AwaitEnd(absl::Duration patience);

 private:
  using Waiters = std::vector<std::function<void()>>;
  struct Round {
    Until until = Until::kFirst;
    bool answered = false;  // by a node at least
    absl::Status error;     // the one that says most
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
  // Ends the round under way; its waiters are to be called without the lock.
  Waiters EndRound(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return busy_ == 0; }

  const Options options_;

  mutable absl::Mutex mutex_;
  std::shared_ptr<Round> round_ ABSL_GUARDED_BY(mutex_);  // null: none
  std::map<std::string, Place> places_ ABSL_GUARDED_BY(mutex_);
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  // Questions in flight, and those whose waiters are being called.
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status last_error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_QUESTIONS_H_
