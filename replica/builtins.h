// The built-in functions of every chain: put, patch, delete, and commit, which
// combines them atomically behind preconditions.
#ifndef KAMINO_REPLICA_BUILTINS_H_
#define KAMINO_REPLICA_BUILTINS_H_

#include <map>
#include <string>

#include "replica/procedure.h"

namespace kamino::replica {

// Name, argument and result message (kamino.v1, serialized) of each: the
// client's bytes, unchanged. Log entries contain the names: never change their
// meaning.
inline constexpr char kPutFunction[] = "kv.put";        // PutRequest, ""
inline constexpr char kPatchFunction[] = "kv.patch";    // PatchRequest, ""
inline constexpr char kDeleteFunction[] = "kv.delete";  // DeleteRequest, ""
inline constexpr char kCommitFunction[] = "kv.commit";  // CommitRequest,
                                                        // CommitResponse

// Increase it when one of them, or of the functions that the head submits
// (replica/state/state_machine.h), changes its result for the same arguments:
// all nodes of a chain must have the same version.
inline constexpr int kBuiltinsVersion = 3;

std::map<std::string, Procedure, std::less<>> BuiltinProcedures();

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_BUILTINS_H_
