// The functions every chain knows: put, patch, delete, and the atomic
// combination of them behind preconditions.
#ifndef KAMINO_REPLICA_BUILTINS_H_
#define KAMINO_REPLICA_BUILTINS_H_

#include <map>
#include <string>

#include "replica/procedure.h"

namespace kamino::replica {

// Name to argument and result message (kamino.v1, serialized): what the client
// sent, byte for byte. The names are in log entries: never change their
// meaning.
inline constexpr char kPutFunction[] = "kv.put";        // PutRequest, ""
inline constexpr char kPatchFunction[] = "kv.patch";    // PatchRequest, ""
inline constexpr char kDeleteFunction[] = "kv.delete";  // DeleteRequest, ""
inline constexpr char kCommitFunction[] = "kv.commit";  // CommitRequest,
                                                        // CommitResponse

// Another one whenever any of them, or of those that the head submits by itself
// (replica/state_machine.h), acts otherwise on the same arguments: nodes of one
// chain must have the same.
inline constexpr int kBuiltinsVersion = 3;

std::map<std::string, Procedure, std::less<>> BuiltinProcedures();

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_BUILTINS_H_
