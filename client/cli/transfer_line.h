// What status says of a node that joins.
#ifndef KAMINO_CLIENT_CLI_TRANSFER_LINE_H_
#define KAMINO_CLIENT_CLI_TRANSFER_LINE_H_

#include <string>

#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

// How far that node has sent another one its heap, or what has changed in it;
// "" if it sends nothing.
std::string TransferLine(const kamino::v1::GetNodeStatusResponse& status);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_TRANSFER_LINE_H_
