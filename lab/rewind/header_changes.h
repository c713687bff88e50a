// The blocks that a transaction of REWIND allocates and frees: how their
// headers are logged and stored, and when they are free again.
#ifndef KAMINO_LAB_REWIND_HEADER_CHANGES_H_
#define KAMINO_LAB_REWIND_HEADER_CHANGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/baselines/held_objects.h"
#include "engine/heap/heap.h"
#include "lab/rewind/log_record.h"
#include "lab/rewind/own_log.h"

namespace kamino::engine {

// Not thread-safe.
class HeaderChanges {
 public:
  // `heap` and `held`, which says what is allocated and freed, must outlive
  // this.
  HeaderChanges(Heap* heap, HeldObjects* held, bool force)
      : heap_(heap), held_(held), force_(force) {}

  // An object is allocated or freed. Without that there is nothing to do.
  void Expect() { expected_ = true; }

  // --- The commit.

  // Adds headers of blocks that are allocated or freed, not both. They refer to
  // this.
  void AddHeaders(std::vector<Draft>* drafts);
  // The headers that AddHeaders has added are in the log.
  void SetLogged() { logged_ = !headers_.empty(); }
  // Flushes the contents of new objects.
  void FlushNew() const;
  // With force, also flushes them.
  void StoreHeaders() const;

  // --- The end.

  // Blocks that `log` names are free once its records are gone.
  void Keep(bool committed, OwnLog* log);
  // The locks have fallen: gives back blocks that are not kept.
  void Release(bool committed) const;

 private:
  // Old and new word.
  struct Header {
    size_t object = 0;  // its place among those held
    uint64_t words[2] = {};
  };

  Heap* const heap_;
  HeldObjects* const held_;
  const bool force_;
  std::vector<Header> headers_;
  bool expected_ = false;
  bool logged_ = false;  // headers are
  bool kept_ = false;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_HEADER_CHANGES_H_
