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
      object.cleared = sticky_->Clear(object.id).entry;
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
    if (object.cleared == nullptr) continue;
    objects_.Flush(object.cleared, sizeof(*object.cleared));
  }
  return true;
}

void UndoCopyWriter::Copy(const TransactionState& state) {
  for (const TransactionState::Range& range : state.ranges) {
    const Intent& intent = range.intent;
    const TransactionState::Object& object = state.objects[range.object];
    if (object.freed || object.copy == nullptr) continue;
    const size_t begin = WordsBegin(intent.offset);
    const size_t end = WordsEnd(intent.offset + size_t{intent.length});
    const std::byte* bytes = range.kept >= 0 ? state.bytes.data() + range.kept
                                             : object.payload.data() + begin;
    copies_.CopyFlush(object.copy + begin, bytes, end - begin);
  }
}

void UndoCopyWriter::Finish(const TransactionState& state) {
  for (const TransactionState::Object& object : state.objects) {
    if (pins_ && (Pinned(object) || object.freed)) undo_copy_->Unpin(object.id);
    if (object.freed) sticky_->Forget(object.id);
  }
}

void UndoCopyWriter::Unpin(const TransactionState& state) {
  if (!pins_) return;
  for (const TransactionState::Object& object : state.objects) {
    if (Pinned(object)) undo_copy_->Unpin(object.id);
  }
}

void UndoCopyWriter::ClearIntents(absl::Span<const ObjectId> victims) {
  std::vector<ObjectId> cleared;
  for (ObjectId id : victims) {
    const StickyIntents::Cleared intent = sticky_->Clear(id);
    if (!intent.drain) continue;
    if (intent.entry != nullptr) {
      objects_.Flush(intent.entry, sizeof(*intent.entry));
    }
    cleared.push_back(id);
  }
  if (cleared.empty()) return;
  objects_.Drain();
  for (ObjectId id : cleared) sticky_->Forget(id);
}

}  // namespace kamino::engine
