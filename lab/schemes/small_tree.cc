#include "lab/schemes/small_tree.h"

#include <algorithm>

#include "absl/memory/memory.h"
#include "base/status_macros.h"
#include "bench/engine/workload.h"

namespace kamino::bench::schemes {
namespace {

using engine::BTree;
using engine::KeyValue;
using engine::Transaction;

// A record's object and its part of a page, in bytes, with room.
constexpr uint64_t kFootprint = 512;
// Enough for a log of 16 MiB, and for what is inserted.
constexpr uint64_t kLeastBytes = 250u << 20;
constexpr uint64_t kLoadBatch = 16;

// Eight bytes that are spread over all keys.
std::string KeyOf(uint64_t number) {
  const uint64_t hash = FnvHash(number);
  std::string key;
  for (int shift = 56; shift >= 0; shift -= 8) {
    key.push_back(static_cast<char>(hash >> shift));
  }
  return key;
}

std::string ValueOf(uint64_t number) {
  std::string value(kSmallRecordBytes, 'v');
  const std::string key = KeyOf(number);
  std::copy(key.begin(), key.end(), value.begin());
  return value;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SmallTree>> SmallTree::Make(
    const Setting& setting, const std::string& store, const Memory& memory,
    uint64_t records) {
  ASSIGN_OR_RETURN(auto opened,
                   Open(setting, store, memory,
                        std::max(kLeastBytes, records * kFootprint)));
  auto tree =
      absl::WrapUnique(new SmallTree(store, std::move(opened), records));
  if (absl::Status loaded = tree->Load(); !loaded.ok()) {
    return Annotate(loaded, store);
  }
  return tree;
}

absl::Status SmallTree::Load() {
  uint64_t retries = 0;
  absl::Status made = Transact(store(), &retries, [&](Transaction& one) {
    ASSIGN_OR_RETURN(root_, BTree::Create(one));
    return absl::OkStatus();
  });
  if (!made.ok()) return made;
  for (; next_ < records_;) {
    const uint64_t end = std::min(next_ + kLoadBatch, records_);
    RETURN_IF_ERROR(Transact(store(), &retries, [&](Transaction& one) {
      KeyValue tree(&one, root_);
      for (uint64_t i = next_; i < end; ++i) {
        RETURN_IF_ERROR(tree.Put(KeyOf(i), ValueOf(i), 1));
      }
      return absl::OkStatus();
    }));
    next_ = end;
  }
  store().Quiesce();
  return absl::OkStatus();
}

absl::Status SmallTree::LookUp(Transaction& transaction, Random& random) {
  return KeyValue(&transaction, root_)
      .Get(KeyOf(random.Below(records_)))
      .status();
}

absl::Status SmallTree::Insert(Transaction& transaction) {
  const uint64_t number = next_++;
  RETURN_IF_ERROR(
      KeyValue(&transaction, root_).Put(KeyOf(number), ValueOf(number), 1));
  inserted_.push_back(number);
  return absl::OkStatus();
}

absl::Status SmallTree::Delete(Transaction& transaction) {
  const uint64_t number = inserted_.front();
  inserted_.pop_front();
  return KeyValue(&transaction, root_).Delete(KeyOf(number), 1);
}

absl::Status SmallTree::Operate(int operations, double updates,
                                Random& random) {
  const auto transaction = store().Begin(kPatient);
  for (int i = 0; i < operations; ++i) {
    if (random.Fraction() >= updates) {
      RETURN_IF_ERROR(LookUp(*transaction, random));
    } else if (inserted_.empty() || random.Below(2) == 0) {
      RETURN_IF_ERROR(Insert(*transaction));
    } else {
      RETURN_IF_ERROR(Delete(*transaction));
    }
  }
  return transaction->Commit();
}

absl::Status SmallTree::Restore() {
  uint64_t retries = 0;
  while (!inserted_.empty()) {
    const size_t some = std::min<size_t>(inserted_.size(), kLoadBatch);
    RETURN_IF_ERROR(Transact(store(), &retries, [&](Transaction& one) {
      KeyValue tree(&one, root_);
      for (size_t i = 0; i < some; ++i) {
        RETURN_IF_ERROR(tree.Delete(KeyOf(inserted_[i]), 1));
      }
      return absl::OkStatus();
    }));
    inserted_.erase(inserted_.begin(), inserted_.begin() + some);
  }
  store().Quiesce();
  return absl::OkStatus();
}

}  // namespace kamino::bench::schemes
