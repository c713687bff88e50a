#include "rpc/timeouts.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace kamino::rpc {
namespace {

// Requests that are answered from memory.
constexpr absl::Duration kShort = absl::Seconds(5);
// Requests that may wait for a chain's recovery, or for etcd.
constexpr absl::Duration kLong = absl::Seconds(10);
// Requests with many answers.
constexpr absl::Duration kMany = absl::Minutes(1);

constexpr Timeout kTimeouts[] = {
    {"/kamino.v1.KaminoService/Get", kLong},
    {"/kamino.v1.KaminoService/BatchGet", kLong},
    {"/kamino.v1.KaminoService/Put", kLong},
    {"/kamino.v1.KaminoService/Patch", kLong},
    {"/kamino.v1.KaminoService/Delete", kLong},
    {"/kamino.v1.KaminoService/Scan", kMany},
    {"/kamino.v1.KaminoService/Commit", kLong},
    {"/kamino.v1.KaminoService/Call", kLong},
    {"/kamino.v1.KaminoService/GetOutcome", kLong},
    {"/kamino.v1.KaminoService/GetChain", kShort},
    {"/kamino.v1.KaminoService/WatchChain", absl::InfiniteDuration()},
    {"/kamino.v1.KaminoService/GetNodeStatus", kShort},
    {"/kamino.v1.BackupService/Save", absl::InfiniteDuration()},
    {"/kamino.v1.BackupService/Restore", kLong},
    {"/kamino.v1.AdminService/GetCluster", kShort},
    {"/kamino.v1.AdminService/GetManager", kShort},
    {"/kamino.v1.AdminService/RemoveNode", kLong},
    {"/kamino.v1.AdminService/AddNode", kLong},
    {"/kamino.v1.AdminService/Recover", kLong},
    {"/kamino.v1.AdminService/Finalize", kLong},
    {"/kamino.v1.DebugService/GetDebug", kShort},
    {"/kamino.internal.v1.MembershipService/Register", kShort},
    {"/kamino.internal.v1.MembershipService/Heartbeat", kShort},
    {"/kamino.internal.v1.VouchService/Vouch", kShort},
    {"/kamino.internal.v1.VerbsLinks/Connect", kLong},
    {"/kamino.internal.v1.ChainLinks/GetPass", kShort},
};

}  // namespace

absl::Span<const Timeout> Timeouts() { return kTimeouts; }

std::string ServiceConfig(absl::Span<const Timeout> timeouts) {
  std::vector<std::string> methods;
  for (const Timeout& deadline : timeouts) {
    if (deadline.most == absl::InfiniteDuration()) continue;
    const std::pair<std::string, std::string> name =
        absl::StrSplit(absl::StripPrefix(deadline.method, "/"), '/');
    methods.push_back(absl::StrCat(
        R"({"name":[{"service":")", name.first, R"(","method":")", name.second,
        R"("}],"timeout":")", absl::ToDoubleSeconds(deadline.most), R"(s"})"));
  }
  return absl::StrCat(R"({"methodConfig":[)", absl::StrJoin(methods, ","),
                      "]}");
}

}  // namespace kamino::rpc
