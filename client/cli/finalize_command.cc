// admin finalize: the last step of an upgrade.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/pause.h"
#include "client/admin.h"
#include "client/cli/cli.h"
#include "client/cli/cluster_text.h"

namespace kamino::client {
namespace {

using kamino::v1::FinalizeResponse;

constexpr absl::Duration kPoll = absl::Milliseconds(100);

struct Finalization {
  bool confirmed = false;
  bool force = false;
};

// Waits until the features are in force, which a stored view says.
absl::Status AwaitFinalized(absl::Duration timeout, Admin* admin) {
  const absl::Time end = MonotonicNow() + timeout;
  while (MonotonicNow() < end) {
    auto cluster = admin->GetCluster();
    if (!cluster.ok()) return cluster.status();
    if (cluster->not_finalized().empty()) return absl::OkStatus();
    Pause(kPoll);
  }
  return absl::DeadlineExceededError(
      "asked for, but it is not yet in force; kamino admin status says when it "
      "is");
}

// A withdrawal alone does not: the older release can do without the feature.
bool ShutsOutOlderNodes(const FinalizeResponse& planned) {
  return std::any_of(planned.rises().begin(), planned.rises().end(),
                     [](const auto& rise) { return rise.to() > rise.from(); });
}

int Finalize(Cli& cli, const Finalization& finalization) {
  auto admin = cli.ConnectToManagers();
  if (!admin.ok()) return cli.Fail(admin.status());
  kamino::v1::FinalizeRequest request;
  request.set_confirmed(finalization.confirmed);
  request.set_force(finalization.force);
  auto planned = (*admin)->Finalize(request);
  if (!planned.ok()) return cli.Fail(planned.status());
  if (planned->confirmed()) {
    absl::Status done = AwaitFinalized(cli.settings().timeout, *admin);
    if (!done.ok()) return cli.Fail(done);
  }
  if (cli.json()) {
    PrintJson(*planned);
    return kExitOk;
  }
  if (planned->rises().empty()) {
    std::cout << "nothing to finalize: the levels in force are those of the "
                 "members' release\n";
    return kExitOk;
  }
  for (const kamino::v1::Rise& rise : planned->rises()) {
    std::cout << absl::StrCat(
        finalization.confirmed ? "" : "would put ", RiseText(rise),
        finalization.confirmed ? " is in force\n" : " in force\n");
  }
  if (!finalization.confirmed) {
    std::cout << (ShutsOutOlderNodes(*planned)
                      ? "nodes of the older release could not come back; "
                      : "")
              << "to confirm: kamino admin finalize --confirm\n";
  }
  return kExitOk;
}

}  // namespace

void AddFinalizeCommand(CLI::App* admin, Cli* cli) {
  auto finalization = std::make_shared<Finalization>();
  CLI::App* command = AddCommand(
      admin, cli, "finalize",
      "Puts the features of a newer release in force once all members run it; "
      "nodes of the older release are refused from then on. Shows the "
      "features; with --confirm, puts them in force.",
      "  kamino admin finalize --confirm");
  command->add_flag("--confirm", finalization->confirmed,
                    "Put the features in force.");
  command->add_flag("--force", finalization->force,
                    "Finalize even if a node outside of the chain runs the "
                    "older release and could not come back.");
  command->callback(
      [=] { cli->run = [=] { return Finalize(*cli, *finalization); }; });
}

}  // namespace kamino::client
