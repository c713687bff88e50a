// The line of `kamino status` about a state transfer.
#ifndef KAMINO_CLIENT_CLI_TRANSFER_LINE_H_
#define KAMINO_CLIENT_CLI_TRANSFER_LINE_H_

#include <string>

#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

// How much of its heap, or of the changed pages, the node has sent to a joining
// node; "" if it sends nothing.
std::string TransferLine(const kamino::v1::GetNodeStatusResponse& status);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_TRANSFER_LINE_H_
