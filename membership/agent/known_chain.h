// A node's knowledge of its chain: its own report and the newest view. The node
// checks managers' answers by these.
#ifndef KAMINO_MEMBERSHIP_AGENT_KNOWN_CHAIN_H_
#define KAMINO_MEMBERSHIP_AGENT_KNOWN_CHAIN_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/chain_id.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/node_report.h"

namespace kamino::membership {

// Not thread-safe.
class KnownChain {
 public:
  KnownChain(std::string cluster_id, ChainId chain_id);

  // Sets the report to the manager; the view's id never goes back.
  void SetReport(const NodeReport& report);
  const NodeReport& report() const { return report_; }
  // Completes the report for the next call, and counts that call.
  const NodeReport& NextReport(absl::Duration late, uint64_t process,
                               Stopping stopping);

  // The newest view from a manager, without what members report; id 0: none.
  const kamino::internal::v1::ViewRecord& view() const { return view_; }
  bool has_view() const { return view_.view_id() != 0; }
  void SetView(const kamino::internal::v1::ViewRecord& record);

  // The node has neither data of a cluster nor a view.
  bool IsOfNoCluster() const {
    return report_.cluster_uuid.empty() && !has_view();
  }
  std::string OwnCluster() const;  // rpc::ClusterName

  // Checks an answer for `chain_id`, with `view` (id 0: none) and the id of the
  // manager's newest view. Not OK: neither its view nor its lease counts.
  absl::Status Check(ChainId chain_id,
                     const kamino::internal::v1::ViewRecord& view,
                     const KnownView& newest) const;

 private:
  // Not OK: the manager's views are older than those that this node knows, or
  // of another history.
  absl::Status CheckHistory(const KnownView& newest) const;
  // Not OK: the view is of another cluster than the node's data.
  absl::Status CheckCluster(const kamino::internal::v1::ViewRecord& view) const;

  const std::string cluster_id_;
  const ChainId chain_id_;
  NodeReport report_;
  kamino::internal::v1::ViewRecord view_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_KNOWN_CHAIN_H_
