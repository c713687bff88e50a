// What becomes of a node whose medium fails: persistent memory that is
// poisoned, a file that was truncated under its mapping (the kernel sends
// SIGBUS to whoever touches that), or a disk that does not take what was
// written.
//
// The place is recorded in the node's folder, durably, and the process ends.
// While the record is there a node does not start: it would come by the same
// place again, now or later. Where its files are moved away, the record among
// them, it joins as a new node.
#ifndef KAMINO_NODE_STORAGE_MEDIUM_ERRORS_H_
#define KAMINO_NODE_STORAGE_MEDIUM_ERRORS_H_

#include <string>

#include "absl/status/status.h"

namespace kamino::node {

// The record's name within the node's folder.
inline constexpr char kDamageFile[] = "damage.txt";

// From here on, for the whole process; called once, before any region is there.
// Of what else than the files of `data_dir` and `device` ("": none) cannot be
// read or written nothing is recorded, and the process dies as it would have.
void RecordMediumErrors(const std::string& data_dir, const std::string& device);

// kDataLoss: there is a record, which the message quotes.
absl::Status CheckNoDamage(const std::string& data_dir);

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_MEDIUM_ERRORS_H_
