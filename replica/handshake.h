// What two nodes tell each other of themselves when a link opens between them,
// and why one turns the other away.
#ifndef KAMINO_REPLICA_HANDSHAKE_H_
#define KAMINO_REPLICA_HANDSHAKE_H_

#include <string>

#include "kamino/internal/v1/chain.pb.h"
#include "replica/chain_options.h"
#include "replica/node_record.h"
#include "replica/place.h"

namespace kamino::replica {

// Adds to `hello` what every link's says: whose data the sender has, and what
// it can work with.
void DescribeNode(const ChainOptions& options, const NodeState& state,
                  kamino::internal::v1::Hello* hello);

// Why no link of any purpose is taken up with the sender; "" if one may be.
std::string RefuseStranger(const ChainOptions& options, const NodeState& state,
                           const membership::View& view,
                           const kamino::internal::v1::Hello& hello);
// Why the sender is no neighbour of this node, by the link's purpose: its
// predecessor, or the tail that completes to this head, in the life that the
// view has of it.
std::string RefuseNeighbour(const ChainOptions& options, const NodeState& state,
                            const Place& place,
                            const kamino::internal::v1::Hello& hello);
// Why `identity`, which the other end of the link has proved, is not that of
// the node that says this, as the view has it; "" if it is.
std::string RefuseImpostor(const ChainOptions& options,
                           const membership::View& view,
                           const kamino::internal::v1::Hello& hello,
                           const std::string& identity);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_HANDSHAKE_H_
