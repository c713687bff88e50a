#include "lab/controller/avl_tree.h"

#include <algorithm>
#include <cstring>

#include "base/status_macros.h"

namespace kamino::bench::controller {

using engine::ObjectId;

absl::Status AvlTree::Insert(uint64_t key, uint64_t value) {
  ASSIGN_OR_RETURN(const auto anchor, transaction_.Read(anchor_));
  uint64_t root;
  std::memcpy(&root, anchor.data(), sizeof(root));
  ASSIGN_OR_RETURN(const ObjectId now, InsertUnder(root, key, value));
  if (now == root) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::byte* const bytes,
                   transaction_.Write(anchor_, 0, sizeof(now)));
  std::memcpy(bytes, &now, sizeof(now));
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> AvlTree::Find(uint64_t key) {
  ASSIGN_OR_RETURN(const auto anchor, transaction_.Read(anchor_));
  uint64_t id;
  std::memcpy(&id, anchor.data(), sizeof(id));
  while (id != 0) {
    ASSIGN_OR_RETURN(const Node node, Get(id));
    if (node.key == key) return node.value;
    id = node.child[key > node.key];
  }
  return absl::NotFoundError("no such key");
}

absl::StatusOr<uint64_t> AvlTree::Check() {
  ASSIGN_OR_RETURN(const auto anchor, transaction_.Read(anchor_));
  uint64_t root;
  std::memcpy(&root, anchor.data(), sizeof(root));
  ASSIGN_OR_RETURN(const Checked checked, CheckUnder(root, 0, ~uint64_t{0}));
  return checked.nodes;
}

absl::StatusOr<AvlTree::Node> AvlTree::Get(ObjectId id) {
  ASSIGN_OR_RETURN(const auto bytes, transaction_.Read(id));
  Node node;
  std::memcpy(&node, bytes.data(), sizeof(node));
  return node;
}

absl::Status AvlTree::Change(ObjectId id, const Node& before,
                             const Node& after) {
  constexpr uint32_t kWord = sizeof(uint64_t);
  const auto* const was = reinterpret_cast<const std::byte*>(&before);
  const auto* const is = reinterpret_cast<const std::byte*>(&after);
  for (uint32_t at = 0; at < sizeof(Node); at += kWord) {
    if (std::memcmp(was + at, is + at, kWord) == 0) continue;
    ASSIGN_OR_RETURN(std::byte* const bytes, transaction_.Write(id, at, kWord));
    std::memcpy(bytes, is + at, kWord);
  }
  return absl::OkStatus();
}

absl::StatusOr<ObjectId> AvlTree::New(uint64_t key, uint64_t value) {
  ASSIGN_OR_RETURN(const ObjectId id, transaction_.Alloc(sizeof(Node)));
  ASSIGN_OR_RETURN(std::byte* const bytes,
                   transaction_.Write(id, 0, sizeof(Node)));
  const Node node = {key, value, {0, 0}, 1};
  std::memcpy(bytes, &node, sizeof(node));
  return id;
}

absl::StatusOr<ObjectId> AvlTree::InsertUnder(ObjectId id, uint64_t key,
                                              uint64_t value) {
  if (id == 0) return New(key, value);
  ASSIGN_OR_RETURN(const Node before, Get(id));
  if (key == before.key) return absl::AlreadyExistsError("has this key");
  Node node = before;
  const int side = key > node.key;
  ASSIGN_OR_RETURN(node.child[side], InsertUnder(node.child[side], key, value));
  return Balance(id, node, before);
}

absl::StatusOr<ObjectId> AvlTree::Balance(ObjectId id, Node node,
                                          const Node& before) {
  ASSIGN_OR_RETURN(const uint64_t lesser, Height(node.child[0]));
  ASSIGN_OR_RETURN(const uint64_t greater, Height(node.child[1]));
  const int high = greater > lesser;
  if (std::max(lesser, greater) - std::min(lesser, greater) < 2) {
    node.height = 1 + std::max(lesser, greater);
    RETURN_IF_ERROR(Change(id, before, node));
    return id;
  }
  const ObjectId child_id = node.child[high];
  ASSIGN_OR_RETURN(const Node child, Get(child_id));
  ASSIGN_OR_RETURN(const uint64_t outer, Height(child.child[high]));
  ASSIGN_OR_RETURN(const uint64_t inner, Height(child.child[1 - high]));
  if (inner > outer) {
    ASSIGN_OR_RETURN(node.child[high],
                     Rotate(child_id, child, child, 1 - high));
  }
  return Rotate(id, node, before, high);
}

absl::StatusOr<ObjectId> AvlTree::Rotate(ObjectId id, Node node,
                                         const Node& before, int side) {
  const ObjectId up_id = node.child[side];
  ASSIGN_OR_RETURN(const Node up_before, Get(up_id));
  Node up = up_before;
  node.child[side] = up.child[1 - side];
  RETURN_IF_ERROR(UpdateHeight(&node));
  RETURN_IF_ERROR(Change(id, before, node));
  up.child[1 - side] = id;
  RETURN_IF_ERROR(UpdateHeight(&up));
  RETURN_IF_ERROR(Change(up_id, up_before, up));
  return up_id;
}

absl::StatusOr<uint64_t> AvlTree::Height(ObjectId id) {
  if (id == 0) return 0;
  ASSIGN_OR_RETURN(const Node node, Get(id));
  return node.height;
}

absl::Status AvlTree::UpdateHeight(Node* node) {
  ASSIGN_OR_RETURN(const uint64_t lesser, Height(node->child[0]));
  ASSIGN_OR_RETURN(const uint64_t greater, Height(node->child[1]));
  node->height = 1 + std::max(lesser, greater);
  return absl::OkStatus();
}

absl::StatusOr<AvlTree::Checked> AvlTree::CheckUnder(ObjectId id, uint64_t low,
                                                     uint64_t high) {
  if (id == 0) return Checked();
  ASSIGN_OR_RETURN(const Node node, Get(id));
  if (node.key < low || node.key > high) {
    return absl::DataLossError("keys are not in order");
  }
  ASSIGN_OR_RETURN(const Checked lesser,
                   CheckUnder(node.child[0], low, node.key - 1));
  ASSIGN_OR_RETURN(const Checked greater,
                   CheckUnder(node.child[1], node.key + 1, high));
  const uint64_t most = std::max(lesser.height, greater.height);
  if (most - std::min(lesser.height, greater.height) > 1 ||
      node.height != most + 1) {
    return absl::DataLossError("heights are wrong");
  }
  return Checked{1 + lesser.nodes + greater.nodes, node.height};
}

}  // namespace kamino::bench::controller
