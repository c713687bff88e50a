// The protocol core's messages and actions, in a line each.
#ifndef KAMINO_TESTS_REPLICA_DESCRIBE_H_
#define KAMINO_TESTS_REPLICA_DESCRIBE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kamino/internal/v1/chain.pb.h"
#include "replica/link/chain_actions.h"

namespace kamino::replica {

// "Append 3-4 "a=1"", without the message's view.
std::string Describe(const kamino::internal::v1::ChainMessage& message,
                     absl::string_view payload = "");

// The actions, in their order: "closes 1", "opens 3 to n2 for append", "1:
// AppendAck 4", "fetches the view", "completes 4", "stops: ...".
std::vector<std::string> Describe(const Actions& actions);

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_DESCRIBE_H_
