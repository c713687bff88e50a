// The handshake of two nodes when a link opens between them, and the reasons to
// refuse a peer.
#ifndef KAMINO_REPLICA_LINK_HANDSHAKE_H_
#define KAMINO_REPLICA_LINK_HANDSHAKE_H_

#include <string>

#include "kamino/internal/v1/chain.pb.h"
#include "replica/link/chain_options.h"
#include "replica/link/place.h"
#include "replica/log/node_record.h"

namespace kamino::replica {

// Adds the fields of every link's Hello: the origin of the sender's data, and
// its supported versions.
void DescribeNode(const ChainOptions& options, const NodeState& state,
                  kamino::internal::v1::Hello* hello);

// Why links of any purpose are refused to the sender; "" if they are not.
std::string RefuseStranger(const ChainOptions& options, const NodeState& state,
                           const membership::View& view,
                           const kamino::internal::v1::Hello& hello);
// Why the sender is not the neighbour of this node that the link's purpose
// requires: its predecessor, or the tail that completes to this head, in the
// incarnation that the view names.
std::string RefuseNeighbour(const ChainOptions& options, const NodeState& state,
                            const Place& place,
                            const kamino::internal::v1::Hello& hello);
// Why `identity`, which the peer has proved, is not that of the node that it
// claims to be, as the view has it; "" if it is.
std::string RefuseImpostor(const ChainOptions& options,
                           const membership::View& view,
                           const kamino::internal::v1::Hello& hello,
                           const std::string& identity);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_HANDSHAKE_H_
