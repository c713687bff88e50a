// The kinds of undo copies, from which a node rolls transactions back.
#ifndef KAMINO_BASE_UNDO_COPY_KIND_H_
#define KAMINO_BASE_UNDO_COPY_KIND_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace kamino {

// Numbers are on the wire, as part of the agreement of nodes; never change
// them. 0 is unused.
enum class UndoCopyKind : uint32_t {
  kSimple = 1,   // a copy of the whole heap
  kDynamic = 2,  // of recently written objects
  // Undo logging: of overwritten bytes, until the commit.
  kLog = 3,
};

inline constexpr absl::string_view kUndoCopyKindNames =
    "simple, dynamic or log";

absl::string_view UndoCopyKindName(UndoCopyKind kind);
std::optional<UndoCopyKind> UndoCopyKindFrom(absl::string_view name);
// "unknown" if no kind has that number.
absl::string_view UndoCopyKindNameOf(uint64_t number);

}  // namespace kamino

#endif  // KAMINO_BASE_UNDO_COPY_KIND_H_
