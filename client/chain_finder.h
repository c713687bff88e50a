// Asks the known nodes and the seeds of a client for the chain, and passes
// their answers to the directory. The client asks when it knows no node for a
// call, or when a node refuses a call; seeds that have never answered are asked
// in the background (client/silent_seeds.h). Private to the library.
#ifndef KAMINO_CLIENT_CHAIN_FINDER_H_
#define KAMINO_CLIENT_CHAIN_FINDER_H_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/directory.h"
#include "client/questions.h"
#include "client/silent_seeds.h"
#include "client/timer.h"
#include "grpcpp/client_context.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

// A node that takes longer to answer counts as silent.
inline constexpr absl::Duration kQuestionTimeout = absl::Seconds(10);

// Thread-safe.
class ChainFinder {
 public:
  // `directory` must outlive this. A node that does not answer within
  // `question_timeout` counts as silent. `timer` ends after Stop and before
  // this object; it bounds the waits of Refresh and asks silent seeds. Null:
  // Refresh waits for all answers, and only Refresh asks.
  explicit ChainFinder(Directory* directory, Timer* timer = nullptr,
                       absl::Duration question_timeout = kQuestionTimeout);
  // Cancels the questions in flight and waits for their end, without a limit.
  ~ChainFinder();
  // Stops asking silent seeds and ends the questions in flight. False: one did
  // not end within `patience`, so this object must never be destroyed. Do not
  // call Refresh afterwards.
  bool Stop(absl::Duration patience);

  // Asks the known nodes and the seeds for the chain. Calls `done` after the
  // first answer with a chain, after all have failed, or after half a second.
  // Concurrent calls share one round (client/questions.h). While no chain is
  // known, the round waits for all seeds, at most a quarter of a second. Seeds
  // that have never answered by then are asked in the background
  // (client/silent_seeds.h).
  void Refresh(std::function<void()> done);

  // The directory's seeds_error, or the error of the last round without an
  // answer.
  absl::Status last_error() const;

 private:
  void Ask(const std::string& address, Questions::Ended ended);
  // `meets`: as for the directory.
  void OnAnswer(const std::string& address, bool meets,
                const kamino::v1::GetChainResponse& response);
  void OnFailure(const std::string& address, bool meets,
                 const absl::Status& error);
  void Meet();

  Directory* const directory_;
  const absl::Duration question_timeout_;

  absl::Mutex mutex_;
  // The contexts of the questions in flight.
  std::set<std::shared_ptr<grpc::ClientContext>> asking_
      ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;  // questions end at once

  Questions questions_;
  SilentSeeds silent_seeds_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CHAIN_FINDER_H_
