// The last known head and tail, and the stubs of the nodes. The directory asks
// no node: client/chain_finder.h does, and passes the answers on.
//
// The directory belongs to one cluster, whose uuid it learns from the first
// answers (rpc/cluster_identity.h). It never accepts a view of another cluster,
// and never returns an address that another cluster has taken over. While its
// seeds belong to different clusters, it returns no address at all
// (client/seed_answers.h).
#ifndef KAMINO_CLIENT_DIRECTORY_H_
#define KAMINO_CLIENT_DIRECTORY_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/chain_id.h"
#include "client/read_spread.h"
#include "client/seed_answers.h"
#include "client/stubs.h"
#include "client/timer.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/cluster_identity.h"
#include "rpc/credentials.h"

namespace kamino::client {

enum class Target {
  kHead,
  kTail,
  kAnyReplica,  // chosen by ReadSpread
};

struct DirectoryOptions {
  std::vector<std::string> seeds;
  ChainId chain_id = 0;  // a chain of the seeds' cluster; 0: the only one
  std::shared_ptr<const rpc::Credentials> credentials;  // null: no TLS
  // Makes the channels; null: gRPC channels.
  Stubs<kamino::v1::KaminoService>::Connect connect;
};

// Thread-safe.
class Directory {
 public:
  using Stub = kamino::v1::KaminoService::Stub;

  // `timer` must outlive all calls of this object. Null: former stubs are kept
  // until the end of this object.
  explicit Directory(DirectoryOptions options, Timer* timer = nullptr);

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
  // Whether a chain is known.
  bool known() const;
  kamino::v1::Chain chain() const;
  uint64_t view_id() const;  // of the known chain; 0: none
  // The chain id for requests; 0: none is known or configured.
  ChainId chain_id() const;

  // The highest sequence in any answer so far, for RequestId.since of new
  // requests.
  uint64_t seen() const;
  void Saw(const kamino::v1::ResponseHeader& header);

  const std::vector<std::string>& seeds() const { return seeds_; }
  // All known nodes, head first, then the other seeds. Not empty.
  std::vector<std::string> Addresses() const;

  // kInvalidArgument with REASON_OTHER_CLUSTER: the seeds belong to different
  // clusters. Permanent.
  absl::Status seeds_error() const;

  // The cluster of the nodes. Its uuid is empty until the first answer, and
  // while all nodes run release 0.1.0.
  std::shared_ptr<const rpc::ClusterIdentity> cluster() const {
    return cluster_;
  }

  // --- Answers to the question for the chain.

  // `meets`: the question was sent while no chain was known, or this is the
  // seed's first answer. While no chain is known, only Meet accepts one.
  void OnAnswer(const std::string& address, bool meets,
                const kamino::v1::GetChainResponse& response);
  // `error`: the node at `address` belongs to another cluster
  // (rpc::OtherCluster).
  void OnOtherCluster(const std::string& address, bool meets,
                      const absl::Status& error);
  // While no chain is known: accepts the seeds' answers if they belong to one
  // cluster. Returns whether this made a chain known.
  bool Meet();

 private:
  std::vector<std::string> AddressesLocked() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Another cluster uses that address.
  void AvoidLocked(const std::string& address)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
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
  const std::shared_ptr<rpc::ClusterIdentity> cluster_ =
      std::make_shared<rpc::ClusterIdentity>();

  Stubs<kamino::v1::KaminoService> stubs_;

  mutable absl::Mutex mutex_;
  kamino::v1::Chain chain_ ABSL_GUARDED_BY(mutex_);
  SeedAnswers seed_answers_ ABSL_GUARDED_BY(mutex_);
  // Addresses at which nodes of other clusters have answered, until a node of
  // this cluster answers there or a newer view changes the addresses.
  std::set<std::string> foreign_ ABSL_GUARDED_BY(mutex_);
  uint64_t seen_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_DIRECTORY_H_
