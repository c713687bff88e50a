// A node's row in the table of `kamino status`.
#ifndef KAMINO_CLIENT_CLI_NODE_ROW_H_
#define KAMINO_CLIENT_CLI_NODE_ROW_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

using StatusOfNode = absl::StatusOr<kamino::v1::GetNodeStatusResponse>;

// Whether another process than `node` has answered at its address: a node of
// another cluster, or another node of this one.
bool IsStranger(const kamino::v1::Member& node, const StatusOfNode& status);

// `status`: the answer from the address of `node`. The row of a node that has
// not answered says only that, in its last column.
std::vector<std::string> RowOf(const kamino::v1::Member& node,
                               const StatusOfNode& status);

// Below the table: which process answers instead of `node`, and what to do
// about it; one line with its line end. "": no other process answers.
std::string StrangerLine(const kamino::v1::Member& node,
                         const StatusOfNode& status);

// Says that the node has no view; one line with its line end. "": it has one.
std::string NoViewLine(const kamino::v1::GetNodeStatusResponse& status);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_NODE_ROW_H_
