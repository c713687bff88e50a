// The head's decisions about a restore.
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "head/admission.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/errors.h"
#include "replica/restore.h"

namespace kamino::head {

using replica::MakeError;

bool Admission::BeginsRestore(const Request& request) {
  return request.mutation.client_id == 0 &&
         request.mutation.function == replica::kBeginRestoreFunction;
}

uint64_t Admission::SkippedBy(const std::vector<Request>& batch,
                              const std::vector<Attempt>& attempts) {
  uint64_t skipped = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!attempts[i].executed || batch[i].mutation.skipped == 0) continue;
    CHECK_EQ(batch.size(), 1u) << "numbers are skipped within an entry";
    skipped = batch[i].mutation.skipped;
  }
  return skipped;
}

absl::Status Admission::PrepareRestore(replica::Mutation* mutation) const {
  kamino::internal::v1::BeginRestore begin;
  if (!begin.ParseFromString(mutation->arguments)) {
    return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                     "the arguments of the restore request cannot be parsed");
  }
  RETURN_IF_ERROR(replica::CheckRestoreBase(begin.base()));
  const uint64_t room = store_->heap()->stats().bytes_total;
  if (begin.heap_used() > room) {
    return MakeError(
        kamino::v1::REASON_HEAP_FULL,
        absl::StrCat("the backup's objects took ", begin.heap_used() >> 20,
                     " MiB of a heap, and this cluster's heaps have ",
                     room >> 20,
                     " MiB; restore into a cluster with larger heaps"));
  }
  const uint64_t next = core_->next_sequence();
  mutation->skipped = begin.base() > next ? begin.base() - next : 0;
  return absl::OkStatus();
}

}  // namespace kamino::head
