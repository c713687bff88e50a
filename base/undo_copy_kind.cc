#include "base/undo_copy_kind.h"

namespace kamino {
namespace {

constexpr UndoCopyKind kKinds[] = {UndoCopyKind::kSimple,
                                   UndoCopyKind::kDynamic, UndoCopyKind::kLog};

}  // namespace

absl::string_view UndoCopyKindName(UndoCopyKind kind) {
  switch (kind) {
    case UndoCopyKind::kSimple:
      return "simple";
    case UndoCopyKind::kDynamic:
      return "dynamic";
    case UndoCopyKind::kLog:
      return "log";
  }
  return "unknown";
}

std::optional<UndoCopyKind> UndoCopyKindFrom(absl::string_view name) {
  for (UndoCopyKind kind : kKinds) {
    if (UndoCopyKindName(kind) == name) return kind;
  }
  return std::nullopt;
}

absl::string_view UndoCopyKindNameOf(uint64_t number) {
  for (UndoCopyKind kind : kKinds) {
    if (static_cast<uint64_t>(kind) == number) return UndoCopyKindName(kind);
  }
  return "unknown";
}

}  // namespace kamino
