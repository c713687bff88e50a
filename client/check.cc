#include "client/check.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "client/error.h"

namespace kamino::client {
namespace {

using kamino::v1::Operation;
using kamino::v1::Precondition;

absl::Status Invalid(absl::string_view message) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   kamino::v1::REASON_INVALID_ARGUMENT, message);
}

absl::Status CheckPut(absl::string_view key, absl::string_view value) {
  RETURN_IF_ERROR(CheckKey(key));
  return CheckValue(value);
}

absl::Status CheckOperation(const Operation& operation) {
  switch (operation.operation_case()) {
    case Operation::kPut:
      return CheckPut(operation.put().key(), operation.put().value());
    case Operation::kPatch:
      return CheckPut(operation.patch().key(), operation.patch().data());
    case Operation::kDelete:
      return CheckKey(operation.delete_().key());
    case Operation::kGet:
      return CheckKey(operation.get().key());
    case Operation::OPERATION_NOT_SET:
      break;
  }
  return Invalid("an operation of the commit is empty");
}

// Whether a procedure's name may have this character.
bool IsOfProcedure(char c) {
  return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
}

absl::Status CheckPrecondition(const Precondition& condition) {
  switch (condition.condition_case()) {
    case Precondition::kRangeUnchanged:
      return absl::OkStatus();
    case Precondition::CONDITION_NOT_SET:
      return Invalid("a precondition of the commit is empty");
    default:
      return CheckKey(condition.key());
  }
}

}  // namespace

absl::Status CheckKey(absl::string_view key) {
  if (!key.empty() && key.size() <= kMaxKeyBytes) return absl::OkStatus();
  return Invalid(
      absl::StrCat("a key has 1 to 1,024 bytes, this one ", key.size()));
}

absl::Status CheckValue(absl::string_view value) {
  if (value.size() <= kMaxValueBytes) return absl::OkStatus();
  return Invalid(absl::StrCat("a value has at most ", kMaxValueBytes,
                              " bytes, this one ", value.size()));
}

absl::Status Check(const kamino::v1::GetRequest& request) {
  return CheckKey(request.key());
}

absl::Status Check(const kamino::v1::BatchGetRequest& request) {
  if (request.keys_size() > kMaxBatchKeys) {
    return Invalid(absl::StrCat(request.keys_size(), " keys; at most ",
                                kMaxBatchKeys, " in one BatchGet"));
  }
  for (const std::string& key : request.keys()) {
    RETURN_IF_ERROR(CheckKey(key));
  }
  return absl::OkStatus();
}

absl::Status Check(const kamino::v1::GetOutcomeRequest& request) {
  const auto& id = request.request_id();
  if (id.client_id() != 0 && id.number() != 0) return absl::OkStatus();
  return Invalid("a mutation's name has a client id and a number, neither 0");
}

absl::Status Check(const kamino::v1::PutRequest& request) {
  return CheckPut(request.key(), request.value());
}

absl::Status Check(const kamino::v1::PatchRequest& request) {
  return CheckPut(request.key(), request.data());
}

absl::Status Check(const kamino::v1::DeleteRequest& request) {
  return CheckKey(request.key());
}

absl::Status Check(const kamino::v1::CommitRequest& request) {
  if (request.preconditions_size() > kMaxCommitParts ||
      request.then_operations_size() > kMaxCommitParts ||
      request.else_operations_size() > kMaxCommitParts) {
    return Invalid(absl::StrCat("a commit has at most ", kMaxCommitParts,
                                " preconditions, then_operations and "
                                "else_operations each"));
  }
  for (const Precondition& condition : request.preconditions()) {
    RETURN_IF_ERROR(CheckPrecondition(condition));
  }
  for (const auto* operations :
       {&request.then_operations(), &request.else_operations()}) {
    for (const Operation& operation : *operations) {
      RETURN_IF_ERROR(CheckOperation(operation));
    }
  }
  return absl::OkStatus();
}

absl::Status Check(const kamino::v1::CallRequest& request) {
  if (request.procedure().empty()) return Invalid("no procedure is named");
  // As replica::ProcedureRegistry::Register.
  if (request.procedure().size() > kMaxProcedureBytes) {
    return Invalid(
        absl::StrCat("the procedure's name has ", request.procedure().size(),
                     " bytes; it must have at most ", kMaxProcedureBytes));
  }
  if (!absl::c_all_of(request.procedure(), IsOfProcedure)) {
    return Invalid(absl::StrCat(
        "the procedure's name is \"", Escape(request.procedure()),
        "\"; it must have only letters, digits, \".\", \"_\" and \"-\""));
  }
  if (request.arguments().size() <= kMaxArgumentBytes) return absl::OkStatus();
  return Invalid(absl::StrCat("arguments of ", request.arguments().size(),
                              " bytes; at most ", kMaxArgumentBytes));
}

}  // namespace kamino::client
