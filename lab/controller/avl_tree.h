// An AVL tree of words over the transaction interface: small nodes, and an
// insert that changes a few of them all over.
#ifndef KAMINO_LAB_CONTROLLER_AVL_TREE_H_
#define KAMINO_LAB_CONTROLLER_AVL_TREE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/transaction.h"

namespace kamino::bench::controller {

// An AVL tree as seen by one transaction.
class AvlTree {
 public:
  // The first word of object `anchor` names the root; zero: there is none.
  AvlTree(engine::Transaction* transaction, engine::ObjectId anchor)
      : transaction_(*transaction), anchor_(anchor) {}

  // kAlreadyExists. Errors otherwise: the transaction's.
  absl::Status Insert(uint64_t key, uint64_t value);
  // kNotFound.
  absl::StatusOr<uint64_t> Find(uint64_t key);
  // kDataLoss: keys are not in order, or a node's children differ in height by
  // more than one, or that is not what the node says. Else the count of nodes.
  absl::StatusOr<uint64_t> Check();

 private:
  struct Node {
    uint64_t key;
    uint64_t value;
    uint64_t child[2];  // lesser, greater; 0: none
    uint64_t height;    // of a leaf: 1
  };
  struct Checked {
    uint64_t nodes = 0;
    uint64_t height = 0;
  };

  absl::StatusOr<Node> Get(engine::ObjectId id);
  // Stores the fields that differ from `before`.
  absl::Status Change(engine::ObjectId id, const Node& before,
                      const Node& after);
  absl::StatusOr<engine::ObjectId> New(uint64_t key, uint64_t value);
  // Both return the node that stands there afterwards.
  absl::StatusOr<engine::ObjectId> InsertUnder(engine::ObjectId id,
                                               uint64_t key, uint64_t value);
  absl::StatusOr<engine::ObjectId> Balance(engine::ObjectId id, Node node,
                                           const Node& before);
  // The child on that side takes the node's place.
  absl::StatusOr<engine::ObjectId> Rotate(engine::ObjectId id, Node node,
                                          const Node& before, int side);
  absl::StatusOr<uint64_t> Height(engine::ObjectId id);
  absl::Status UpdateHeight(Node* node);
  absl::StatusOr<Checked> CheckUnder(engine::ObjectId id, uint64_t low,
                                     uint64_t high);

  engine::Transaction& transaction_;
  const engine::ObjectId anchor_;
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_AVL_TREE_H_
