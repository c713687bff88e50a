// Who is head and who is tail, as far as known, and the connections to them.
#ifndef KAMINO_CLIENT_DIRECTORY_H_
#define KAMINO_CLIENT_DIRECTORY_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/chain_id.h"
#include "client/questions.h"
#include "client/read_spread.h"
#include "client/timer.h"
#include "grpcpp/client_context.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/credentials.h"

namespace kamino::client {

enum class Target {
  kHead,
  kTail,
  kAnyReplica,  // as ReadSpread chooses
};

// After so long a node that was asked for its chain counts as silent.
inline constexpr absl::Duration kQuestionTimeout = absl::Seconds(10);

// Thread-safe.
class Directory {
 public:
  using Stub = kamino::v1::KaminoService::Stub;

  // `chain_id`: which chain of the seeds' cluster; 0: the only one. Without
  // `credentials` in the clear. A node that has not answered a question by
  // `question_timeout` does not count. `timer`, which ends before this object,
  // bounds how long Refresh waits; null: it waits for the questions.
  Directory(std::vector<std::string> seeds, ChainId chain_id,
            std::shared_ptr<const rpc::Credentials> credentials = nullptr,
            absl::Duration question_timeout = kQuestionTimeout,
            Timer* timer = nullptr);
  // Ends questions that are still under way.
  ~Directory();

  // Null while no chain is known. Not of kAnyReplica, here and below.
  std::shared_ptr<Stub> Find(Target target);
  // host:port of it; likewise empty.
  std::string AddressOf(Target target) const;
  std::shared_ptr<Stub> At(const std::string& address);
  // The nodes but the head in turn, for reads that any replica may answer: the
  // tail while no more are known.
  ReadSpread::Place ReplicaAt(uint64_t turn) const;

  // Takes a view of the chain over when it is newer than the one known, and
  // says whether it was. Other chains, and other clusters than the first one's,
  // are ignored.
  bool Learn(const kamino::v1::Chain& chain);
  kamino::v1::Chain chain() const;
  uint64_t view_id() const;  // of it; 0 while none is known
  // What requests name; 0 while no chain is known and none was given.
  ChainId chain_id() const;

  // The highest number of a mutation in any answer so far: RequestId.since of
  // what is sent from now on.
  uint64_t seen() const;
  void Saw(const kamino::v1::ResponseHeader& header);

  // Asks the nodes that are known, and the seeds, for the chain; calls `done`
  // when one has answered with a chain, all have failed, or half a second is
  // over. Calls at the same time share one round (client/questions.h).
  void Refresh(std::function<void()> done);

  // Of all nodes that are known, head first, then the other seeds. Not empty.
  std::vector<std::string> Addresses() const;

  // What the last round without an answer failed with.
  absl::Status last_error() const;

 private:
  std::vector<std::string> AddressesLocked() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Stub> AtLocked(const std::string& address)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Ask(const std::string& address, Questions::Ended ended);
  void OnAnswer(const kamino::v1::GetChainResponse& response);

  const std::vector<std::string> seeds_;
  const ChainId wanted_chain_;
  const std::shared_ptr<const rpc::Credentials> credentials_;
  const absl::Duration question_timeout_;

  mutable absl::Mutex mutex_;
  kamino::v1::Chain chain_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Stub>> stubs_ ABSL_GUARDED_BY(mutex_);
  // Of those that were not answered yet.
  std::set<std::shared_ptr<grpc::ClientContext>> asking_
      ABSL_GUARDED_BY(mutex_);
  uint64_t seen_ ABSL_GUARDED_BY(mutex_) = 0;

  Questions questions_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_DIRECTORY_H_
