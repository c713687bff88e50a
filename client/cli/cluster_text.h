// What `kamino admin` says of a cluster in words.
#ifndef KAMINO_CLIENT_CLI_CLUSTER_TEXT_H_
#define KAMINO_CLIENT_CLI_CLUSTER_TEXT_H_

#include <string>
#include <vector>

#include "kamino/v1/admin.pb.h"

namespace kamino::client {

// Whether it has a place in the view that is stored.
bool IsIn(const kamino::v1::ClusterNode& node);

// Ids of the nodes that are in, head first.
std::vector<std::string> MembersOf(
    const kamino::v1::GetClusterResponse& cluster);

// The last column of its row, but for who stands by: what becomes of it, or
// that it is slow. "": there is nothing to say.
std::string RemarkOn(const kamino::v1::ClusterNode& node);

// Ids of the nodes that would take the place of one that goes now. Whether one
// may be drained (membership/exclusions.h) goes by all that are alive: who is
// suspect or kept out comes back.
std::vector<std::string> StandingBy(
    const kamino::v1::GetClusterResponse& cluster);

// What is not in force yet, as "log entry format 3 instead of 2".
std::string RiseText(const kamino::v1::Rise& rise);

// Adds to the cluster's managers_differ what its managers say of themselves.
void NoteHowManagersDiffer(
    const std::vector<kamino::v1::GetManagerResponse>& managers,
    kamino::v1::GetClusterResponse* cluster);

// Lines below the table of nodes, each with its end: how its managers differ,
// of which releases its nodes are, which were refused, whom the chain waits
// for, what is wrong with the store, what the chain lacks, what is to be
// finalized. "": all is well.
std::string Remarks(const kamino::v1::GetClusterResponse& cluster);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_CLUSTER_TEXT_H_
