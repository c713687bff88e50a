// Where the records of keys are, in volatile memory: a look-up of a key that is
// there takes a hash and two cache lines instead of a walk through the B+tree.
//
// Keys are told apart by a 128-bit hash with a secret of this process
// (XXH3-128); the directory does not hold keys. It takes a fixed number of
// bytes. It begins empty and learns from reads; a key may drop out at any time.
// Absence means nothing: only the tree knows which keys do not exist.
//
// An entry is not trusted by itself. The reader of a record holds the record's
// lock, and then asks whether the entry still stands (Stands). That is enough,
// because a transaction that makes a key lead to another record, or to none,
//   1. removes the key's entry once it holds the lock of the leaf that it
//      changes, so that no reader of the leaf can add the entry again, and then
//   2. locks the former record exclusively, as it frees it.
// So an entry that stands while its record is locked is the tree's, and remains
// so as long as the lock is held. An abort makes no entry wrong. A reader adds
// an entry only while it holds the locks of leaf and record and its transaction
// has declared no change (Reader::reads_committed): what the transaction itself
// has changed may be rolled back.
//
// Thread-safe. For one tree of one store, over all of its life: a tree that is
// changed by other means than KeyValue needs Clear.
#ifndef KAMINO_ENGINE_INDEX_DIRECTORY_H_
#define KAMINO_ENGINE_INDEX_DIRECTORY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/strings/string_view.h"
#include "engine/transaction.h"

namespace kamino::engine {

class Directory {
 public:
  struct Hash {
    uint64_t high = 0;
    uint64_t low = 0;
  };

  // Takes `bytes`, rounded up to a power of two, at least 4,096. An entry takes
  // 32; a directory of twice as many bytes as its keys need seldom lacks one.
  explicit Directory(size_t bytes);

  Hash HashOf(absl::string_view key) const;

  // An entry, as it was when it was found.
  struct Found {
    ObjectId record = kNullObject;
    Hash hash;
    uint64_t version = 0;  // of its bucket
  };
  std::optional<Found> Find(const Hash& hash) const;

  // Whether the key still leads to that record. The caller holds the record's
  // lock.
  bool Stands(const Found& found) const;

  // The key leads to that record: see above for what the caller holds. May
  // replace another key's entry.
  void Add(const Hash& hash, ObjectId record);
  // The key leads to another record from now on, or to none.
  void Remove(const Hash& hash);

  // Removes all; no reader or transaction may be live.
  void Clear();

  size_t bytes() const { return buckets_count_ * sizeof(Bucket); }

  // For tests: all keys share this many buckets.
  void ShareBuckets(size_t count) { used_ = count; }

 private:
  static constexpr size_t kEntries = 2;

  // Readers take no lock: they read the entries between two equal, even
  // versions. A writer makes the version odd meanwhile.
  struct alignas(64) Bucket {
    std::atomic<uint64_t> version{0};
    struct Entry {
      std::atomic<uint64_t> high{0};
      std::atomic<uint64_t> low{0};
      std::atomic<ObjectId> record{kNullObject};  // none: the entry is free
    };
    std::array<Entry, kEntries> entries;
  };

  Bucket& BucketOf(const Hash& hash) const {
    return buckets_[hash.high % used_];
  }
  static bool Matches(const Bucket::Entry& entry, const Hash& hash);
  // Returns the version to unlock with.
  static uint64_t Lock(Bucket& bucket);
  static void Unlock(Bucket& bucket, uint64_t locked);

  const size_t buckets_count_;  // a power of two
  size_t used_;                 // of them
  const std::unique_ptr<Bucket[]> buckets_;
  const uint64_t secret_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_INDEX_DIRECTORY_H_
