#include "head/restores.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/errors.h"
#include "replica/state/restore.h"

namespace kamino::head {

using replica::MakeError;

bool BeginsRestore(const Request& request) {
  return request.mutation.client_id == 0 &&
         request.mutation.function == replica::kBeginRestoreFunction;
}

absl::Status PrepareRestore(const HeadContext& context,
                            replica::Mutation* mutation) {
  kamino::internal::v1::BeginRestore begin;
  if (!begin.ParseFromString(mutation->arguments)) {
    return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                     "the arguments of the restore request cannot be parsed");
  }
  RETURN_IF_ERROR(replica::CheckRestoreBase(begin.base()));
  const uint64_t room = context.store->heap()->stats().bytes_total;
  if (begin.heap_used() > room) {
    return MakeError(
        kamino::v1::REASON_HEAP_FULL,
        absl::StrCat("the backup's objects took ", begin.heap_used() >> 20,
                     " MiB of a heap, and this cluster's heaps have ",
                     room >> 20,
                     " MiB; restore into a cluster with larger heaps"));
  }
  const uint64_t next = context.core->next_sequence();
  mutation->skipped = begin.base() > next ? begin.base() - next : 0;
  return absl::OkStatus();
}

}  // namespace kamino::head
