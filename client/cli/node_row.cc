#include "client/cli/node_row.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/escape.h"
#include "client/cli/table.h"
#include "proto/words.h"
#include "rpc/cluster_identity.h"

namespace kamino::client {
namespace {

using kamino::v1::GetNodeStatusResponse;
using kamino::v1::Member;

std::string HitRate(const GetNodeStatusResponse& status) {
  if (!status.has_undo_copy()) return "-";
  const uint64_t all = status.undo_copy().hits() + status.undo_copy().misses();
  const std::string kind = Word(status.undo_copy().kind());
  if (status.undo_copy().kind() == kamino::v1::UNDO_COPY_KIND_LOG) return kind;
  if (all == 0) return absl::StrCat(kind, " -");
  return absl::StrFormat("%s %.1f%%", kind,
                         100.0 * status.undo_copy().hits() / all);
}

// "n1 tcp, n3 verbs": neighbours and transports.
std::string Links(const GetNodeStatusResponse& status) {
  std::vector<std::string> links;
  for (const auto& link : status.links()) {
    const std::string one = absl::StrCat(
        link.peer(), " ", link.connected() ? link.transport() : "down");
    // In a chain of two, both links lead to the same neighbour.
    if (std::find(links.begin(), links.end(), one) == links.end()) {
      links.push_back(one);
    }
  }
  return links.empty() ? "-" : absl::StrJoin(links, ", ");
}

// The STATE column of a node without a status of its own.
std::string WhyNoState(const StatusOfNode& status) {
  if (status.ok()) {
    return absl::StrCat("is ", Printable(status->node_id()));
  }
  if (rpc::IsOtherCluster(status.status())) return "other cluster";
  if (absl::IsPermissionDenied(status.status())) return "not allowed";
  return "unreachable";
}

}  // namespace

bool IsStranger(const Member& node, const StatusOfNode& status) {
  return status.ok() ? status->node_id() != node.node_id()
                     : rpc::IsOtherCluster(status.status());
}

std::vector<std::string> RowOf(const Member& node, const StatusOfNode& status) {
  if (!status.ok() || IsStranger(node, status)) {
    return {node.node_id(), Word(node.role()), node.address(),
            WhyNoState(status)};
  }
  return {status->node_id(),
          Word(status->role()),
          node.address(),
          Word(status->condition()),
          absl::StrCat(status->header().view_id()),
          status->lease_valid() ? "yes" : "no",
          absl::StrCat(status->received()),
          absl::StrCat(status->applied()),
          absl::StrCat(status->cleaned()),
          absl::StrCat(FormatBytes(status->heap_bytes_used()), " of ",
                       FormatBytes(status->heap_bytes_total())),
          HitRate(*status),
          absl::StrCat(status->restarts()),
          Links(*status)};
}

std::string StrangerLine(const Member& node, const StatusOfNode& status) {
  if (!IsStranger(node, status)) return "";
  if (!status.ok()) {
    return absl::StrCat("a node of another cluster answers at ", node.address(),
                        ", the address of ", node.node_id(),
                        ": end it, or start ", node.node_id(),
                        " with another --advertise or --listen\n");
  }
  return absl::StrCat(
      Printable(status->node_id()), " answers at ", node.address(),
      ", the address of ", node.node_id(),
      ": correct what the name leads to, or start each of the two with its own "
      "--advertise or --listen\n");
}

std::string NoViewLine(const GetNodeStatusResponse& status) {
  if (status.header().view_id() != 0) return "";
  return absl::StrCat(Printable(status.node_id()),
                      " has no view yet and does not know its cluster's uuid: "
                      "it may be of another cluster of the same name\n");
}

}  // namespace kamino::client
