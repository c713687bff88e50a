#include "membership/agent/manager_clusters.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "rpc/cluster_identity.h"

namespace kamino::membership {
namespace {

constexpr absl::Duration kTellEvery = absl::Minutes(1);

std::string Cluster(const std::string& uuid) {
  return uuid.empty()
             ? "another cluster"
             : absl::StrCat("the cluster of ", rpc::ClusterName("", uuid));
}

}  // namespace

ManagerClusters::ManagerClusters(const std::vector<std::string>& given) {
  for (const std::string& address : given) {
    Find(address);
    given_ = managers_.size();
  }
}

ManagerClusters::Manager& ManagerClusters::Find(const std::string& address) {
  for (Manager& manager : managers_) {
    if (manager.address == address) return manager;
  }
  managers_.resize(given_);
  return managers_.emplace_back(Manager{address});
}

void ManagerClusters::Note(const std::string& manager, const std::string& uuid,
                           bool foreign, const std::string& own,
                           absl::Time now) {
  Manager& noted = Find(manager);
  if (!uuid.empty() && uuid != noted.uuid) {
    noted.uuid = uuid;
    noted.next_told = absl::InfinitePast();
  }
  noted.foreign = foreign;
  if (!foreign || now < noted.next_told) return;
  noted.next_told = now + kTellEvery;
  LOG(ERROR) << "the manager at " << manager << " is of " << Cluster(noted.uuid)
             << ", this node is of cluster " << own
             << ": --managers has an address that is wrong or is used by "
                "another cluster"
             << (managers_.size() > 1 ? "; the node asks its other managers"
                                      : "");
}

bool ManagerClusters::IsForeign(const std::string& manager) const {
  return std::any_of(managers_.begin(), managers_.end(), [&](const auto& each) {
    return each.address == manager && each.foreign;
  });
}

std::string ManagerClusters::List() const {
  std::string list;
  for (size_t i = 0; i < given_; ++i) {
    const Manager& manager = managers_[i];
    if (manager.uuid.empty() && !manager.foreign) continue;
    absl::StrAppend(&list, list.empty() ? "" : ", ", manager.address, " is of ",
                    Cluster(manager.uuid));
  }
  return list;
}

absl::Status ManagerClusters::CheckAnyOwn(const std::string& own) const {
  const bool all =
      std::all_of(managers_.begin(), managers_.begin() + given_,
                  [](const Manager& manager) { return manager.foreign; });
  if (!all) return absl::OkStatus();
  return rpc::OtherCluster(absl::StrCat(
      "--managers has addresses that are wrong or are used by another cluster: "
      "none is of a manager of cluster ",
      own, ", which this node's data belongs to: ", List(),
      "; name the managers of that cluster. If this node is meant for the "
      "other cluster, then --data_dir is wrong: name an empty folder"));
}

absl::Status ManagerClusters::CheckAlike() const {
  const Manager* first = nullptr;
  for (size_t i = 0; i < given_; ++i) {
    const Manager& manager = managers_[i];
    if (manager.uuid.empty()) continue;
    if (first == nullptr) first = &manager;
    if (manager.uuid == first->uuid) continue;
    return rpc::OtherCluster(
        absl::StrCat("the managers are of different clusters: ", List(),
                     "; name managers of one cluster in --managers"));
  }
  return absl::OkStatus();
}

}  // namespace kamino::membership
