#include "head/explain.h"

#include "engine/resource_error.h"
#include "replica/errors.h"

namespace kamino::head {

using replica::MakeError;

namespace {

absl::Status ExplainResource(const absl::Status& status) {
  const auto resource = engine::ResourceOf(status);
  if (!resource.has_value() || *resource == engine::Resource::kHeap) {
    return MakeError(kamino::v1::REASON_HEAP_FULL, status.message());
  }
  // Unfinished transactions pin the undo copy's room and the log's slots.
  return MakeError(*resource == engine::Resource::kTransaction
                       ? kamino::v1::REASON_TOO_LARGE
                       : kamino::v1::REASON_OVERLOADED,
                   status.message());
}

}  // namespace

absl::Status Explain(const absl::Status& status) {
  if (replica::ReasonOf(status) != kamino::v1::REASON_UNSPECIFIED) {
    return status;
  }
  // The caller may not touch the key, whatever the procedure is.
  if (absl::IsPermissionDenied(status)) return status;
  if (absl::IsResourceExhausted(status)) return ExplainResource(status);
  return replica::WithReason(status, kamino::v1::REASON_PROCEDURE_FAILED);
}

}  // namespace kamino::head
