#include "lab/rewind/header_changes.h"

#include "engine/heap/heap_format.h"

namespace kamino::engine {

using heap_format::BlockHeader;
using heap_format::BlockState;
using heap_format::MakeWord;
using heap_format::UnitsOf;
using rewind_format::RecordType;

void HeaderChanges::AddHeaders(std::vector<Draft>* drafts) {
  if (!expected_) return;
  headers_.clear();
  for (const HeldObject& object : *held_) {
    if (object.allocated == object.freed) continue;
    const uint64_t word =
        heap_format::HeaderOf(heap_->region()->base(), object.id)->word;
    const BlockState to =
        object.allocated ? BlockState::kAllocated : BlockState::kFree;
    headers_.push_back(
        {held_->IndexOf(object), {word, MakeWord(to, UnitsOf(word))}});
  }
  for (const Header& header : headers_) {
    const HeldObject& object = (*held_)[header.object];
    Draft draft;
    draft.type = object.freed ? RecordType::kDelete : RecordType::kUpdate;
    draft.address = object.id - sizeof(BlockHeader);
    draft.length = sizeof(uint64_t);
    draft.old_bytes = reinterpret_cast<const std::byte*>(&header.words[0]);
    if (!force_) {
      draft.new_bytes = reinterpret_cast<const std::byte*>(&header.words[1]);
    }
    drafts->push_back(draft);
  }
}

void HeaderChanges::FlushNew() const {
  if (!expected_) return;
  for (const HeldObject& object : *held_) {
    if (!object.allocated || object.freed) continue;
    heap_->region()->Flush(object.bytes.data(), object.bytes.size());
  }
}

void HeaderChanges::StoreHeaders() const {
  for (const Header& header : headers_) {
    const HeldObject& object = (*held_)[header.object];
    heap_->states().Store(object.id, object.allocated);
    if (force_) heap_->states().Flush(object.id);
  }
}

void HeaderChanges::Keep(bool committed, OwnLog* log) {
  if (!expected_ || (!committed && !logged_)) return;
  for (const HeldObject& object : *held_) {
    const bool free = committed ? object.freed : object.allocated;
    if (free) log->KeepBlock(object.id);
  }
  kept_ = true;
}

void HeaderChanges::Release(bool committed) const {
  if (!expected_ || kept_) return;
  for (const HeldObject& object : *held_) {
    if (committed ? object.freed : object.allocated) heap_->Release(object.id);
  }
}

}  // namespace kamino::engine
