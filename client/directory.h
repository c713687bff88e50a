// Which nodes are head and tail, as far as known, and the connections to them.
//
// The directory knows one cluster, by its uuid, from the first answers on
// (rpc/cluster_identity.h). It never takes over the view of another one, and
// names no node whose address another one has now. It names no node at all
// while its seeds are of different clusters (client/seed_answers.h).
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
#include "client/seed_answers.h"
#include "client/silent_seeds.h"
#include "client/stubs.h"
#include "client/timer.h"
#include "grpcpp/client_context.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/cluster_identity.h"
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
  // `question_timeout` does not count. `timer`, which ends before this object
  // and after Stop, bounds how long Refresh waits, and runs the questions to
  // silent seeds; null: Refresh waits for the questions, and only Refresh asks.
  // `connect` makes the channels; null: over gRPC.
  Directory(std::vector<std::string> seeds, ChainId chain_id,
            std::shared_ptr<const rpc::Credentials> credentials = nullptr,
            absl::Duration question_timeout = kQuestionTimeout,
            Timer* timer = nullptr,
            Stubs<kamino::v1::KaminoService>::Connect connect = nullptr);
  // Cancels the questions under way and waits for their end, without a bound.
  ~Directory();
  // Asks silent seeds no more in the background, and ends the questions under
  // way. False: one does not end within `patience`, and this object must not
  // end, either. Nothing calls Refresh from now on.
  bool Stop(absl::Duration patience);

  // host:port; empty while no chain is known, as long as another cluster has
  // that node's address, or on seeds_error. Not of kAnyReplica.
  std::string AddressOf(Target target) const;
  std::shared_ptr<Stub> At(const std::string& address);
  // The nodes but the head in turn, for reads that any replica may answer, past
  // those whose address another cluster has: the tail while no more are known.
  ReadSpread::Place ReplicaAt(uint64_t turn) const;

  // Takes a view of the chain over when it is newer than the one known, and
  // says whether it was. Other chains, and other clusters than the first one's,
  // are ignored.
  bool Learn(const kamino::v1::Chain& chain);
  // A call to the node at `address` has ended so. Learns of the chain that the
  // error names, or that the node is of another cluster.
  void OnRefused(const std::string& address, const absl::Status& why);
  kamino::v1::Chain chain() const;
  uint64_t view_id() const;  // of it; 0 while none is known
  // What requests name; 0 while no chain is known and none was given.
  ChainId chain_id() const;

  // The highest number of a mutation in any answer so far: RequestId.since of
  // what is sent from now on.
  uint64_t seen() const;
  void Saw(const kamino::v1::ResponseHeader& header);

  // Asks the nodes that are known, and the seeds, for the chain. Calls `done`
  // when one has answered with a chain, all have failed, or half a second is
  // over. Calls at the same time share one round (client/questions.h). While no
  // chain is known, the round waits for all seeds, a quarter of a second at
  // most. Seeds that have not answered once by then are asked in the background
  // (client/silent_seeds.h).
  void Refresh(std::function<void()> done);

  // Of all nodes that are known, head first, then the other seeds. Not empty.
  std::vector<std::string> Addresses() const;

  // seeds_error, or else what the last round without an answer failed with.
  absl::Status last_error() const;

  // kInvalidArgument with REASON_OTHER_CLUSTER: the seeds are of different
  // clusters. Lasts as long as this object.
  absl::Status seeds_error() const;

  // The cluster that was met; its uuid is empty until then, or as long as all
  // nodes are of release 0.1.0.
  std::shared_ptr<const rpc::ClusterIdentity> cluster() const {
    return cluster_;
  }

 private:
  std::vector<std::string> AddressesLocked() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Another cluster has that address.
  void AvoidLocked(const std::string& address)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Ask(const std::string& address, Questions::Ended ended);
  // `meets`: the question was sent while no chain was known, or is the first
  // one that the seed answers.
  void OnAnswer(const std::string& address, bool meets,
                const kamino::v1::GetChainResponse& response);
  void OnFailure(const std::string& address, bool meets,
                 const absl::Status& error);
  // While no chain is known: takes over what the seeds have answered, if they
  // are of one cluster.
  void Meet();
  void TakeLocked(const std::string& address,
                  const kamino::v1::GetChainResponse& response)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool LearnLocked(const kamino::v1::Chain& chain)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether it is the chain that is known, or could become it.
  bool IsOursLocked(const kamino::v1::Chain& chain) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<std::string> seeds_;
  const ChainId wanted_chain_;
  const std::shared_ptr<const rpc::Credentials> credentials_;
  const absl::Duration question_timeout_;
  const std::shared_ptr<rpc::ClusterIdentity> cluster_ =
      std::make_shared<rpc::ClusterIdentity>();

  Stubs<kamino::v1::KaminoService> stubs_;

  mutable absl::Mutex mutex_;
  kamino::v1::Chain chain_ ABSL_GUARDED_BY(mutex_);
  // Of those that were not answered yet.
  std::set<std::shared_ptr<grpc::ClientContext>> asking_
      ABSL_GUARDED_BY(mutex_);
  SeedAnswers seed_answers_ ABSL_GUARDED_BY(mutex_);
  // Addresses that nodes of other clusters have answered at, until a node of
  // this one does, or a newer view says more.
  std::set<std::string> foreign_ ABSL_GUARDED_BY(mutex_);
  uint64_t seen_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;  // questions end at once

  Questions questions_;
  SilentSeeds silent_seeds_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_DIRECTORY_H_
