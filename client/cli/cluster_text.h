// The text of `kamino admin` about a cluster.
#ifndef KAMINO_CLIENT_CLI_CLUSTER_TEXT_H_
#define KAMINO_CLIENT_CLI_CLUSTER_TEXT_H_

#include <string>
#include <vector>

#include "kamino/v1/admin.pb.h"

namespace kamino::client {

// Whether the node is a member of the stored view.
bool IsIn(const kamino::v1::ClusterNode& node);

// Ids of the members, head first.
std::vector<std::string> MembersOf(
    const kamino::v1::GetClusterResponse& cluster);

// The last column of a node's row, other than for spares: a change that is
// under way, or that the node is slow. "": none.
std::string RemarkOn(const kamino::v1::ClusterNode& node);

// Ids of the spares that would replace a node that leaves now. A drain
// (membership/manager/next_view.h) counts all live nodes, including suspect and
// expelled ones, because they return.
std::vector<std::string> SparesOf(
    const kamino::v1::GetClusterResponse& cluster);

// A level that is not in force yet: "log entry format 3 instead of 2".
std::string RiseText(const kamino::v1::Rise& rise);

// Adds the managers' own differences to the cluster's managers_differ.
void NoteHowManagersDiffer(
    const std::vector<kamino::v1::GetManagerResponse>& managers,
    kamino::v1::GetClusterResponse* cluster);

// Lines below the table of nodes: differences between managers, the nodes'
// releases, refused nodes, the members that the chain waits for, problems of
// the store, missing nodes, and features to finalize. "": all is well.
std::string Remarks(const kamino::v1::GetClusterResponse& cluster);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_CLUSTER_TEXT_H_
