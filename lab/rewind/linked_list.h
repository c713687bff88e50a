// The paper's atomic doubly linked list (section 3.2): of appending and
// removing, one node at a time, the last one can be done again after a crash.
//
// Invariants:
//   1. A node and what it names are durable before `to_append` is, and that
//      before any link to the node; so redoing needs the node alone.
//   2. A node that is removed keeps its links, and its place, until
//      `to_remove` is durably 0 again.
//   3. `to_append` and `to_remove` are durably 0 when an operation returns.
// The paper's lastTail is what the new node's `prior` says: there is none here.
#ifndef KAMINO_LAB_REWIND_LINKED_LIST_H_
#define KAMINO_LAB_REWIND_LINKED_LIST_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/pmem/region.h"
#include "lab/rewind/checked_words.h"
#include "lab/rewind/log_space.h"
#include "lab/rewind/rewind_format.h"

namespace kamino::engine {

// Not thread-safe.
class LinkedList {
 public:
  // Nodes lie in `space`; all must outlive this.
  LinkedList(const CheckedWords& words, rewind_format::ListState* state,
             const LogSpace* space)
      : words_(words), region_(words.region()), state_(state), space_(space) {}

  // Makes `state` that of an empty list. Not flushed.
  static void Create(const CheckedWords& words,
                     rewind_format::ListState* state);

  // Durable on return, and everything flushed before. `node` is a free unit.
  void Append(uint64_t node, uint64_t element);
  // Durable on return: then the unit is free.
  void Remove(uint64_t node);

  // Recovery: carries out what was under way. kDataLoss: damaged.
  absl::Status Finish();

  struct Linked {
    uint64_t node;
    uint64_t element;
  };
  // In order. kDataLoss: damaged.
  absl::StatusOr<std::vector<Linked>> Walk() const;

  // Durable on return.
  void Empty();

 private:
  rewind_format::Node* At(uint64_t node) const;
  uint64_t Get(const uint64_t& word) const { return words_.Get(&word); }
  void Put(uint64_t* word, uint64_t value);
  void Link(uint64_t node);
  void Unlink(uint64_t node);
  absl::Status CheckPlace(uint64_t node, const char* what) const;
  // A word that names a node, if any.
  absl::StatusOr<uint64_t> ReadPlace(const uint64_t& word,
                                     const char* what) const;

  const CheckedWords words_;
  Region* const region_;
  rewind_format::ListState* const state_;
  const LogSpace* const space_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_LINKED_LIST_H_
