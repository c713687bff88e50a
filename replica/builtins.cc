#include "replica/builtins.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kamino/v1/kamino.pb.h"
#include "replica/errors.h"
#include "replica/field_reader.h"

namespace kamino::replica {
namespace {

using kamino::v1::CommitRequest;
using kamino::v1::CommitResponse;
using kamino::v1::DeleteOperation;
using kamino::v1::DeleteRequest;
using kamino::v1::GetOperation;
using kamino::v1::Operation;
using kamino::v1::PatchOperation;
using kamino::v1::PatchRequest;
using kamino::v1::Precondition;
using kamino::v1::PutOperation;
using kamino::v1::PutRequest;
using kamino::v1::ReadResult;

// For messages with values, which stay in the request.
struct PutView {
  absl::string_view key;
  absl::string_view value;
};
struct PatchView {
  absl::string_view key;
  uint64_t offset = 0;
  absl::string_view data;
};

absl::Status NotA(absl::string_view message) {
  return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                   absl::StrCat("arguments are not a ", message));
}

// Message is a PutRequest or a PutOperation: their field numbers differ.
template <typename Message>
absl::StatusOr<PutView> ViewPut(absl::string_view bytes) {
  PutView put;
  FieldReader fields(bytes);
  while (fields.Next()) {
    if (fields.bytes_number() == Message::kKeyFieldNumber) {
      put.key = fields.bytes();
    }
    if (fields.bytes_number() == Message::kValueFieldNumber) {
      put.value = fields.bytes();
    }
  }
  if (!fields.ok()) return NotA(Message::descriptor()->full_name());
  return put;
}

template <typename Message>
absl::StatusOr<PatchView> ViewPatch(absl::string_view bytes) {
  PatchView patch;
  FieldReader fields(bytes);
  while (fields.Next()) {
    if (fields.bytes_number() == Message::kKeyFieldNumber) {
      patch.key = fields.bytes();
    }
    if (fields.varint_number() == Message::kOffsetFieldNumber) {
      patch.offset = fields.varint();
    }
    if (fields.bytes_number() == Message::kDataFieldNumber) {
      patch.data = fields.bytes();
    }
  }
  if (!fields.ok()) return NotA(Message::descriptor()->full_name());
  return patch;
}

// The key of a DeleteOperation.
absl::StatusOr<absl::string_view> ViewDelete(absl::string_view bytes) {
  absl::string_view key;
  FieldReader fields(bytes);
  while (fields.Next()) {
    if (fields.bytes_number() == DeleteOperation::kKeyFieldNumber) {
      key = fields.bytes();
    }
  }
  if (!fields.ok()) return NotA(DeleteOperation::descriptor()->full_name());
  return key;
}

template <typename Message>
absl::StatusOr<Message> Parse(absl::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return NotA(Message::descriptor()->full_name());
  }
  return message;
}

