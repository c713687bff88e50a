#include "client/cli/transfer_line.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace kamino::client {
namespace {

constexpr uint64_t kPageBytes = 4096;

std::string JoiningOf(const kamino::v1::GetNodeStatusResponse& status) {
  for (const auto& link : status.links()) {
    if (link.role() == kamino::v1::LINK_ROLE_JOINING) return link.peer();
  }
  return "a node";
}

}  // namespace

std::string TransferLine(const kamino::v1::GetNodeStatusResponse& status) {
  const kamino::v1::TransferStatus& transfer = status.transfer();
  if (!transfer.sending()) return "";
  const std::string joining = JoiningOf(status);
  if (!transfer.of_changes()) {
    return absl::StrCat(joining, " joins by ", status.node_id(), ": pass ",
                        transfer.pass(), ", ", transfer.bytes_left() >> 20,
                        " MiB left\n");
  }
  const uint64_t left = transfer.bytes_left() / kPageBytes;
  const uint64_t pages = std::max<uint64_t>(transfer.pages(), left);
  return absl::StrCat(joining, " catches up by ", status.node_id(), ": ",
                      pages - left, " of ", pages, " pages\n");
}

}  // namespace kamino::client
