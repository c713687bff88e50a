#include "engine/baselines/rewind/linked_list.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/explore.h"

namespace kamino::engine {

using rewind_format::Node;

Node* LinkedList::At(uint64_t node) const {
  return reinterpret_cast<Node*>(region_->base() + node);
}

void LinkedList::Put(uint64_t* word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
  region_->Flush(word, sizeof(*word));
}

void LinkedList::Link(uint64_t node) {
  const uint64_t prior = At(node)->prior;
  Put(prior == 0 ? &state_->head : &At(prior)->next, node);
  Put(&state_->tail, node);
  region_->Drain();
  Put(&state_->to_append, 0);
  region_->Drain();
}

void LinkedList::Append(uint64_t node, uint64_t element) {
  *At(node) = Node{0, state_->tail, element, {}};
  region_->Persist(At(node), sizeof(Node));
  Put(&state_->to_append, node);
  region_->Drain();
  Link(node);
}

void LinkedList::Unlink(uint64_t node) {
  const uint64_t prior = At(node)->prior;
  const uint64_t next = At(node)->next;
  Put(prior == 0 ? &state_->head : &At(prior)->next, next);
  Put(next == 0 ? &state_->tail : &At(next)->prior, prior);
  region_->Drain();
  Put(&state_->to_remove, 0);
  region_->Drain();
}

void LinkedList::Remove(uint64_t node) {
  Put(&state_->to_remove, node);
  region_->Drain();
  Unlink(node);
}

absl::Status LinkedList::CheckPlace(uint64_t node, const char* what) const {
  if (space_->Contains(node, sizeof(Node))) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the log is damaged: its list's ",
                                          what, " is at offset ", node,
                                          ", outside of the log"));
}

absl::Status LinkedList::Finish() {
  for (const uint64_t node : {state_->to_append, state_->to_remove}) {
    if (node == 0) continue;
    RETURN_IF_ERROR(CheckPlace(node, "unfinished node"));
    for (const uint64_t neighbour : {At(node)->prior, At(node)->next}) {
      if (neighbour == 0) continue;
      RETURN_IF_ERROR(CheckPlace(neighbour, "neighbour of that"));
    }
  }
  if (state_->to_append != 0) {
    Reached(Branch::kRewindAppendedAgain);
    Link(state_->to_append);
  }
  if (state_->to_remove != 0) {
    Reached(Branch::kRewindRemovedAgain);
    Unlink(state_->to_remove);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LinkedList::Linked>> LinkedList::Walk() const {
  std::vector<Linked> all;
  uint64_t prior = 0;
  for (uint64_t node = state_->head; node != 0; node = At(node)->next) {
    RETURN_IF_ERROR(CheckPlace(node, "next node"));
    if (At(node)->prior != prior || all.size() >= space_->size()) {
      return absl::DataLossError(absl::StrCat(
          "the log is damaged: the links of its list do not agree at offset ",
          node));
    }
    all.push_back({node, At(node)->element});
    prior = node;
  }
  return all;
}

void LinkedList::Empty() {
  Put(&state_->head, 0);
  region_->Drain();
  Put(&state_->tail, 0);
  region_->Drain();
}

}  // namespace kamino::engine
