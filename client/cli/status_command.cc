// status: the chain as a table.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "base/escape.h"
#include "client/admin.h"
#include "client/cli/cli.h"
#include "client/cli/cluster_text.h"
#include "client/cli/heap_line.h"
#include "client/cli/node_row.h"
#include "client/cli/scrub_line.h"
#include "client/cli/table.h"
#include "client/cli/transfer_line.h"
#include "client/error.h"
#include "client/identification.h"
#include "proto/words.h"
#include "rpc/cluster_identity.h"

namespace kamino::client {
namespace {

using kamino::v1::GetNodeStatusResponse;
using kamino::v1::Member;

// Nodes that do not answer in this time are shown without a state.
constexpr absl::Duration kLook = absl::Seconds(1);

// "n1 has no link to n2, its successor". Links of joining nodes come and go.
std::string MissingLinks(const GetNodeStatusResponse& status) {
  std::string text;
  for (const auto& link : status.links()) {
    if (link.connected() || link.role() == kamino::v1::LINK_ROLE_JOINING) {
      continue;
    }
    absl::StrAppend(&text, status.node_id(), " has no link to ", link.peer(),
                    " (", Word(link.role()), "): the log of ", status.node_id(),
                    " says why\n");
  }
  return text;
}

// Names the spares, which only managers know. "": no spare is known, or the
// settings name no manager. kInvalidArgument with REASON_OTHER_CLUSTER: the
// managers are not of the client's cluster, or of different ones.
absl::StatusOr<std::string> SparesLine(const Cli& cli, const Client& client) {
  const Settings& settings = cli.settings();
  if (settings.managers.empty()) return "";
  auto credentials =
      Identify(settings.tls, settings.insecure, settings.managers);
  absl::StatusOr<kamino::v1::GetClusterResponse> cluster =
      absl::UnavailableError("");
  if (credentials.ok()) {
    cluster = Admin(settings.managers, std::min(settings.timeout, kLook),
                    *std::move(credentials), client.cluster())
                  .GetCluster();
  } else {
    cluster = credentials.status();
  }
  if (AreOfDifferentClusters(cluster.status())) return cluster.status();
  if (!cluster.ok()) {
    return absl::StrCat("the spares are not known: ",
                        Printable(cluster.status().message()), "\n");
  }
  const std::vector<std::string> nodes = SparesOf(*cluster);
  if (nodes.empty()) return "";
  return absl::StrCat(nodes.size() == 1 ? "spare: " : "spares: ",
                      absl::StrJoin(nodes, ", "), "\n");
}

// The nodes' statuses, or the errors of the calls.
using Statuses = std::vector<StatusOfNode>;

Statuses Ask(Client* client, const kamino::v1::Chain& chain) {
  Statuses statuses;
  for (const Member& node : chain.nodes()) {
    StatusOfNode& status =
        statuses.emplace_back(client->NodeStatus(node.address()));
    // Before its first view a node knows its cluster's name alone.
    if (status.ok() && status->cluster_id() != chain.cluster_id()) {
      status = rpc::OtherCluster(absl::StrCat(
          node.address(), " is of cluster ", Printable(status->cluster_id()),
          ", not of cluster ", client->cluster()->ToString()));
    }
  }
  return statuses;
}

bool IsRefusal(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || rpc::IsOtherCluster(status);
}

absl::Status IsAnotherNode(const Member& node,
                           const GetNodeStatusResponse& status) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the state of no node is known: at ", node.address(), ", the address of ",
      node.node_id(), ", answers ", Printable(status.node_id()),
      "; check the names in the DNS and each node's --advertise"));
}

// The error if no node's status is known. A refusal goes before a missing
// answer: a retry does not help against it.
absl::Status WhyNone(const kamino::v1::Chain& chain, const Statuses& statuses) {
  absl::Status why;
  for (size_t i = 0; i < statuses.size(); ++i) {
    const auto& status = statuses[i];
    const Member& node = chain.nodes(static_cast<int>(i));
    if (status.ok() && !IsStranger(node, status)) return absl::OkStatus();
    if (status.ok()) {
      if (why.ok()) why = IsAnotherNode(node, *status);
      continue;
    }
    if (why.ok() || (IsRefusal(status.status()) && !IsRefusal(why))) {
      why = status.status();
    }
  }
  return why;
}

