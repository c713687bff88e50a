#include "engine/transaction.h"

#include <cstring>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::engine {

absl::Status CheckWritesOnly(absl::Span<const Intent> intents) {
  for (const Intent& intent : intents) {
    if (intent.kind == IntentKind::kWrite) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("an intent of kind ", static_cast<int>(intent.kind),
                     " for object ", intent.object,
                     ": only writes are declared, Alloc and Free do the rest"));
  }
  return absl::OkStatus();
}

absl::Status CheckNotRoot(ObjectId id, ObjectId root) {
  if (id != root) return absl::OkStatus();
  return absl::InvalidArgumentError("the root object cannot be freed");
}

absl::Status Transaction::Declare(absl::Span<const Intent> intents) {
  RETURN_IF_ERROR(CheckWritesOnly(intents));
  for (const Intent& intent : intents) {
    RETURN_IF_ERROR(
        Write(intent.object, intent.offset, intent.length).status());
  }
  return absl::OkStatus();
}

absl::Status Transaction::Overwrite(ObjectId id, uint32_t offset,
                                    absl::Span<const std::byte> bytes) {
  ASSIGN_OR_RETURN(auto target,
                   Write(id, offset, static_cast<uint32_t>(bytes.size())));
  if (!bytes.empty()) std::memcpy(target, bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status Transaction::OverwriteBoth(ObjectId id, uint32_t offset,
                                        absl::Span<const std::byte> head,
                                        absl::Span<const std::byte> bytes) {
  // Most records are smaller than this.
  absl::InlinedVector<std::byte, 1280> both;
  both.reserve(head.size() + bytes.size());
  both.insert(both.end(), head.begin(), head.end());
  both.insert(both.end(), bytes.begin(), bytes.end());
  return Overwrite(id, offset, both);
}

}  // namespace kamino::engine
