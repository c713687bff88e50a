#include "engine/transaction.h"

#include <cstring>

#include "absl/container/inlined_vector.h"
#include "base/status_macros.h"

namespace kamino::engine {

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
