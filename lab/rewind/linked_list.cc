#include "lab/rewind/linked_list.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "lab/explore.h"

namespace kamino::engine {

using rewind_format::Node;

Node* LinkedList::At(uint64_t node) const {
  return reinterpret_cast<Node*>(words_.At(node));
}

void LinkedList::Put(uint64_t* word, uint64_t value) {
  words_.Store(word, value);
  words_.Flush(word);
}

void LinkedList::Link(uint64_t node) {
  const uint64_t prior = Get(At(node)->prior);
  Put(prior == 0 ? &state_->head : &At(prior)->next, node);
  Put(&state_->tail, node);
  region_->Drain();
  Put(&state_->to_append, 0);
  region_->Drain();
}

void LinkedList::Create(const CheckedWords& words,
                        rewind_format::ListState* state) {
  for (uint64_t* word :
       {&state->head, &state->tail, &state->to_append, &state->to_remove}) {
    words.Store(word, 0);
  }
}

void LinkedList::Append(uint64_t node, uint64_t element) {
  *At(node) = Node{};
  words_.Store(&At(node)->next, 0);
  words_.Store(&At(node)->prior, Get(state_->tail));
  words_.Store(&At(node)->element, element);
  region_->Persist(At(node), sizeof(Node));
  Put(&state_->to_append, node);
  region_->Drain();
  Link(node);
}

void LinkedList::Unlink(uint64_t node) {
  const uint64_t prior = Get(At(node)->prior);
  const uint64_t next = Get(At(node)->next);
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

absl::StatusOr<uint64_t> LinkedList::ReadPlace(const uint64_t& word,
                                               const char* what) const {
  ASSIGN_OR_RETURN(const uint64_t node, words_.Read(&word));
  if (node != 0) RETURN_IF_ERROR(CheckPlace(node, what));
  return node;
}

absl::Status LinkedList::Finish() {
  for (const uint64_t* word : {&state_->to_append, &state_->to_remove}) {
    ASSIGN_OR_RETURN(const uint64_t node, ReadPlace(*word, "unfinished node"));
    if (node == 0) continue;
    for (const uint64_t* beside : {&At(node)->prior, &At(node)->next}) {
      RETURN_IF_ERROR(ReadPlace(*beside, "neighbour of that").status());
    }
  }
  if (const uint64_t node = Get(state_->to_append); node != 0) {
    Reached(LabBranch::kRewindAppendedAgain);
    Link(node);
  }
  if (const uint64_t node = Get(state_->to_remove); node != 0) {
    Reached(LabBranch::kRewindRemovedAgain);
    Unlink(node);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LinkedList::Linked>> LinkedList::Walk() const {
  std::vector<Linked> all;
  uint64_t last = 0;
  ASSIGN_OR_RETURN(uint64_t node, ReadPlace(state_->head, "first node"));
  while (node != 0) {
    ASSIGN_OR_RETURN(const uint64_t prior, words_.Read(&At(node)->prior));
    if (prior != last || all.size() >= space_->size()) {
      return absl::DataLossError(absl::StrCat(
          "the log is damaged: the links of its list do not agree at offset ",
          node));
    }
    ASSIGN_OR_RETURN(const uint64_t element, words_.Read(&At(node)->element));
    all.push_back({node, element});
    last = node;
    ASSIGN_OR_RETURN(node, ReadPlace(At(node)->next, "next node"));
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
