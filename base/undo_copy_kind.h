// What a node takes transactions back by.
#ifndef KAMINO_BASE_UNDO_COPY_KIND_H_
#define KAMINO_BASE_UNDO_COPY_KIND_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace kamino {

// Numbers are on the wire, as part of what nodes have in common; never change
// them. 0 is no kind's.
enum class UndoCopyKind : uint32_t {
  kSimple = 1,   // a copy of the whole heap
  kDynamic = 2,  // of what was lately written
  // Of what is written over, as long as it may be taken back: undo logging.
  kLog = 3,
};

inline constexpr absl::string_view kUndoCopyKindNames =
    "simple, dynamic or log";

absl::string_view UndoCopyKindName(UndoCopyKind kind);
std::optional<UndoCopyKind> UndoCopyKindFrom(absl::string_view name);
// "unknown" for a number that is no kind's.
absl::string_view UndoCopyKindNameOf(uint64_t number);

}  // namespace kamino

#endif  // KAMINO_BASE_UNDO_COPY_KIND_H_
