#include "node/session/session_requests.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kamino/v1/session.pb.h"
#include "node/reads.h"
#include "node/request_checks.h"
#include "replica/builtins.h"
#include "replica/errors.h"
#include "replica/field_reader.h"
#include "replica/state/state_machine.h"

namespace kamino::node {
namespace {

using session::Method;
using Objects = engine::KeyValueReader;

absl::Status Invalid(absl::string_view message) {
  return replica::MakeError(kamino::v1::REASON_INVALID_ARGUMENT, message);
}

template <typename Message>
absl::StatusOr<Message> Parse(absl::string_view body) {
  Message message;
  if (message.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return message;
  }
  return Invalid(
      absl::StrCat("the body is not a ", Message::descriptor()->full_name()));
}

// Without parsing the parts with values.
absl::Status CheckCommit(absl::string_view body, int* keys) {
  using kamino::v1::CommitRequest;
  int preconditions = 0;
  int then_operations = 0;
  int else_operations = 0;
  replica::FieldReader fields(body);
  while (fields.Next()) {
    const uint32_t number = fields.bytes_number();
    if (number == CommitRequest::kPreconditionsFieldNumber) ++preconditions;
    if (number == CommitRequest::kThenOperationsFieldNumber) ++then_operations;
    if (number == CommitRequest::kElseOperationsFieldNumber) ++else_operations;
  }
  *keys = preconditions + then_operations + else_operations;
  return CheckCommitParts(preconditions, then_operations, else_operations);
}

absl::Status FillCall(absl::string_view body, replica::Mutation* mutation) {
  ASSIGN_OR_RETURN(auto call, Parse<kamino::v1::CallRequest>(body));
  RETURN_IF_ERROR(CheckCall(call.procedure(), call.arguments().size()));
  mutation->function = std::move(*call.mutable_procedure());
  mutation->arguments = std::move(*call.mutable_arguments());
  return absl::OkStatus();
}

const char* FunctionOf(Method method) {
  switch (method) {
    case Method::kPut:
      return replica::kPutFunction;
    case Method::kPatch:
      return replica::kPatchFunction;
    case Method::kDelete:
      return replica::kDeleteFunction;
    case Method::kCommit:
      return replica::kCommitFunction;
    default:
      return replica::kVoidFunction;
  }
}

}  // namespace

absl::StatusOr<replica::Mutation> ToMutation(const session::Request& request,
                                             int* keys) {
  if (request.number == 0) return Invalid("a mutation has a number, from 1");
  RETURN_IF_ERROR(CheckArgumentBytes(request.body.size()));
  replica::Mutation mutation;
  mutation.in_session = true;
  mutation.number = request.number;
  if (request.method == Method::kCall) {
    RETURN_IF_ERROR(FillCall(request.body, &mutation));
    return mutation;
  }
  *keys = request.method == Method::kVoid ? 0 : 1;
  if (request.method == Method::kCommit) {
    RETURN_IF_ERROR(CheckCommit(request.body, keys));
  }
  mutation.function = FunctionOf(request.method);
  if (request.method != Method::kVoid)
    mutation.arguments = std::string(request.body);
  return mutation;
}

absl::StatusOr<std::string> ToResponse(Method method,
                                       head::RequestOutcome outcome) {
  switch (method) {
    case Method::kCommit:
      return std::move(outcome.result);
    case Method::kCall: {
      kamino::v1::CallResponse response;
      response.set_result(std::move(outcome.result));
      return response.SerializeAsString();
    }
    case Method::kVoid: {
      kamino::v1::VoidResponse response;
      response.set_executed(!outcome.voided);
      response.set_result(std::move(outcome.result));
      return response.SerializeAsString();
    }
    default:
      return std::string();
  }
}

absl::Status ReadFor(const session::Request& request, const KeyScope* scope,
                     ChainNode& node, ReadAnswer* answer) {
  if (request.method == Method::kGet) {
    ASSIGN_OR_RETURN(auto asked, Parse<kamino::v1::GetRequest>(request.body));
    answer->message = &answer->one;
    return node.reads().Read(
        scope,
        [&](Objects& objects) { return ReadOne(objects, asked, &answer->one); },
        ReadAtOf(asked));
  }
  ASSIGN_OR_RETURN(auto asked,
                   Parse<kamino::v1::BatchGetRequest>(request.body));
  RETURN_IF_ERROR(CheckBatch(asked));
  answer->message = &answer->many;
  return node.reads().Read(
      scope,
      [&](Objects& objects) {
        return ReadBatch(objects, asked, &answer->many);
      },
      ReadAtOf(asked));
}

}  // namespace kamino::node
