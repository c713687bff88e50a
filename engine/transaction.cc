#include "engine/transaction.h"

#include <cstring>

#include "base/status_macros.h"

namespace kamino::engine {

absl::Status Transaction::Overwrite(ObjectId id, uint32_t offset,
                                    absl::Span<const std::byte> bytes) {
  ASSIGN_OR_RETURN(auto target,
                   Write(id, offset, static_cast<uint32_t>(bytes.size())));
  if (!bytes.empty()) std::memcpy(target, bytes.data(), bytes.size());
  return absl::OkStatus();
}

}  // namespace kamino::engine
