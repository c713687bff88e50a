#include "membership/manager/manager_web.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "membership/manager/admin_service.h"
#include "proto/version.h"
#include "rpc/call_metrics.h"

namespace kamino::membership {
namespace {

using kamino::v1::ClusterNode;
using metrics::Families;
using metrics::Labels;

constexpr char kPrometheusText[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kText[] = "text/plain; charset=utf-8";

// Each node counts in exactly one state.
std::string StateOf(const ClusterNode& node) {
  const bool member = node.member().role() != kamino::v1::ROLE_OUTSIDE &&
                      node.member().role() != kamino::v1::ROLE_UNSPECIFIED;
  if (node.away()) return member ? "member_away" : "away";
  if (!node.alive()) return member ? "member_silent" : "silent";
  if (node.suspect()) return "suspect";
  if (node.draining()) return "draining";
  if (member) return "member";
  if (node.removed()) return "removed";
  return node.joining() ? "joining" : "outside";
}

void DescribeCluster(const kamino::v1::GetClusterResponse& cluster,
                     Families* families) {
  const Labels chain = {{"chain", absl::StrCat(cluster.chain_id())}};
  const auto gauge = [&](const char* name, const char* help, double value) {
    families->Gauge(name, help, value, chain);
  };
  gauge("kamino_manager_view_id", "Id of the view in force.",
        static_cast<double>(cluster.view_id()));
  gauge("kamino_manager_epoch",
        "Recovery epoch: one higher after each forced recovery.",
        static_cast<double>(cluster.epoch()));
  gauge("kamino_manager_chain_length", "Members that the chain should have.",
        cluster.chain_length());
  gauge("kamino_manager_nodes_missing",
        "Before the first view: fresh nodes that are still missing.",
        cluster.nodes_missing());
  gauge("kamino_manager_waiting_for_nodes",
        "Members that the chain waits for: it needs one of them to go on.",
        cluster.waiting_for_size());
  gauge("kamino_manager_store_behind",
        "1: the views at etcd are not the newest; no node gets a lease.",
        cluster.store_behind().empty() ? 0 : 1);
  gauge("kamino_manager_waits_for_newer",
        "1: all members that returned have stale copies; the chain waits.",
        cluster.waits_for_newer().empty() ? 0 : 1);
  gauge("kamino_manager_refused_nodes",
        "Nodes that were refused in the last ten minutes.",
        cluster.refused_size());
  gauge("kamino_manager_acknowledged_mutations",
        "Last mutation that all members are known to have applied.",
        static_cast<double>(cluster.acknowledged()));
  std::map<std::string, int> nodes;
  for (const char* state :
       {"member", "member_away", "away", "member_silent", "suspect", "draining",
        "joining", "outside", "removed", "silent"}) {
    nodes[state] = 0;
  }
  for (const ClusterNode& node : cluster.nodes()) ++nodes[StateOf(node)];
  for (const auto& [state, count] : nodes) {
    Labels labels = chain;
    labels.emplace_back("state", state);
    families->Gauge("kamino_manager_nodes",
                    "Nodes that the leader knows, each in one state.", count,
                    std::move(labels));
  }
}

}  // namespace

ManagerWeb::ManagerWeb(Manager* manager) : manager_(manager) {
  page_.Add(metrics::DescribeProcess);
  page_.Add(rpc::DescribeCalls);
  page_.Add(rpc::DescribeLog);
  page_.Add([this](Families* families) { Describe(families); });
}

std::vector<web::Route> ManagerWeb::Routes() {
  const auto answer = [](const absl::Status& status) {
    return status.ok()
               ? web::Answer{200, kText, "ok\n"}
               : web::Answer{503, kText, absl::StrCat(status.message(), "\n")};
  };
  return {{"/metrics",
           [this] {
             return web::Answer{200, kPrometheusText, page_.Text()};
           }},
          {"/livez", [this, answer] { return answer(manager_->CheckLive()); },
           /*for_everybody=*/true},
          {"/readyz", [this, answer] { return answer(manager_->CheckReady()); },
           /*for_everybody=*/true}};
}

void ManagerWeb::Describe(Families* families) {
  families->Gauge("kamino_build_info",
                  "1; the program's version, and those of its formats.", 1,
                  {{"version", kVersion}});
  const Manager::Standing standing = manager_->standing();
  kamino::v1::GetManagerResponse self;
  manager_->Describe(&self);
  families->Gauge(
      "kamino_manager_info", "1; the cluster and the address of this manager.",
      1, {{"cluster", self.cluster_id()}, {"manager", self.manager()}});
  families->Gauge("kamino_manager_leads", "1: this manager leads.",
                  self.leads() ? 1 : 0);
  families->Counter("kamino_manager_leaderships_total",
                    "How often this manager became the leader.",
                    static_cast<double>(standing.leaderships));
  families->Gauge("kamino_manager_etcd_reachable",
                  "1: etcd has answered the last call.",
                  standing.etcd_reachable ? 1 : 0);
  families->Gauge("kamino_manager_settings_differ",
                  "1: this manager's settings differ from the leader's.",
                  self.settings_differ().empty() ? 0 : 1);
  if (!self.leads()) return;
  kamino::v1::GetClusterResponse cluster;
  const absl::Status described =
      manager_->Administer([&](ManagerCore* core, absl::Time now) {
        membership::Describe(*core, now, &cluster);
        return absl::OkStatus();
      });
  if (described.ok()) DescribeCluster(cluster, families);
}

}  // namespace kamino::membership
