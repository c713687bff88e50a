#include "replica/builtins.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kamino/v1/kamino.pb.h"
#include "replica/errors.h"

namespace kamino::replica {
namespace {

using kamino::v1::CommitRequest;
using kamino::v1::CommitResponse;
using kamino::v1::DeleteOperation;
using kamino::v1::Operation;
using kamino::v1::PatchOperation;
using kamino::v1::Precondition;
using kamino::v1::PutOperation;
using kamino::v1::ReadResult;

template <typename Message>
absl::StatusOr<Message> Parse(absl::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                     absl::StrCat("arguments are not a ",
                                  Message::descriptor()->full_name()));
  }
  return message;
}

absl::Status ApplyPut(ProcedureContext& context, const PutOperation& put) {
  return context.Put(put.key(), put.value());
}

absl::Status ApplyPatch(ProcedureContext& context,
                        const PatchOperation& patch) {
  return context.Patch(patch.key(), patch.offset(), patch.data());
}

absl::Status ApplyDelete(ProcedureContext& context,
                         const DeleteOperation& del) {
  absl::Status deleted = context.Delete(del.key());
  if (del.allow_absent() &&
      ReasonOf(deleted) == kamino::v1::REASON_KEY_NOT_FOUND) {
    return absl::OkStatus();
  }
  return deleted;
}

// `room`: bytes that results may still take.
absl::Status ApplyGet(ProcedureContext& context, const std::string& key,
                      size_t* room, ReadResult* result) {
  result->set_key(key);
  auto object = context.Find(key);
  if (ReasonOf(object.status()) == kamino::v1::REASON_KEY_NOT_FOUND) {
    return absl::OkStatus();
  }
  if (!object.ok()) return object.status();
  if (object->value.size() > *room) {
    return MakeError(kamino::v1::REASON_TOO_LARGE,
                     absl::StrCat("the values that the commit gets are more "
                                  "than ",
                                  kMaxResultBytes, " bytes; get fewer"),
                     {key});
  }
  *room -= object->value.size();
  result->set_found(true);
  result->set_value(std::string(object->value));
  result->set_version(object->version);
  return absl::OkStatus();
}

absl::Status Apply(ProcedureContext& context, const Operation& operation,
                   size_t* room, ReadResult* result) {
  switch (operation.operation_case()) {
    case Operation::kPut:
      return ApplyPut(context, operation.put());
    case Operation::kPatch:
      return ApplyPatch(context, operation.patch());
    case Operation::kDelete:
      return ApplyDelete(context, operation.delete_());
    case Operation::kGet:
      return ApplyGet(context, operation.get().key(), room, result);
    case Operation::OPERATION_NOT_SET:
      break;
  }
  return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                   "an operation of the commit is empty");
}

absl::StatusOr<bool> HoldsForObject(ProcedureContext& context,
                                    const Precondition& condition) {
  // Values are compared only when they are of one length, which the request
  // bounds.
  auto object = context.Find(condition.key());
  const bool absent =
      ReasonOf(object.status()) == kamino::v1::REASON_KEY_NOT_FOUND;
  if (!object.ok() && !absent) return object.status();
  switch (condition.condition_case()) {
    case Precondition::kExists:
      return condition.exists() == !absent;
    case Precondition::kVersionEquals:
      return !absent && object->version == condition.version_equals();
    case Precondition::kValueEquals:
      return !absent && object->value == condition.value_equals();
    default:
      return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                       "a precondition of the commit is empty");
  }
}

absl::StatusOr<bool> Holds(ProcedureContext& context,
                           const Precondition& condition) {
  if (!condition.has_range_unchanged()) {
    return HoldsForObject(context, condition);
  }
  const auto& range = condition.range_unchanged();
  return context.RangeUnchangedSince(range.start_key(), range.end_key(),
                                     range.sequence());
}

// Says which part of a commit touches too much.
absl::Status ExplainTooLarge(const absl::Status& status, absl::string_view part,
                             int index, int size) {
  if (ReasonOf(status) != kamino::v1::REASON_TOO_LARGE) return status;
  return MakeError(kamino::v1::REASON_TOO_LARGE,
                   absl::StrCat("at ", part, " ", index + 1, " of ", size, ": ",
                                status.message()));
}

absl::StatusOr<std::string> Put(ProcedureContext& context,
                                absl::string_view arguments) {
  ASSIGN_OR_RETURN(auto put, Parse<PutOperation>(arguments));
  RETURN_IF_ERROR(ApplyPut(context, put));
  return std::string();
}

absl::StatusOr<std::string> Patch(ProcedureContext& context,
                                  absl::string_view arguments) {
  ASSIGN_OR_RETURN(auto patch, Parse<PatchOperation>(arguments));
  RETURN_IF_ERROR(ApplyPatch(context, patch));
  return std::string();
}

absl::StatusOr<std::string> Delete(ProcedureContext& context,
                                   absl::string_view arguments) {
  ASSIGN_OR_RETURN(auto del, Parse<DeleteOperation>(arguments));
  RETURN_IF_ERROR(ApplyDelete(context, del));
  return std::string();
}

// All preconditions are looked at before anything is written, so that a commit
// that does not hold is found out without an intent.
absl::StatusOr<std::string> Commit(ProcedureContext& context,
                                   absl::string_view arguments) {
  ASSIGN_OR_RETURN(auto request, Parse<CommitRequest>(arguments));
  CommitResponse response;
  std::vector<std::string> failed;
  for (int i = 0; i < request.preconditions_size(); ++i) {
    const Precondition& condition = request.preconditions(i);
    auto holds = Holds(context, condition);
    if (!holds.ok()) {
      return ExplainTooLarge(holds.status(), "precondition", i,
                             request.preconditions_size());
    }
    if (*holds) continue;
    failed.push_back(condition.has_range_unchanged()
                         ? condition.range_unchanged().start_key()
                         : condition.key());
  }
  response.set_succeeded(failed.empty());
  const auto& operations =
      failed.empty() ? request.then_operations() : request.else_operations();
  if (!failed.empty() && operations.empty() && request.fail_on_conflict()) {
    return MakeError(
        kamino::v1::REASON_CONFLICT,
        absl::StrCat(failed.size(), " of ", request.preconditions_size(),
                     " preconditions do not hold, first for key ",
                     Printable(failed.front())),
        failed);
  }
  for (std::string& key : failed) response.add_failed_keys(std::move(key));
  size_t room = kMaxResultBytes;
  for (int i = 0; i < operations.size(); ++i) {
    absl::Status applied =
        Apply(context, operations[i], &room, response.add_results());
    if (!applied.ok()) {
      return ExplainTooLarge(applied, "operation", i, operations.size());
    }
  }
  return response.SerializeAsString();
}

}  // namespace

std::map<std::string, Procedure, std::less<>> BuiltinProcedures() {
  return {{kPutFunction, Put},
          {kPatchFunction, Patch},
          {kDeleteFunction, Delete},
          {kCommitFunction, Commit}};
}

}  // namespace kamino::replica
