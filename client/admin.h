// The operator's calls to a cluster's managers.
#ifndef KAMINO_CLIENT_ADMIN_H_
#define KAMINO_CLIENT_ADMIN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kamino/v1/admin.pb.h"
#include "rpc/cluster_identity.h"

// Only admin.cc includes the headers of gRPC: they take a second to compile.
namespace grpc {
class ClientContext;
}  // namespace grpc

namespace kamino::rpc {
class Credentials;
}  // namespace kamino::rpc

namespace kamino::client {

// Calls the managers in turn until the leader answers. Not thread-safe.
class Admin {
 public:
  // `managers`: host:port each, at least one. `timeout`: for each method.
  // `credentials`: null: without TLS. `seeds_cluster`: the cluster of the
  // seeds, to which the managers must belong as well; null: any cluster.
  Admin(std::vector<std::string> managers, absl::Duration timeout,
        std::shared_ptr<const rpc::Credentials> credentials = nullptr,
        std::shared_ptr<const rpc::ClusterIdentity> seeds_cluster = nullptr);

  // Errors as AdminService. kDeadlineExceeded: no manager leads, or none can be
  // reached. kInvalidArgument: a process at an address is not a manager.
  // kInvalidArgument with REASON_OTHER_CLUSTER: the managers belong to
  // different clusters, or to another one than the seeds.
  absl::StatusOr<kamino::v1::GetClusterResponse> GetCluster();
  absl::Status RemoveNode(const kamino::v1::RemoveNodeRequest& request);
  absl::Status AddNode(const std::string& node_id);
  absl::StatusOr<kamino::v1::RecoverResponse> Recover(
      const kamino::v1::RecoverRequest& request);
  absl::StatusOr<kamino::v1::FinalizeResponse> Finalize(
      const kamino::v1::FinalizeRequest& request);
  // Each manager's own description; managers that do not answer are left out.
  std::vector<kamino::v1::GetManagerResponse> GetManagers();

  // The cluster that calls name: the seeds' cluster, or the one that the
  // managers reported.
  std::shared_ptr<const rpc::ClusterIdentity> cluster() const {
    return cluster_;
  }

 private:
  struct Stub;
  struct Look;
  // Calls GetManager at all managers at once, with a short timeout.
  std::vector<std::unique_ptr<Look>> LookAtManagers() const;
  // Checks that all managers belong to one cluster, before any call to a
  // leader: the first manager to answer must not decide which cluster is meant.
  absl::Status MeetCluster();
  // The error if `manager`, which `context` has called, belongs to another
  // cluster than the seeds. `cluster_id`: of that cluster, or "".
  absl::Status NotOfTheSeeds(const std::string& manager,
                             const std::string& cluster_id,
                             const grpc::ClientContext& context) const;
  // One attempt at one manager.
  using Call = absl::FunctionRef<absl::Status(Stub*, grpc::ClientContext*)>;
  // `attempt`: timeout of one attempt.
  absl::Status AskLeader(Call call, absl::Duration attempt);
  std::unique_ptr<Stub> StubOf(const std::string& manager) const;

  const std::vector<std::string> managers_;
  const absl::Duration timeout_;
  const std::shared_ptr<const rpc::Credentials> credentials_;
  const std::shared_ptr<rpc::ClusterIdentity> met_ =  // of the managers
      std::make_shared<rpc::ClusterIdentity>();
  const std::shared_ptr<const rpc::ClusterIdentity> cluster_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_ADMIN_H_
