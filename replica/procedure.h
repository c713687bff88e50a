// Procedures: named C++ functions that run inside a transaction on every node
// of the chain (Kamino-Tx, section 5.1: replicas receive "a named function and
// the arguments to the function").
//
//   absl::StatusOr<std::string> Increment(ProcedureContext& context,
//                                         absl::string_view arguments) {
//     ASSIGN_OR_RETURN(const ObjectView object, context.Get(arguments));
//     ...
//     RETURN_IF_ERROR(context.Put(arguments, next));
//     return next;
//   }
//
// A procedure must be deterministic: no clock, no randomness, no address, no
// state but the objects. It runs once on each node; a node whose run touches
// other bytes than the head's stops rather than diverge. An error undoes
// everything the procedure did and goes back to the client; it never enters the
// chain. Return the context's errors, do not swallow them: among them are the
// one by which the head parks a dependent transaction, and the one for a
// request that touches too much (replica/request_meter.h). Access to keys that
// the client may not touch is denied to the procedure too, and then it fails,
// whatever it returns.
//
// docs/use/procedures.md walks through an example.
#ifndef KAMINO_REPLICA_PROCEDURE_H_
#define KAMINO_REPLICA_PROCEDURE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/index/key_value.h"
#include "replica/request_meter.h"

namespace kamino::replica {

// An object as seen by a transaction. `value` points into the heap and is valid
// until the transaction next writes that key.
struct ObjectView {
  uint64_t version = 0;
  absl::string_view value;
};

// A procedure's access to objects. Lives for one execution, used by one thread.
class ProcedureContext {
 public:
  // Writes get `sequence` as their version. `meter` counts bytes of values;
  // `objects` counts there the objects that it touches by itself.
  ProcedureContext(engine::KeyValue* objects, uint64_t sequence,
                   RequestMeter* meter)
      : objects_(objects), sequence_(sequence), meter_(meter) {}

  // kNotFound (REASON_KEY_NOT_FOUND): no such key.
  absl::StatusOr<ObjectView> Get(absl::string_view key);
  // The same, for callers that read no byte of the value: the value costs
  // nothing.
  absl::StatusOr<ObjectView> Find(absl::string_view key);
  absl::Status Put(absl::string_view key, absl::string_view value);
  // kOutOfRange: [offset, offset + data) is not within the value.
  absl::Status Patch(absl::string_view key, uint64_t offset,
                     absl::string_view data);
  absl::Status Delete(absl::string_view key);
  // Announces later calls of Put, Patch and Delete. The head makes their undo
  // data durable together: on a disk, one set of syncs instead of one per
  // object. After an error the procedure must end.
  absl::Status Expect(absl::Span<const engine::KeyValue::Change> changes);
  // Visits the keys of [start, end) in ascending order until `visit` returns
  // false; an empty end means all. `visit` must not write.
  absl::Status Scan(
      absl::string_view start, absl::string_view end,
      absl::FunctionRef<bool(absl::string_view key, const ObjectView&)> visit);
  // See kamino.v1.RangeUnchanged.
  absl::StatusOr<bool> RangeUnchangedSince(absl::string_view start,
                                           absl::string_view end,
                                           uint64_t sequence);

  // The mutation's number in the chain's order; the version of its writes.
  uint64_t sequence() const { return sequence_; }

  // Whether anything was written or deleted so far.
  bool changed() const { return changed_; }
  // kDataLoss if damaged objects could not be read.
  const absl::Status& damage() const { return damage_; }
  // kPermissionDenied after access to a key that the client may not touch.
  const absl::Status& denied() const { return denied_; }

 private:
  absl::Status Changed(const absl::Status& status, absl::string_view key);
  // Adds the reason for clients.
  absl::Status Explain(const absl::Status& status, absl::string_view key);

  engine::KeyValue* const objects_;
  const uint64_t sequence_;
  RequestMeter* const meter_;
  bool changed_ = false;
  absl::Status damage_;
  absl::Status denied_;
};

// By its name; a registered procedure is not one.
bool IsBuiltin(absl::string_view name);

// Returns the result for the client, at most kMaxResultBytes.
using Procedure = std::function<absl::StatusOr<std::string>(
    ProcedureContext& context, absl::string_view arguments)>;

inline constexpr size_t kMaxResultBytes = 64u << 10;

// How the program's release treats a procedure.
enum class Support {
  kOffered,
  // The release withdraws it: `kamino admin finalize` takes it out of force
  // once all members withdraw it. Nodes execute it until then, and can execute
  // it afterwards; the next release can leave it out.
  kWithdrawn,
};

// Makes a procedure known to ProcedureRegistry::RegisterLinked: a constant of
// this type beside the procedure registers it in every program that links the
// file (`alwayslink` in Bazel). `name` is a literal.
class LinkedProcedure {
 public:
  LinkedProcedure(const char* name, Procedure procedure,
                  Support support = Support::kOffered);
};

// Procedures by name. Filled before the node starts, constant afterwards; every
// node of a chain must hold the same.
class ProcedureRegistry {
 public:
  // A registry with the built-ins (replica/builtins.h).
  ProcedureRegistry();

  // `name` is 1 to 128 characters of [A-Za-z0-9._-]; a name taken twice or
  // beginning with "kv." or "kamino." is a bug and asserted.
  void Register(std::string name, Procedure procedure,
                Support support = Support::kOffered);
  // Registers each LinkedProcedure of the program.
  void RegisterLinked();

  // Null when there is none.
  const Procedure* Find(absl::string_view name) const;

  bool IsWithdrawn(absl::string_view name) const;

  // All names, including built-ins, in order.
  std::vector<std::string> Names() const;

 private:
  std::map<std::string, Procedure, std::less<>> procedures_;
  std::set<std::string, std::less<>> withdrawn_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_PROCEDURE_H_