// One line for each missing role, however many nodes report it. "": no node
// refused.
std::string NotAllowedLines(const Statuses& statuses) {
  std::set<std::string> said;
  for (const auto& status : statuses) {
    if (absl::IsPermissionDenied(status.status())) {
      said.insert(absl::StrCat(
          "not allowed: ", Printable(status.status().message()), "\n"));
    }
  }
  return absl::StrJoin(said, "");
}

std::string AwayLine(const kamino::v1::Chain& chain) {
  if (chain.away().empty()) return "";
  return absl::StrCat(
      "away, in a planned stop: ", absl::StrJoin(chain.away(), ", "),
      "; kamino admin status shows how long the manager keeps a place\n");
}

std::string TableOf(const std::string& spare, const kamino::v1::Chain& chain,
                    const Statuses& statuses) {
  std::vector<std::vector<std::string>> rows = {
      {"NODE", "ROLE", "ADDRESS", "STATE", "VIEW", "LEASE", "RECEIVED",
       "APPLIED", "CLEANED", "HEAP", "UNDO COPY", "RESTARTS", "LINKS"}};
  std::string strangers;
  std::string divergences;
  std::string unlinked;
  std::string heap;
  std::string scrub;
  std::string transfers;
  std::string mode;
  for (int i = 0; i < chain.nodes_size(); ++i) {
    const Member& node = chain.nodes(i);
    const auto& status = statuses[i];
    rows.push_back(RowOf(node, status));
    strangers += StrangerLine(node, status);
    if (!status.ok() || IsStranger(node, status)) continue;
    strangers += NoViewLine(*status);
    divergences += DivergenceOf(node.node_id(), status->disputed());
    unlinked += MissingLinks(*status);
    transfers += TransferLine(*status);
    heap += HeapLine(*status);
    if (status->role() == kamino::v1::ROLE_HEAD) {
      scrub = ScrubLine(status->scrub());
    }
    // The same for all nodes of a chain.
    if (status->chain_mode() != kamino::v1::CHAIN_MODE_UNSPECIFIED) {
      mode = absl::StrCat(", mode ", Word(status->chain_mode()));
    }
  }
  return absl::StrCat("cluster ", chain.cluster_id(), ", view ",
                      chain.view_id(), mode, "\n", FormatTable(rows),
                      NotAllowedLines(statuses), strangers, AwayLine(chain),
                      spare, unlinked, divergences, transfers, heap, scrub);
}

// Prints the chain. Not OK: why no node's state is known; or, with nothing
// printed, an error of SparesLine.
absl::Status Show(const Cli& cli, Client* client) {
  const kamino::v1::Chain chain = client->chain();
  const Statuses statuses = Ask(client, chain);
  if (cli.json()) {
    for (const auto& status : statuses) {
      if (status.ok()) PrintJson(*status);
    }
  } else {
    const auto spare = SparesLine(cli, *client);
    if (!spare.ok()) return spare.status();
    std::cout << TableOf(*spare, chain, statuses);
  }
  std::cout.flush();
  return WhyNone(chain, statuses);
}

int RunStatus(Cli& cli, bool watch) {
  auto client = cli.Connect();
  if (!client.ok()) return cli.Fail(client.status());
  if (cli.json()) PrintJson((*client)->chain());
  absl::Status shown = Show(cli, *client);
  // std::cout fails once the terminal is closed.
  while (watch && std::cout.good() && !AreOfDifferentClusters(shown)) {
    sleep(1);
    if (absl::Status refreshed = (*client)->Refresh(); !refreshed.ok()) {
      cli.Fail(refreshed);
    }
    if (isatty(1) == 1) std::cout << "\033[H\033[2J";
    shown = Show(cli, *client);
  }
  if (shown.ok()) return kExitOk;
  if (AreOfDifferentClusters(shown)) return cli.Fail(shown);
  return cli.Fail(WithMore(shown, "; so no node's state is known"));
}

}  // namespace

void AddStatusCommand(CLI::App* app, Cli* cli) {
  auto watch = std::make_shared<bool>(false);
  CLI::App* status =
      AddCommand(app, cli, "status",
                 "Shows the chain as a table. If no node tells its state, "
                 "exits with 1 if nodes refuse, with 3 if none answers.",
                 "  kamino status\n  kamino status --watch\n"
                 "  kamino status --json        # the chain, then each node");
  status->add_flag("--watch", *watch, "Repeats the output every second.");
  status->callback([=] { cli->run = [=] { return RunStatus(*cli, *watch); }; });
}

}  // namespace kamino::client
