// The part of the protos that programs of different builds must agree on: each
// name and number, a line each.
#ifndef KAMINO_TESTS_PROTO_KEPT_H_
#define KAMINO_TESTS_PROTO_KEPT_H_

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"

namespace kamino {

// Lines such as
//   kamino.v1.PutRequest 2 value: bytes
//   kamino.v1.PutRequest reserved 3
//   kamino.v1.Reason = 4 REASON_CONFLICT
//   kamino.v1.AdminService.AddNode(kamino.v1.AddNodeRequest) ...
std::vector<std::string> Describe(const google::protobuf::FileDescriptor& file);

// Lines of `kept` that are gone from `now` while their number or name is not
// reserved; both are of Describe. Empty: none.
std::vector<std::string> Broken(const std::vector<std::string>& kept,
                                const std::vector<std::string>& now);

}  // namespace kamino

#endif  // KAMINO_TESTS_PROTO_KEPT_H_
