// What operators ask of a cluster's managers.
#ifndef KAMINO_CLIENT_ADMIN_H_
#define KAMINO_CLIENT_ADMIN_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kamino/v1/admin.grpc.pb.h"

namespace kamino::client {

// Asks the managers in turn until the one that leads answers. Not thread-safe.
class Admin {
 public:
  // `managers`: host:port each, at least one. `timeout`: of each method.
  Admin(std::vector<std::string> managers, absl::Duration timeout);

  // Errors as AdminService; kDeadlineExceeded: no manager leads, or none can be
  // reached; kInvalidArgument: what was asked is no manager.
  absl::StatusOr<kamino::v1::GetClusterResponse> GetCluster();
  absl::Status RemoveNode(const kamino::v1::RemoveNodeRequest& request);
  absl::Status AddNode(const std::string& node_id);
  absl::StatusOr<kamino::v1::RecoverResponse> Recover(
      const kamino::v1::RecoverRequest& request);

 private:
  using Stub = kamino::v1::AdminService::Stub;
  // One attempt.
  using Call = absl::FunctionRef<absl::Status(Stub*, grpc::ClientContext*)>;
  absl::Status AskLeader(Call call);

  const std::vector<std::string> managers_;
  const absl::Duration timeout_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_ADMIN_H_
