#include "client/cli/cluster_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/chain_mode.h"
#include "client/cli/table.h"

namespace kamino::client {
namespace {

using kamino::v1::ClusterNode;
using kamino::v1::GetClusterResponse;
using kamino::v1::GetManagerResponse;

constexpr uint32_t kSlowMs = 300;  // per second
// A member that has waited this long for its successor commits nothing.
constexpr uint32_t kWaitsMs = 3000;
constexpr uint64_t kPageBytes = 4096;

// "4m48s", "12s".
std::string Time(uint64_t ms) {
  return absl::FormatDuration(absl::Seconds((ms + 999) / 1000));
}

// The chain does not wait for a member that is there but has no data.
std::string Awaited(const GetClusterResponse& cluster,
                    const std::string& node_id) {
  for (const ClusterNode& node : cluster.nodes()) {
    if (node.member().node_id() == node_id && node.alive() &&
        node.report().condition() == kamino::v1::CONDITION_FRESH) {
      return absl::StrCat("the data of ", node_id);
    }
  }
  return node_id;
}

// The state transfer to a joining node; "": the node does not join.
std::string SendsOf(const ClusterNode& node) {
  const kamino::v1::NodeReport& report = node.report();
  if (!node.alive() || report.transfer_pass() == 0) return "";
  if (report.transfer_pages() > 0) {
    const uint64_t left = report.transfer_bytes_left() / kPageBytes;
    const uint64_t pages = std::max(report.transfer_pages(), left);
    return absl::StrCat("sends changed pages: ", pages - left, " of ", pages,
                        " pages");
  }
  return absl::StrCat("sends its heap: pass ", report.transfer_pass(), ", ",
                      report.transfer_bytes_left() >> 20, " MiB left");
}

// Nothing: before the first view, or an unknown mode.
std::optional<ChainMode> ModeOf(const GetClusterResponse& cluster) {
  switch (cluster.chain_mode()) {
    case kamino::v1::CHAIN_MODE_KAMINO:
      return ChainMode::kKamino;
    case kamino::v1::CHAIN_MODE_TRADITIONAL:
      return ChainMode::kTraditional;
    case kamino::v1::CHAIN_MODE_IMAGES:
      return ChainMode::kImages;
    default:
      return std::nullopt;
  }
}

// The releases of the nodes that have called the manager, if there are several.
std::string ReleasesOf(const GetClusterResponse& cluster) {
  std::map<std::string, std::vector<std::string>> nodes;
  for (const ClusterNode& node : cluster.nodes()) {
    const std::string& release = node.report().release();
    const bool has_called =
        node.report().condition() != kamino::v1::CONDITION_UNSPECIFIED;
    if (!node.alive() || !has_called) continue;
    nodes[release.empty() ? "0.1.0 or older" : absl::CHexEscape(release)]
        .push_back(node.member().node_id());
  }
  if (nodes.size() < 2) return "";
  std::vector<std::string> texts;
  for (const auto& [release, of] : nodes) {
    texts.push_back(absl::StrCat(release, " (", absl::StrJoin(of, ", "), ")"));
  }
  return absl::StrCat(
      "nodes run several releases: ", absl::StrJoin(texts, ", "), "\n");
}

// Live members whose links do not work.
std::string StandStill(const GetClusterResponse& cluster) {
  std::vector<std::string> waits;
  for (int i = 0; i + 1 < cluster.nodes_size(); ++i) {
    const ClusterNode& node = cluster.nodes(i);
    const ClusterNode& next = cluster.nodes(i + 1);
    if (!IsIn(node) || !IsIn(next) || !node.alive() ||
        node.report().append_debt_ms() < kWaitsMs) {
      continue;
    }
    waits.push_back(absl::StrCat(node.member().node_id(),
                                 " has had no answer from ",
                                 next.member().node_id(), " for ",
                                 Time(node.report().append_debt_ms())));
  }
  if (waits.empty()) return "";
  return absl::StrCat("the chain commits nothing: ", absl::StrJoin(waits, ", "),
                      "; their logs say why the links between them fail\n");
}

// Members in a planned stop that keep their places, because too few would be
// left.
std::string StoppedMembers(const GetClusterResponse& cluster) {
  std::vector<std::string> stopped;
  // The manager removes a member only if another one can continue.
  bool others = false;
  for (const ClusterNode& node : cluster.nodes()) {
    if (!IsIn(node)) continue;
    if (node.away()) stopped.push_back(node.member().node_id());
    others |= node.alive() && !node.away() &&
              node.report().condition() == kamino::v1::CONDITION_SOUND;
  }
  if (stopped.empty()) return "";
  const bool one = stopped.size() == 1;
  std::string text = absl::StrCat(
      "more members were stopped than the chain may lose: the manager removes "
      "none, and the chain waits until ",
      one ? absl::StrCat(stopped[0], " is started again")
          : absl::StrCat("enough of ", absl::StrJoin(stopped, ", "),
                         " are started again"));
  if (others) {
    absl::StrAppend(&text, "; to go on without ", one ? "it" : "one of them",
                    ": kamino admin remove --force ",
                    one ? stopped[0] : "NODE");
  }
  return absl::StrCat(text, "\n");
}

}  // namespace

std::string RiseText(const kamino::v1::Rise& rise) {
  // Enabled or not: levels 1 and 0.
  if (rise.from() == 0 && rise.to() == 1) return rise.name();
  if (rise.from() == 1 && rise.to() == 0) {
    return absl::StrCat("the withdrawal of ", rise.name());
  }
  return absl::StrCat(rise.name(), " ", rise.to(), " instead of ", rise.from());
}

bool IsIn(const ClusterNode& node) {
  return node.member().role() != kamino::v1::ROLE_OUTSIDE;
}

std::vector<std::string> MembersOf(const GetClusterResponse& cluster) {
  std::vector<std::string> members;
  for (const ClusterNode& node : cluster.nodes()) {
    if (IsIn(node)) members.push_back(node.member().node_id());
  }
  return members;
}

std::string RemarkOn(const ClusterNode& node) {
  if (node.removed()) return "removed";
  if (node.draining()) {
    const std::string sends = SendsOf(node);
    return absl::StrCat("draining", sends.empty() ? "" : "; ", sends);
  }
  if (node.away()) {
    return absl::StrCat("away for ", Time(node.away_ms()),
                        "; its place is kept for ", Time(node.away_left_ms()));
  }
  if (node.suspect()) return "suspect";
  if (node.kept_out_ms() > 0) {
    return absl::StrCat("kept out ", (node.kept_out_ms() + 999) / 1000, " s");
  }
  if (node.joining()) return "joining";
  const uint32_t late_ms = node.report().late_ms();
  if (!node.alive()) return "";
  if (IsIn(node) && node.report().append_debt_ms() >= kWaitsMs) {
    return absl::StrCat("no answer from its successor for ",
                        Time(node.report().append_debt_ms()));
  }
  if (node.former_lease_ms() > 0) {
    return absl::StrCat("may hold a former leader's lease for ",
                        Time(node.former_lease_ms()));
  }
  if (const std::string sends = SendsOf(node); !sends.empty()) return sends;
  if (late_ms < kSlowMs) return "";
  return absl::StrCat("slow: in long steps for ", late_ms,
                      " ms of the last second");
}

std::vector<std::string> SparesOf(const GetClusterResponse& cluster) {
  std::vector<std::string> nodes;
  // A node that is away keeps its place in the chain.
  size_t places = 0;
  for (const ClusterNode& node : cluster.nodes()) {
    places += IsIn(node) || node.away();
  }
  if (cluster.view_id() == 0 || places < cluster.chain_length()) {
    return nodes;  // the spares are about to join
  }
  for (const ClusterNode& node : cluster.nodes()) {
    const bool busy = node.removed() || node.draining() || node.away() ||
                      node.suspect() || node.kept_out_ms() > 0 ||
                      node.joining();
    if (!IsIn(node) && node.alive() && !busy) {
      nodes.push_back(node.member().node_id());
    }
  }
  return nodes;
}

void NoteHowManagersDiffer(const std::vector<GetManagerResponse>& managers,
                           GetClusterResponse* cluster) {
  for (const GetManagerResponse& manager : managers) {
    if (manager.cluster_id() != cluster->cluster_id()) {
      cluster->add_managers_differ(absl::StrCat(
          "the manager at ", manager.manager(), " is one of cluster ",
          manager.cluster_id(), ", not of ", cluster->cluster_id()));
    } else if (!manager.settings_differ().empty() && !manager.leads()) {
      cluster->add_managers_differ(manager.settings_differ());
    }
  }
}

std::string Remarks(const GetClusterResponse& cluster) {
  std::string text;
  for (const std::string& differs : cluster.managers_differ()) {
    absl::StrAppend(&text, differs, "\n");
  }
  absl::StrAppend(&text, ReleasesOf(cluster));
  for (const kamino::v1::RefusedNode& refused : cluster.refused()) {
    absl::StrAppend(&text, "node ", refused.node_id(), " was refused ",
                    refused.ms_ago() / 1000, " s ago: ", refused.why(), "\n");
  }
  absl::StrAppend(&text, StoppedMembers(cluster));
  if (!cluster.waiting_for().empty()) {
    const auto awaited = [&](std::string* out, const std::string& node_id) {
      out->append(Awaited(cluster, node_id));
    };
    absl::StrAppend(&text, "the chain waits for ",
                    absl::StrJoin(cluster.waiting_for(), " or ", awaited),
                    "\n");
  }
  // Until an operator decides, the stored view says nothing about the chain.
  for (const ClusterNode& node : cluster.nodes()) {
    absl::StrAppend(
        &text, DivergenceOf(node.member().node_id(), node.report().disputed()));
  }
  for (const std::string& why :
       {cluster.store_behind(), cluster.waits_for_newer()}) {
    if (!why.empty()) return absl::StrCat(text, why, "\n");
  }
  const uint32_t length = cluster.chain_length();
  if (cluster.nodes_missing() > 0) {
    absl::StrAppend(&text, "the chain forms once ", length,
                    " fresh nodes of one heap size are there: ",
                    length - cluster.nodes_missing(), " of ", length, " are\n");
  }
  // A chain that waits for a node commits nothing, whatever its links do.
  if (cluster.waiting_for().empty()) {
    absl::StrAppend(&text, StandStill(cluster));
  }
  const size_t members = MembersOf(cluster).size();
  if (cluster.view_id() > 0 && members < length) {
    absl::StrAppend(&text, "the chain has ", members, " of ", length,
                    " nodes\n");
  }
  if (!cluster.not_finalized().empty()) {
    const auto rise = [](std::string* out, const kamino::v1::Rise& each) {
      out->append(RiseText(each));
    };
    absl::StrAppend(&text, "not in force until kamino admin finalize: ",
                    absl::StrJoin(cluster.not_finalized(), ", ", rise), "\n");
  }
  if (const auto mode = ModeOf(cluster); mode.has_value()) {
    const std::string why = WhyTooShort(*mode, length);
    if (!why.empty()) absl::StrAppend(&text, why, "\n");
  }
  return text;
}

}  // namespace kamino::client
