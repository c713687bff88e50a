// What the protocol core says, in words short enough for a line each.
#ifndef KAMINO_TESTS_REPLICA_DESCRIBE_H_
#define KAMINO_TESTS_REPLICA_DESCRIBE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kamino/internal/v1/chain.pb.h"
#include "replica/chain_actions.h"

namespace kamino::replica {

// "Append 3-4 "a=1"". Without the view it is of.
std::string Describe(const kamino::internal::v1::ChainMessage& message,
                     absl::string_view payload = "");

// What has to be carried out, in that order: "closes 1", "opens 3 to n2 for
// append", "1: AppendAck 4", "fetches the view", "completes 4", "stops: ...".
std::vector<std::string> Describe(const Actions& actions);

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_DESCRIBE_H_
