// admin: the cluster as its managers see it, and nodes in and out of the chain.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/admin.h"
#include "client/cli/cli.h"
#include "client/cli/table.h"

ABSL_DECLARE_FLAG(absl::Duration, timeout);
ABSL_FLAG(std::string, managers, "",
          "admin: host:port,... of the managers; by default the environment "
          "variable KAMINO_MANAGERS.");
ABSL_FLAG(bool, wait, true,
          "admin: wait until what was asked for is in force, up to --timeout.");

namespace kamino::client {
namespace {

using kamino::v1::ClusterNode;
using kamino::v1::GetClusterResponse;

constexpr char kUsage[] = "admin status | remove NODE | drain NODE | add NODE";
constexpr absl::Duration kPoll = absl::Milliseconds(100);

std::string Wish(const ClusterNode& node) {
  if (node.removed()) return "removed";
  if (node.draining()) return "draining";
  return node.joining() ? "joining" : "";
}

void Print(const GetClusterResponse& cluster) {
  std::vector<std::vector<std::string>> rows = {
      {"NODE", "ROLE", "ADDRESS", "ALIVE", "SILENT", "STATE", "VIEW", ""}};
  for (const ClusterNode& node : cluster.nodes()) {
    rows.push_back({node.node_id(), node.role(), node.address(),
                    node.alive() ? "yes" : "no",
                    absl::StrCat(node.silent_ms(), " ms"), node.condition(),
                    absl::StrCat(node.view_id()), Wish(node)});
  }
  std::cout << absl::StrCat("cluster ", cluster.cluster_id(), ", view ",
                            cluster.view_id(), ", manager ", cluster.leader(),
                            "\n", FormatTable(rows));
  if (cluster.waiting_for().empty()) return;
  std::cout << "the chain waits for "
            << absl::StrJoin(cluster.waiting_for(), " or ") << "\n";
}

int Status(Admin* admin, bool json) {
  auto cluster = admin->GetCluster();
  if (!cluster.ok()) return Fail(cluster.status());
  if (json) {
    PrintJson(*cluster);
  } else {
    Print(*cluster);
  }
  return kExitOk;
}

bool IsIn(const ClusterNode& node) { return node.role() != "outside"; }

// Until the node is in the chain, or outside and known to be wanted so.
int Await(Admin* admin, const std::string& node_id, bool in) {
  const absl::Time end = absl::Now() + absl::GetFlag(FLAGS_timeout);
  while (absl::Now() < end) {
    auto cluster = admin->GetCluster();
    if (!cluster.ok()) return Fail(cluster.status());
    bool found = false;
    for (const ClusterNode& node : cluster->nodes()) {
      if (node.node_id() == node_id) found = IsIn(node);
    }
    if (found == in) return kExitOk;
    absl::Notification never;
    never.WaitForNotificationWithTimeout(kPoll);
  }
  return Fail(absl::DeadlineExceededError(absl::StrCat(
      "asked for, but ", node_id, " is ", in ? "not yet in" : "still in",
      " the chain; kamino admin status shows how far it is")));
}

int Remove(Admin* admin, const std::string& node_id, bool drain) {
  absl::Status status = admin->RemoveNode(node_id, drain);
  if (!status.ok()) return Fail(status);
  return absl::GetFlag(FLAGS_wait) ? Await(admin, node_id, false) : kExitOk;
}

int Add(Admin* admin, const std::string& node_id) {
  auto cluster = admin->GetCluster();
  if (!cluster.ok()) return Fail(cluster.status());
  bool known = false;
  uint32_t members = 0;
  for (const ClusterNode& node : cluster->nodes()) {
    known = known || node.node_id() == node_id;
    members += IsIn(node) && node.node_id() != node_id;
  }
  absl::Status status = admin->AddNode(node_id);
  if (!status.ok()) return Fail(status);
  if (!known) {
    std::cerr << "kamino: no node " << node_id
              << " is known yet; it may join when it starts\n";
    return kExitOk;
  }
  if (members >= cluster->chain_length()) {
    std::cerr << "kamino: the chain has its " << members << " nodes; "
              << node_id << " stands by\n";
    return kExitOk;
  }
  return absl::GetFlag(FLAGS_wait) ? Await(admin, node_id, true) : kExitOk;
}

}  // namespace

int RunAdmin(bool json, const Words& words) {
  std::string managers = absl::GetFlag(FLAGS_managers);
  const char* environment = std::getenv("KAMINO_MANAGERS");
  if (managers.empty() && environment != nullptr) managers = environment;
  std::vector<std::string> addresses =
      absl::StrSplit(managers, ',', absl::SkipEmpty());
  if (addresses.empty()) {
    std::cerr << "kamino: where are the managers? Set --managers=host:port,... "
                 "or KAMINO_MANAGERS\n";
    return kExitUsage;
  }
  Admin admin(std::move(addresses), absl::GetFlag(FLAGS_timeout));
  if (words.size() == 1 && words[0] == "status") return Status(&admin, json);
  if (words.size() != 2) return FailUsage(kUsage);
  if (words[0] == "remove") return Remove(&admin, words[1], false);
  if (words[0] == "drain") return Remove(&admin, words[1], true);
  if (words[0] == "add") return Add(&admin, words[1]);
  return FailUsage(kUsage);
}

}  // namespace kamino::client
