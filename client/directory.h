// The last known head and tail, and the connections to the nodes.
//
// The directory belongs to one cluster, whose uuid it learns from the first
// answers (rpc/cluster_identity.h). It never accepts a view of another cluster,
// and never returns an address that another cluster has taken over. While its
// seeds belong to different clusters, it returns no address at all
// (client/seed_answers.h).
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
  kAnyReplica,  // chosen by ReadSpread
};

// A node that takes longer to answer counts as silent.
inline constexpr absl::Duration kQuestionTimeout = absl::Seconds(10);

// Thread-safe.
class Directory {
 public:
  using Stub = kamino::v1::KaminoService::Stub;

  // `chain_id`: a chain of the seeds' cluster; 0: the only one. `credentials`:
  // null: no TLS. A node that does not answer within `question_timeout` counts
  // as silent. `timer` ends after Stop and before this object; it bounds the
  // waits of Refresh and asks silent seeds. Null: Refresh waits for all
  // answers, and only Refresh asks. `connect` makes the channels; null: gRPC
  // channels.
  Directory(std::vector<std::string> seeds, ChainId chain_id,
            std::shared_ptr<const rpc::Credentials> credentials = nullptr,
            absl::Duration question_timeout = kQuestionTimeout,
            Timer* timer = nullptr,
            Stubs<kamino::v1::KaminoService>::Connect connect = nullptr);
  // Cancels the questions in flight and waits for their end, without a limit.
  ~Directory();
  // Stops asking silent seeds and ends the questions in flight. False: one did
  // not end within `patience`, so this object must never be destroyed. Do not
  // call Refresh afterwards.
  bool Stop(absl::Duration patience);

  // host:port; empty while no chain is known, while another cluster uses the
  // node's address, or on seeds_error. Not for kAnyReplica.
  std::string AddressOf(Target target) const;
  std::shared_ptr<Stub> At(const std::string& address);
  // For reads from any replica: the nodes except the head in turn, skipping
  // addresses that another cluster uses. The tail while no other node is known.
  ReadSpread::Place ReplicaAt(uint64_t turn) const;

  // Accepts the chain's view if it is newer than the known one, and says
  // whether it did. Ignores other chains and clusters.
  bool Learn(const kamino::v1::Chain& chain);
  // A call to the node at `address` has ended with `why`. Learns the chain that
  // the error names, or that the address belongs to another cluster.
  void OnRefused(const std::string& address, const absl::Status& why);
  kamino::v1::Chain chain() const;
  uint64_t view_id() const;  // of the known chain; 0: none
  // The chain id for requests; 0: none is known or configured.
  ChainId chain_id() const;

  // The highest sequence in any answer so far, for RequestId.since of new
  // requests.
  uint64_t seen() const;
  void Saw(const kamino::v1::ResponseHeader& header);

  // Asks the known nodes and the seeds for the chain. Calls `done` after the
  // first answer with a chain, after all have failed, or after half a second.
  // Concurrent calls share one round (client/questions.h). While no chain is
  // known, the round waits for all seeds, at most a quarter of a second. Seeds
  // that have never answered by then are asked in the background
  // (client/silent_seeds.h).
  void Refresh(std::function<void()> done);

  // All known nodes, head first, then the other seeds. Not empty.
  std::vector<std::string> Addresses() const;

  // seeds_error, or the error of the last round without an answer.
  absl::Status last_error() const;

  // kInvalidArgument with REASON_OTHER_CLUSTER: the seeds belong to different
  // clusters. Permanent.
  absl::Status seeds_error() const;

  // The cluster of the nodes. Its uuid is empty until the first answer, and
  // while all nodes run release 0.1.0.
  std::shared_ptr<const rpc::ClusterIdentity> cluster() const {
    return cluster_;
  }

 private:
  std::vector<std::string> AddressesLocked() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Another cluster uses that address.
  void AvoidLocked(const std::string& address)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Ask(const std::string& address, Questions::Ended ended);
  // `meets`: the question was sent while no chain was known, or this is the
  // seed's first answer.
  void OnAnswer(const std::string& address, bool meets,
                const kamino::v1::GetChainResponse& response);
  void OnFailure(const std::string& address, bool meets,
                 const absl::Status& error);
  // While no chain is known: accepts the seeds' answers if they belong to one
  // cluster.
  void Meet();
  void TakeLocked(const std::string& address,
                  const kamino::v1::GetChainResponse& response)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool LearnLocked(const kamino::v1::Chain& chain)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the chain is the known one, or may become it.
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
  // The contexts of the questions in flight.
  std::set<std::shared_ptr<grpc::ClientContext>> asking_
      ABSL_GUARDED_BY(mutex_);
  SeedAnswers seed_answers_ ABSL_GUARDED_BY(mutex_);
  // Addresses at which nodes of other clusters have answered, until a node of
  // this cluster answers there or a newer view changes the addresses.
  std::set<std::string> foreign_ ABSL_GUARDED_BY(mutex_);
  uint64_t seen_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;  // questions end at once

  Questions questions_;
  SilentSeeds silent_seeds_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_DIRECTORY_H_
