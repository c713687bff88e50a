// The nodes' own status (GetNodeStatus), fetched while the page is open.
#ifndef KAMINO_MEMBERSHIP_PAGE_NODE_STATUSES_H_
#define KAMINO_MEMBERSHIP_PAGE_NODE_STATUSES_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/credentials.h"

namespace kamino::membership {

// Thread-safe.
class NodeStatuses {
 public:
  using Addresses = std::map<std::string, std::string>;  // by node id
  using Status = kamino::v1::GetNodeStatusResponse;

  // Credentials of the calls. Null: no TLS.
  explicit NodeStatuses(std::shared_ptr<const rpc::Credentials> credentials)
      : credentials_(std::move(credentials)) {}
  // Waits for outstanding calls, which end at once.
  ~NodeStatuses();
  NodeStatuses(const NodeStatuses&) = delete;
  NodeStatuses& operator=(const NodeStatuses&) = delete;

  // Returns the nodes' recent answers, and asks the nodes again: each at most
  // every 400 ms, one call at a time. Does not wait. Forgets nodes that are not
  // in `addresses`.
  std::map<std::string, Status> Look(const Addresses& addresses);

 private:
  struct Node;

  void Ask(const std::shared_ptr<Node>& node)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<const rpc::Credentials> credentials_;
  absl::Mutex mutex_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;  // under way
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<Node>> nodes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_PAGE_NODE_STATUSES_H_
