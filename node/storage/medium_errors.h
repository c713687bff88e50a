// Handles failures of a node's medium: poisoned persistent memory, a file
// truncated under its mapping (the kernel sends SIGBUS at the next access), or
// a disk that fails a write.
//
// The place is recorded in the node's folder, durably, and the process ends.
// While the record exists the node does not start: it would meet the same place
// again, now or later. If its files are moved away, including the record, it
// joins as a new node.
#ifndef KAMINO_NODE_STORAGE_MEDIUM_ERRORS_H_
#define KAMINO_NODE_STORAGE_MEDIUM_ERRORS_H_

#include <string>

#include "absl/status/status.h"

namespace kamino::node {

// The record's name within the node's folder.
inline constexpr char kDamageFile[] = "damage.txt";

// From here on, for the whole process; called once, before any region exists. A
// failure outside the files of `data_dir` and `device` ("": none) is not
// recorded, and the process crashes as usual.
void RecordMediumErrors(const std::string& data_dir, const std::string& device);

// kDataLoss: there is a record, which the message quotes.
absl::Status CheckNoDamage(const std::string& data_dir);

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_MEDIUM_ERRORS_H_