absl::Status ApplyDelete(ProcedureContext& context, const std::string& key,
                         bool allow_absent) {
  absl::Status deleted = context.Delete(key);
  if (allow_absent && ReasonOf(deleted) == kamino::v1::REASON_KEY_NOT_FOUND) {
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

// An Operation: the number of its field, and the message in it.
struct OperationView {
  uint32_t kind = 0;
  absl::string_view bytes;
};

// An unknown field is passed over, as by a parser of the message.
absl::StatusOr<OperationView> ViewOperation(absl::string_view operation) {
  OperationView view;
  FieldReader fields(operation);
  while (fields.Next()) {
    const uint32_t number = fields.bytes_number();
    if (number == 0 || number > Operation::kGetFieldNumber) continue;
    view = {number, fields.bytes()};
  }
  if (!fields.ok()) return NotA(Operation::descriptor()->full_name());
  return view;
}

// A commit of fewer operations needs few syncs, so its keys are not looked up
// twice.
constexpr size_t kManyOperations = 8;

// Announces the changes of many operations to the context. Skips malformed
// operations: Apply returns the error.
absl::Status ExpectChanges(ProcedureContext& context,
                           const std::vector<absl::string_view>& operations) {
  using Change = engine::KeyValue::Change;
  if (operations.size() < kManyOperations) return absl::OkStatus();
  std::vector<Change> changes;
  for (absl::string_view operation : operations) {
    const auto view = ViewOperation(operation);
    if (!view.ok()) continue;
    if (view->kind == Operation::kPutFieldNumber) {
      const auto put = ViewPut<PutOperation>(view->bytes);
      if (!put.ok()) continue;
      changes.push_back({Change::Kind::kPut, put->key, put->value.size()});
    } else if (view->kind == Operation::kPatchFieldNumber) {
      const auto patch = ViewPatch<PatchOperation>(view->bytes);
      if (patch.ok()) changes.push_back({Change::Kind::kPatch, patch->key});
    } else if (view->kind == Operation::kDeleteFieldNumber) {
      const auto del = ViewDelete(view->bytes);
      if (del.ok()) changes.push_back({Change::Kind::kDelete, *del});
    }
  }
  return context.Expect(changes);
}

// `room`: bytes that results may still take.
absl::Status Apply(ProcedureContext& context, absl::string_view operation,
                   size_t* room, ReadResult* result) {
  ASSIGN_OR_RETURN(const auto view, ViewOperation(operation));
  const absl::string_view bytes = view.bytes;
  switch (view.kind) {
    case Operation::kPutFieldNumber: {
      ASSIGN_OR_RETURN(auto put, ViewPut<PutOperation>(bytes));
      return context.Put(put.key, put.value);
    }
    case Operation::kPatchFieldNumber: {
      ASSIGN_OR_RETURN(auto patch, ViewPatch<PatchOperation>(bytes));
      return context.Patch(patch.key, patch.offset, patch.data);
    }
    case Operation::kDeleteFieldNumber: {
      ASSIGN_OR_RETURN(auto del, Parse<DeleteOperation>(bytes));
      return ApplyDelete(context, del.key(), del.allow_absent());
    }
    case Operation::kGetFieldNumber: {
      ASSIGN_OR_RETURN(auto get, Parse<GetOperation>(bytes));
      return ApplyGet(context, get.key(), room, result);
    }
    default:
      return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                       "an operation of the commit is empty");
  }
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

// Names the part of a commit that touches too much.
absl::Status ExplainTooLarge(const absl::Status& status, absl::string_view part,
                             size_t index, size_t size) {
  if (ReasonOf(status) != kamino::v1::REASON_TOO_LARGE) return status;
  return MakeError(kamino::v1::REASON_TOO_LARGE,
                   absl::StrCat("at ", part, " ", index + 1, " of ", size, ": ",
                                status.message()));
}

absl::StatusOr<std::string> Put(ProcedureContext& context,
                                absl::string_view arguments) {
  ASSIGN_OR_RETURN(auto put, ViewPut<PutRequest>(arguments));
  RETURN_IF_ERROR(context.Put(put.key, put.value));
  return std::string();
}

absl::StatusOr<std::string> Patch(ProcedureContext& context,
                                  absl::string_view arguments) {
  ASSIGN_OR_RETURN(auto patch, ViewPatch<PatchRequest>(arguments));
  RETURN_IF_ERROR(context.Patch(patch.key, patch.offset, patch.data));
  return std::string();
}

absl::StatusOr<std::string> Delete(ProcedureContext& context,
                                   absl::string_view arguments) {
  ASSIGN_OR_RETURN(auto del, Parse<DeleteRequest>(arguments));
  RETURN_IF_ERROR(ApplyDelete(context, del.key(), /*allow_absent=*/false));
  return std::string();
}

// A CommitRequest whose operations, which contain values, stay in the request.
struct CommitView {
  std::vector<Precondition> preconditions;
  std::vector<absl::string_view> then_operations;
  std::vector<absl::string_view> else_operations;
  bool fail_on_conflict = false;
};

absl::StatusOr<CommitView> ViewCommit(absl::string_view bytes) {
  CommitView commit;
  FieldReader fields(bytes);
  while (fields.Next()) {
    if (fields.varint_number() == CommitRequest::kFailOnConflictFieldNumber) {
      commit.fail_on_conflict = fields.varint() != 0;
    }
    switch (fields.bytes_number()) {
      case CommitRequest::kPreconditionsFieldNumber: {
        ASSIGN_OR_RETURN(auto condition, Parse<Precondition>(fields.bytes()));
        commit.preconditions.push_back(std::move(condition));
        break;
      }
      case CommitRequest::kThenOperationsFieldNumber:
        commit.then_operations.push_back(fields.bytes());
        break;
      case CommitRequest::kElseOperationsFieldNumber:
        commit.else_operations.push_back(fields.bytes());
        break;
      default:
        break;
    }
  }
  if (!fields.ok()) return NotA(CommitRequest::descriptor()->full_name());
  return commit;
}

// All preconditions are checked before anything is written, so that a failing
// commit makes no intent.
absl::StatusOr<std::string> Commit(ProcedureContext& context,
                                   absl::string_view arguments) {
  ASSIGN_OR_RETURN(auto request, ViewCommit(arguments));
  CommitResponse response;
  std::vector<std::string> failed;
  const size_t conditions = request.preconditions.size();
  for (size_t i = 0; i < conditions; ++i) {
    const Precondition& condition = request.preconditions[i];
    auto holds = Holds(context, condition);
    if (!holds.ok()) {
      return ExplainTooLarge(holds.status(), "precondition", i, conditions);
    }
    if (*holds) continue;
    failed.push_back(condition.has_range_unchanged()
                         ? condition.range_unchanged().start_key()
                         : condition.key());
  }
  response.set_succeeded(failed.empty());
  const auto& operations =
      failed.empty() ? request.then_operations : request.else_operations;
  if (!failed.empty() && operations.empty() && request.fail_on_conflict) {
    return MakeError(kamino::v1::REASON_CONFLICT,
                     absl::StrCat(failed.size(), " of ", conditions,
                                  " preconditions do not hold, first for key ",
                                  Printable(failed.front())),
                     failed);
  }
  for (std::string& key : failed) response.add_failed_keys(std::move(key));
  RETURN_IF_ERROR(ExpectChanges(context, operations));
  size_t room = kMaxResultBytes;
  for (size_t i = 0; i < operations.size(); ++i) {
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
