#include "engine/resource_error.h"

#include <optional>
#include <string>

#include "absl/strings/cord.h"

namespace kamino::engine {
namespace {

constexpr absl::string_view kUrl = "kamino.engine/resource";
constexpr absl::string_view kNames[] = {"heap", "transaction", "log", "backup"};

}  // namespace

absl::Status ResourceError(Resource resource, absl::string_view message) {
  absl::Status status = absl::ResourceExhaustedError(message);
  status.SetPayload(kUrl, absl::Cord(kNames[static_cast<int>(resource)]));
  return status;
}

std::optional<Resource> ResourceOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kUrl);
  if (!payload.has_value()) return std::nullopt;
  const std::string name(*payload);
  for (Resource resource : {Resource::kHeap, Resource::kTransaction,
                            Resource::kLog, Resource::kUndoCopy}) {
    if (name == kNames[static_cast<int>(resource)]) return resource;
  }
  return std::nullopt;
}

}  // namespace kamino::engine
