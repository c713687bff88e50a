// admin: shows the cluster as its managers know it; removes and adds nodes.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/ids.h"
#include "base/pause.h"
#include "client/admin.h"
#include "client/cli/cli.h"
#include "client/cli/cluster_text.h"
#include "client/cli/table.h"
#include "proto/words.h"

namespace kamino::client {
namespace {

using kamino::v1::ClusterNode;
using kamino::v1::GetClusterResponse;

constexpr absl::Duration kPoll = absl::Milliseconds(100);

void Print(const GetClusterResponse& cluster) {
  std::vector<std::vector<std::string>> rows = {
      {"NODE", "ROLE", "ADDRESS", "ALIVE", "SILENT", "STATE", "VIEW",
       "RESTARTS", "REMARKS"}};
  const std::vector<std::string> by = SparesOf(cluster);
  for (const ClusterNode& node : cluster.nodes()) {
    const kamino::v1::Member& member = node.member();
    const bool is_spare =
        std::find(by.begin(), by.end(), member.node_id()) != by.end();
    const std::string remark = RemarkOn(node);
    rows.push_back(
        {member.node_id(), Word(member.role()), member.address(),
         node.alive() ? "yes" : "no", absl::StrCat(node.silent_ms(), " ms"),
         Word(node.report().condition()), absl::StrCat(node.report().view_id()),
         absl::StrCat(node.report().restarts()),
         absl::StrCat(is_spare ? "spare" : "",
                      is_spare && !remark.empty() ? "; " : "", remark)});
  }
  std::cout << absl::StrCat("cluster ", cluster.cluster_id(), ", view ",
                            cluster.view_id(), ", manager ", cluster.leader(),
                            "\n", FormatTable(rows), Remarks(cluster));
}

int Status(Cli& cli) {
  auto admin = cli.ConnectToManagers();
  if (!admin.ok()) return cli.Fail(admin.status());
  auto cluster = (*admin)->GetCluster();
  if (!cluster.ok()) return cli.Fail(cluster.status());
  NoteHowManagersDiffer((*admin)->GetManagers(), &*cluster);
  if (cli.json()) {
    PrintJson(*cluster);
  } else {
    Print(*cluster);
  }
  return kExitOk;
}

// Waits until the node is in the chain, or out of it with the removal stored,
// which happens with a view.
int Await(Cli& cli, Admin* admin, const std::string& node_id, bool in) {
  const absl::Time end = MonotonicNow() + cli.settings().timeout;
  while (MonotonicNow() < end) {
    auto cluster = admin->GetCluster();
    if (!cluster.ok()) return cli.Fail(cluster.status());
    for (const ClusterNode& node : cluster->nodes()) {
      if (node.member().node_id() != node_id) continue;
      if (in ? IsIn(node) : !IsIn(node) && node.removed()) return kExitOk;
    }
    Pause(kPoll);
  }
  return cli.Fail(absl::DeadlineExceededError(absl::StrCat(
      "asked for, but ", node_id,
      in ? " is not yet in the chain" : " is not yet known to be out",
      "; kamino admin status shows how far it is")));
}

struct Change {
  std::string node_id;
  bool wait = true;
  bool force = false;
};

// Prints the state of the node and of the chain.
int TellWhatIs(Cli& cli, Admin* admin, const std::string& what) {
  auto cluster = admin->GetCluster();
  if (!cluster.ok()) return cli.Fail(cluster.status());
  if (cli.json()) {
    PrintJson(*cluster);
    return kExitOk;
  }
  const std::vector<std::string> members = MembersOf(*cluster);
  std::cout << absl::StrCat(what, "; the chain has ", members.size(), " of ",
                            cluster->chain_length(),
                            " nodes: ", absl::StrJoin(members, ", "), "\n");
  return kExitOk;
}

int Remove(Cli& cli, const Change& change, bool drain) {
  auto admin = cli.ConnectToManagers();
  if (!admin.ok()) return cli.Fail(admin.status());
  kamino::v1::RemoveNodeRequest request;
  request.set_node_id(change.node_id);
  request.set_drain(drain);
  request.set_force(change.force);
  absl::Status status = (*admin)->RemoveNode(request);
  if (!status.ok()) return cli.Fail(status);
  if (!change.wait) {
    return TellWhatIs(cli, *admin,
                      absl::StrCat(change.node_id, " is asked to leave"));
  }
  const int awaited = Await(cli, *admin, change.node_id, false);
  return awaited == kExitOk
             ? TellWhatIs(cli, *admin, absl::StrCat(change.node_id, " is out"))
             : awaited;
}

int RemoveNow(Cli& cli, const Change& change) {
  return Remove(cli, change, /*drain=*/false);
}

int Drain(Cli& cli, const Change& change) {
  return Remove(cli, change, /*drain=*/true);
}

int AddNode(Cli& cli, const Change& change) {
  auto admin = cli.ConnectToManagers();
  if (!admin.ok()) return cli.Fail(admin.status());
  auto cluster = (*admin)->GetCluster();
  if (!cluster.ok()) return cli.Fail(cluster.status());
  const std::string& node_id = change.node_id;
  bool known = false;
  bool alive = false;
  bool member = false;
  uint32_t members = 0;
  for (const ClusterNode& node : cluster->nodes()) {
    if (node.member().node_id() == node_id) {
      known = true;
      alive = node.alive();
      member = IsIn(node);
    } else {
      members += IsIn(node);
    }
  }
  absl::Status status = (*admin)->AddNode(node_id);
  if (!status.ok()) return cli.Fail(status);
  std::string what = absl::StrCat(node_id, " is in");
  if (!known) {
    what = absl::StrCat("no node ", node_id,
                        " is known yet, it may join when it starts");
  } else if (!alive && member) {
    what = absl::StrCat(node_id,
                        " is in, but the manager does not hear it at present");
  } else if (!alive) {
    what = absl::StrCat(node_id, " does not run, it may join when it starts");
  } else if (members >= cluster->chain_length()) {
    what = absl::StrCat(node_id, " is a spare");
  } else if (!change.wait) {
    what = absl::StrCat(node_id, " may join");
  } else if (int in = Await(cli, *admin, node_id, true); in != kExitOk) {
    return in;
  }
  return TellWhatIs(cli, *admin, what);
}

struct Recovery {
  bool confirmed = false;
  bool force = false;
};

// Describes the data of the members of a recovery's view and, until it is done,
// a better alternative.
std::string WhatTheyHold(const kamino::v1::RecoverResponse& planned,
                         bool done) {
  const char* hold =
      planned.members_size() == 1 ? ", which holds " : ", which hold ";
  if (planned.complete())
    return absl::StrCat(hold, "all that was acknowledged");
  if (planned.acknowledged() > 0 && planned.holds() < planned.acknowledged()) {
    return absl::StrCat(hold, "mutations up to ", planned.holds(), " of ",
                        planned.acknowledged(), " that were acknowledged",
                        done ? "" : "; restore newer files first");
  }
  if (planned.acknowledged() > 0) {
    return absl::StrCat(hold, "all mutations that the manager knows to be ",
                        "acknowledged (up to ", planned.acknowledged(),
                        "); it may not know the last ones");
  }
  return absl::StrCat(
      hold, "possibly less than was acknowledged",
      done ? "" : "; if other nodes were in its last view, start those first");
}

int Recover(Cli& cli, const Recovery& recovery) {
  auto admin = cli.ConnectToManagers();
  if (!admin.ok()) return cli.Fail(admin.status());
  kamino::v1::RecoverRequest request;
  request.set_confirmed(recovery.confirmed);
  request.set_force(recovery.force);
  auto planned = (*admin)->Recover(request);
  if (!planned.ok()) return cli.Fail(planned.status());
  if (cli.json()) {
    PrintJson(*planned);
    return kExitOk;
  }
  std::vector<std::string> members;
  for (const kamino::v1::Member& member : planned->members()) {
    members.push_back(member.node_id());
  }
  std::cout << absl::StrCat(
      recovery.confirmed ? "the chain goes on" : "the chain would go on",
      " in view ", planned->view_id(), " with ", absl::StrJoin(members, ", "),
      WhatTheyHold(*planned, recovery.confirmed), "\n");
  if (recovery.confirmed) return kExitOk;
  std::cout << "to confirm: kamino admin recover --confirm"
            << (planned->complete() ? "\n" : " --force\n");
  return kExitOk;
}

CLI::App* AddChange(CLI::App* admin, Cli* cli, const std::string& name,
                    const std::string& description,
                    int (*run)(Cli&, const Change&),
                    const std::shared_ptr<Change>& change) {
  CLI::App* command = AddCommand(admin, cli, name, description,
                                 absl::StrCat("  kamino admin ", name, " n2"));
  command->add_option("NODE", change->node_id, "The node's --node_id.")
      ->required()
      ->type_name("");
  auto* wait =
      command->add_flag("--wait", change->wait,
                        "Waits until the change is complete, up to --timeout: "
                        "the default.");
  command
      ->add_flag_callback(
          "--no_wait", [change] { change->wait = false; },
          "Does not wait: ends once the managers have accepted the change.")
      ->excludes(wait);
  command->callback([=] {
    cli->run = [=] {
      if (!IsId(change->node_id)) {
        return cli->FailUsage(absl::StrCat("NODE must be ", kIdRule, ", not \"",
                                           Escape(change->node_id), "\""));
      }
      return run(*cli, *change);
    };
  });
  return command;
}

}  // namespace

void AddAdminCommand(CLI::App* app, Cli* cli) {
  CLI::App* admin = app->add_subcommand(
      "admin",
      "Shows the cluster as its managers see it; adds and removes nodes.");
  AddSettings(admin, &cli->settings());
  admin->require_subcommand(1);
  CLI::App* status = AddCommand(admin, cli, "status",
                                "Shows which nodes are alive, sound or "
                                "joining, and which nodes the chain waits for.",
                                "  kamino admin status");
  status->callback([=] { cli->run = [=] { return Status(*cli); }; });
  auto change = std::make_shared<Change>();
  CLI::App* remove =
      AddChange(admin, cli, "remove",
                "Takes a node out of the chain, now and until it is added.",
                RemoveNow, change);
  remove->add_flag("--force", change->force,
                   "Removes it even if a single node keeps the data.");
  AddChange(admin, cli, "drain",
            "Takes a node out of the chain once another has taken its place, "
            "so that the chain is never short of one; it stays out until it is "
            "added. Needs a spare, which kamino status names.",
            Drain, change);
  AddChange(admin, cli, "add", "Lets a node join again.", AddNode, change);
  auto recovery = std::make_shared<Recovery>();
  CLI::App* recover = AddCommand(
      admin, cli, "recover",
      "Continues with the data of the nodes after etcd was emptied or restored "
      "from an older copy, or if all returning nodes have stale copies of "
      "their data. Shows the plan; with --confirm, executes it.",
      "  kamino admin recover --confirm");
  recover->add_flag("--confirm", recovery->confirmed, "Execute the plan.");
  recover->add_flag("--force", recovery->force,
                    "Continue even if acknowledged mutations may be lost.");
  recover->callback(
      [=] { cli->run = [=] { return Recover(*cli, *recovery); }; });
  AddFinalizeCommand(admin, cli);
}

}  // namespace kamino::client
