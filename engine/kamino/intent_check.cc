#include "engine/kamino/intent_check.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/kamino/checksum.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

using Object = TransactionState::Object;

// [begin, end) of the object's declared ranges, in order.
std::vector<std::pair<size_t, size_t>> DeclaredRanges(
    const TransactionState& state, const Object& object) {
  std::vector<std::pair<size_t, size_t>> ranges;
  for (int i = object.last_range; i >= 0; i = state.ranges[i].previous) {
    const Intent& intent = state.ranges[i].intent;
    ranges.emplace_back(intent.offset, intent.offset + size_t{intent.length});
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

void CheckSame(const Object& object, size_t begin, size_t end) {
  const auto differs =
      std::mismatch(object.payload.begin() + begin,
                    object.payload.begin() + end, object.copy + begin);
  CHECK(differs.first == object.payload.begin() + end)
      << "byte " << differs.first - object.payload.begin() << " of object "
      << object.id << " was changed without an intent";
}

}  // namespace

void RememberAsRead(absl::Span<const std::byte> payload, Object* object,
                    TransactionState* state) {
  if (object->read >= 0) return;
  object->read = static_cast<int32_t>(state->reads.size());
  state->reads.push_back({payload, Checksum(payload)});
}

void CheckIntents(const TransactionState& state) {
  for (const Object& object : state.objects) {
    if (object.allocated || object.freed) continue;
    // An undo log has no old bytes beside the ranges.
    if (object.copy == nullptr && object.last_range >= 0) continue;
    if (object.copy == nullptr) {
      if (object.read < 0) continue;
      const TransactionState::FirstRead& read = state.reads[object.read];
      CHECK_EQ(Checksum(read.payload), read.hash)
          << "object " << object.id << " was changed without an intent";
      continue;
    }
    size_t done = 0;
    for (const auto& [begin, end] : DeclaredRanges(state, object)) {
      if (done < begin) CheckSame(object, done, begin);
      done = std::max(done, end);
    }
    CheckSame(object, done, object.payload.size());
  }
}

}  // namespace kamino::engine
