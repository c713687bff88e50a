#include "node/driver/manager_reports.h"

#include <utility>

namespace kamino::node {

void ManagerReports::Report() {
  // Each batch moves the cursors; heartbeats need no finer ones. They are
  // reported together with any other change: a node's data is judged by both.
  const ChainNode::Standing standing = context_.chain->standing();
  const bool ticked = std::exchange(ticked_, false);
  if (!ticked && standing == standing_) return;
  standing_ = standing;
  membership::NodeReport report = context_.chain->report();
  if (report == reported_) return;
  const bool caught_up =
      report.caught_up_view != 0 && reported_.caught_up_view == 0;
  reported_ = report;
  context_.views->SetReport(report);
  if (caught_up)
    context_.views->RequestView();  // so that the manager need not wait
}

}  // namespace kamino::node
