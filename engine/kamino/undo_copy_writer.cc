#include "engine/kamino/undo_copy_writer.h"

#include <vector>

#include "engine/kamino/words.h"

namespace kamino::engine {
namespace {

// The copies of new objects are not.
bool Pinned(const TransactionState::Object& object) {
  return object.copy != nullptr && !object.allocated;
}

}  // namespace

void UndoCopyWriter::MarkBlocks(const TransactionState& state) {
  for (const TransactionState::Object& object : state.objects) {
    if (object.allocated == object.freed) continue;
    heap_->states().Store(object.id, object.allocated);
  }
}

bool UndoCopyWriter::Prepare(TransactionState* state) {
  bool any = false;
  for (TransactionState::Object& object : state->objects) {
    if (object.freed) {
      object.cleared = sticky_->Clear(object.id).bytes;
      undo_copy_->Drop(object.id);
    } else if (object.allocated) {
      object.copy = undo_copy_->CopyOfNew(object.id);
    }
    any |= object.freed || object.allocated;
  }
  if (!any) return false;
  for (const TransactionState::Object& object : state->objects) {
    if (!object.allocated && !object.freed) continue;
    heap_->states().Flush(object.id);
    heap_->region()->Flush(object.cleared.data(), object.cleared.size());
  }
  return true;
}

void UndoCopyWriter::Copy(const TransactionState& state) {
  for (size_t i = 0; i < state.write_set.size(); ++i) {
    const Intent& intent = state.write_set[i];
    const TransactionState::Range& range = state.ranges[i];
    const TransactionState::Object& object = state.objects[range.object];
    if (object.freed || object.copy == nullptr) continue;
    const size_t begin = WordsBegin(intent.offset);
    const size_t end = WordsEnd(intent.offset + size_t{intent.length});
    const std::byte* bytes = range.kept >= 0 ? state.bytes.data() + range.kept
                                             : object.payload.data() + begin;
    undo_copy_->region()->CopyFlush(object.copy + begin, bytes, end - begin);
  }
}

void UndoCopyWriter::Finish(const TransactionState& state) {
  for (const TransactionState::Object& object : state.objects) {
    if (Pinned(object) || object.freed) undo_copy_->Unpin(object.id);
    if (object.freed) sticky_->Forget(object.id);
  }
}

void UndoCopyWriter::Unpin(const TransactionState& state) {
  for (const TransactionState::Object& object : state.objects) {
    if (Pinned(object)) undo_copy_->Unpin(object.id);
  }
}

void UndoCopyWriter::ClearIntents(absl::Span<const ObjectId> victims) {
  std::vector<ObjectId> cleared;
  for (ObjectId id : victims) {
    const StickyIntents::Cleared intent = sticky_->Clear(id);
    if (!intent.drain) continue;
    heap_->region()->Flush(intent.bytes.data(), intent.bytes.size());
    cleared.push_back(id);
  }
  if (cleared.empty()) return;
  heap_->region()->Drain();
  for (ObjectId id : cleared) sticky_->Forget(id);
}

}  // namespace kamino::engine
