#include "replica/heap_executor.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/kamino/replica_transaction.h"

namespace kamino::replica {

using engine::Intent;
using engine::IntentKind;
using engine::WriteSet;
using kamino::internal::v1::ChainOperation;

void EncodeWriteSet(const WriteSet& write_set, ChainOperation* operation) {
  operation->mutable_write_set()->Reserve(static_cast<int>(write_set.size()));
  for (const Intent& intent : write_set) {
    auto* encoded = operation->add_write_set();
    encoded->set_object(intent.object);
    encoded->set_offset(intent.offset);
    encoded->set_length(intent.length);
    encoded->set_kind(static_cast<uint32_t>(intent.kind));
  }
}

absl::StatusOr<WriteSet> DecodeWriteSet(const ChainOperation& operation) {
  WriteSet write_set;
  write_set.reserve(operation.write_set_size());
  for (const auto& encoded : operation.write_set()) {
    if (encoded.kind() < static_cast<uint32_t>(IntentKind::kWrite) ||
        encoded.kind() > static_cast<uint32_t>(IntentKind::kFree)) {
      return absl::DataLossError(
          absl::StrCat("an operation has an intent of kind ", encoded.kind()));
    }
    write_set.push_back({encoded.object(), encoded.offset(), encoded.length(),
                         static_cast<IntentKind>(encoded.kind())});
  }
  return write_set;
}

absl::StatusOr<ChainOperation> ParseOperation(absl::string_view bytes) {
  ChainOperation operation;
  if (!operation.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("an operation of the ring cannot be parsed");
  }
  return operation;
}

absl::Status HeapExecutor::Execute(uint64_t first, uint32_t count,
                                   absl::string_view bytes) {
  auto operation = ParseOperation(bytes);
  if (!operation.ok()) return operation.status();
  if (operation->requests_size() < 0 ||
      static_cast<uint32_t>(operation->requests_size()) != count) {
    return absl::DataLossError(
        absl::StrCat("an operation of ", count, " mutations has ",
                     operation->requests_size(), " requests"));
  }
  ASSIGN_OR_RETURN(auto write_set, DecodeWriteSet(*operation));
  engine::ReplicaTransaction transaction(heap_, write_set);
  RETURN_IF_ERROR(state_->Replay(transaction, *operation, first));
  return static_cast<engine::Transaction&>(transaction).Commit();
}

absl::StatusOr<WriteSet> HeapExecutor::WriteSetOf(absl::string_view bytes) {
  ASSIGN_OR_RETURN(auto operation, ParseOperation(bytes));
  return DecodeWriteSet(operation);
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
