// The clusters of a node's managers, from their own answers. An address in
// --managers may be wrong, or another cluster's manager may use it by now.
#ifndef KAMINO_MEMBERSHIP_AGENT_MANAGER_CLUSTERS_H_
#define KAMINO_MEMBERSHIP_AGENT_MANAGER_CLUSTERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace kamino::membership {

// Not thread-safe. `own` is the node's cluster, as rpc::ClusterName.
class ManagerClusters {
 public:
  // `given`: the addresses of --managers, at least one.
  explicit ManagerClusters(const std::vector<std::string>& given);

  // The last call to `manager` has ended. `uuid`: from its answer, in
  // hexadecimal digits; "": none. `foreign`: the manager is of another cluster
  // than the node; logged at once, and then at most once a minute.
  void Note(const std::string& manager, const std::string& uuid, bool foreign,
            const std::string& own, absl::Time now);

  bool IsForeign(const std::string& manager) const;

  // OtherCluster: the last answers of all given managers were foreign.
  absl::Status CheckAnyOwn(const std::string& own) const;
  // OtherCluster: two given managers are of different clusters. For a node
  // without a cluster.
  absl::Status CheckAlike() const;

 private:
  struct Manager {
    std::string address;
    std::string uuid = {};
    bool foreign = false;
    absl::Time next_told = absl::InfinitePast();
  };
  // Adds the manager if it is unknown; it then replaces the one that was not
  // given.
  Manager& Find(const std::string& address);
  // "10.0.0.1:7000 is of uuid 0123..., 10.0.0.2:7000 of uuid 4567..."
  std::string List() const;

  size_t given_ = 0;  // constant after construction
  // The given ones, and at most one that another manager has named.
  std::vector<Manager> managers_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_MANAGER_CLUSTERS_H_
