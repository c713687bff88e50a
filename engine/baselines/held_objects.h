// The objects that one transaction holds locks of, and what it has done with
// each.
#ifndef KAMINO_ENGINE_BASELINES_HELD_OBJECTS_H_
#define KAMINO_ENGINE_BASELINES_HELD_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "engine/transaction.h"

namespace kamino::engine {

struct HeldObject {
  ObjectId id = kNullObject;
  bool locked = false;     // until its lock falls, which is at the end mostly
  bool exclusive = false;  // else shared
  bool allocated = false;  // by this transaction
  bool freed = false;      // by this transaction
  bool saved = false;      // undo-object: the whole of it is in the log
  bool claimed = false;    // no other transaction is to flush it
  // The payload as this transaction sees it; empty: not looked up yet.
  absl::Span<std::byte> bytes;
  // cow: what `bytes` is then, the object's own staying as they are.
  std::unique_ptr<std::byte[]> shadow;
};

// Most transactions hold a few, which are found by looking at each; hashing
// starts when there are more. Not thread-safe.
class HeldObjects {
 public:
  // Null: not held. Valid until the next Add.
  HeldObject* Find(ObjectId id) {
    if (objects_.size() > kFew) {
      const auto found = index_.find(id);
      return found == index_.end() ? nullptr : &objects_[found->second];
    }
    for (HeldObject& object : objects_) {
      if (object.id == id) return &object;
    }
    return nullptr;
  }

  // One that is not held yet.
  HeldObject* Add(ObjectId id) {
    objects_.emplace_back();
    objects_.back().id = id;
    if (objects_.size() == kFew + 1) {
      for (size_t i = 0; i < kFew; ++i) index_[objects_[i].id] = i;
    }
    if (objects_.size() > kFew) index_[id] = objects_.size() - 1;
    return &objects_.back();
  }

  size_t IndexOf(const HeldObject& object) const {
    return &object - objects_.data();
  }
  HeldObject& operator[](size_t index) { return objects_[index]; }
  auto begin() { return objects_.begin(); }
  auto end() { return objects_.end(); }

 private:
  static constexpr size_t kFew = 16;

  absl::InlinedVector<HeldObject, 4> objects_;
  absl::flat_hash_map<ObjectId, size_t> index_;  // of all, or empty
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_HELD_OBJECTS_H_
