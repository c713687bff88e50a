#include "lab/controller/recording.h"

#include <memory>
#include <random>
#include <string>
#include <unordered_set>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "engine/index/btree.h"
#include "engine/index/key_value.h"
#include "lab/controller/avl_tree.h"
#include "lab/controller/tracing_store.h"
#include "lab/controller/word_array.h"

namespace kamino::bench::controller {
namespace {

using engine::ObjectId;
using engine::Transaction;
using engine::TransactionalStore;

// A container that takes inserts. Use one for each store.
class Target {
 public:
  virtual ~Target() = default;
  virtual absl::Status Create(int most) = 0;
  virtual absl::Status Insert(uint64_t key, Transaction* transaction) = 0;
};

class BTreeTarget final : public Target {
 public:
  explicit BTreeTarget(TracingStore* store) : store_(*store) {}

  absl::Status Create(int) override {
    const auto transaction = store_.Begin(kLockWait);
    ASSIGN_OR_RETURN(root_, engine::BTree::Create(*transaction));
    return transaction->Commit();
  }
  absl::Status Insert(uint64_t key, Transaction* transaction) override {
    return engine::KeyValue(transaction, root_)
        .Put(absl::StrFormat("%016x", key), "8 bytes.", ++version_);
  }

 private:
  TracingStore& store_;
  ObjectId root_ = 0;
  uint64_t version_ = 0;
};

class AvlTarget final : public Target {
 public:
  explicit AvlTarget(TracingStore* store) : anchor_(store->root()) {}

  absl::Status Create(int) override { return absl::OkStatus(); }
  absl::Status Insert(uint64_t key, Transaction* transaction) override {
    return AvlTree(transaction, anchor_).Insert(key, key);
  }

 private:
  const ObjectId anchor_;
};

// Two words to an entry: the key, which is not zero, and a value.
class HashTarget final : public Target {
 public:
  explicit HashTarget(TracingStore* store) : store_(*store) {}

  absl::Status Create(int most) override {
    while (entries_ < 2 * static_cast<uint64_t>(most)) entries_ *= 2;
    ASSIGN_OR_RETURN(words_, WordArray::Create(2 * entries_, &store_));
    return absl::OkStatus();
  }
  absl::Status Insert(uint64_t key, Transaction* transaction) override {
    // Keys are random: they are their own hashes.
    for (uint64_t at = key % entries_;; at = (at + 1) % entries_) {
      ASSIGN_OR_RETURN(const uint64_t found,
                       words_.Load(2 * at, &store_, transaction));
      if (found != 0) continue;
      RETURN_IF_ERROR(words_.Store(2 * at + 1, key, transaction));
      return words_.Store(2 * at, key, transaction);
    }
  }

 private:
  TracingStore& store_;
  WordArray words_;
  uint64_t entries_ = 1;
};

std::unique_ptr<Target> MakeTarget(Container container, TracingStore* store) {
  switch (container) {
    case Container::kBTree:
      return std::make_unique<BTreeTarget>(store);
    case Container::kAvl:
      return std::make_unique<AvlTarget>(store);
    case Container::kHash:
      break;
  }
  return std::make_unique<HashTarget>(store);
}

// Different ones, none of them zero.
class Keys {
 public:
  explicit Keys(uint64_t seed) : random_(seed) {}
  uint64_t Next() {
    for (;;) {
      const uint64_t key = random_();
      if (key != 0 && given_.insert(key).second) return key;
    }
  }

 private:
  std::mt19937_64 random_;
  std::unordered_set<uint64_t> given_;
};

absl::Status InsertWrap(int inserts, TracingStore* store, Keys* keys,
                        Target* target) {
  const auto transaction = store->Begin(kLockWait);
  for (int i = 0; i < inserts; ++i) {
    RETURN_IF_ERROR(target->Insert(keys->Next(), transaction.get()));
  }
  RETURN_IF_ERROR(transaction->Commit());
  store->Quiesce();
  return absl::OkStatus();
}

}  // namespace

absl::string_view ContainerName(Container container) {
  switch (container) {
    case Container::kBTree:
      return "b+tree";
    case Container::kAvl:
      return "avl";
    case Container::kHash:
      break;
  }
  return "hash";
}

absl::StatusOr<Trace> RecordInserts(Container container, const Inserts& inserts,
                                    TransactionalStore* store) {
  TracingOptions options;
  // The table itself notes which words it reads.
  if (container == Container::kHash) options.read_bytes = 0;
  TracingStore tracing(store, options);
  const auto target = MakeTarget(container, &tracing);
  RETURN_IF_ERROR(
      target->Create(inserts.before + inserts.wraps * inserts.inserts));
  Keys keys(inserts.seed);
  for (int i = 0; i < inserts.before; ++i) {
    RETURN_IF_ERROR(InsertWrap(1, &tracing, &keys, target.get()));
  }
  tracing.TakeTrace();
  for (int i = 0; i < inserts.wraps; ++i) {
    RETURN_IF_ERROR(InsertWrap(inserts.inserts, &tracing, &keys, target.get()));
  }
  return tracing.TakeTrace();
}

}  // namespace kamino::bench::controller
