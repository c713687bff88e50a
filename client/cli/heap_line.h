// The line of `kamino status` about free space in the heap.
#ifndef KAMINO_CLIENT_CLI_HEAP_LINE_H_
#define KAMINO_CLIENT_CLI_HEAP_LINE_H_

#include <string>

#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

// How much of the heap is free, how much of that the head keeps as its reserve,
// and whether the heap is full. "": the status lacks it, because the node is
// not the head or runs release 0.1.0.
std::string HeapLine(const kamino::v1::GetNodeStatusResponse& status);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_HEAP_LINE_H_
