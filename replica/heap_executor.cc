#include "replica/heap_executor.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/kamino/replica_transaction.h"

namespace kamino::replica {

using engine::Intent;
using engine::WriteSet;

absl::Status HeapExecutor::Execute(const LogEntry& entry) {
  ASSIGN_OR_RETURN(auto write_set, entry.WriteSet());
  engine::ReplicaTransaction transaction(heap_, write_set);
  RETURN_IF_ERROR(state_->Replay(transaction, entry));
  return static_cast<engine::Transaction&>(transaction).Commit();
}

absl::Status HeapExecutor::ReadIntent(const Intent& intent,
                                      std::string* bytes) {
  const engine::Region& region = *heap_->region();
  const uint64_t size = region.size();
  const uint64_t begin = intent.object + intent.offset;
  if (intent.object < heap_->root() || intent.object > size || begin > size ||
      intent.length > size - begin) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes [", begin, " + ", intent.length,
                     ") are not among the heap's objects"));
  }
  bytes->append(reinterpret_cast<const char*>(region.base() + begin),
                intent.length);
  return absl::OkStatus();
}

absl::Status HeapExecutor::BeginMending(const WriteSet& intents) {
  return mender_.Begin(intents);
}

absl::Status HeapExecutor::MendIntent(const Intent& intent,
                                      absl::string_view bytes, Mend mend) {
  return mender_.Apply(intent, bytes, mend);
}

void HeapExecutor::EndMending() { heap_->region()->Drain(); }

}  // namespace kamino::replica
