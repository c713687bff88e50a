// Maps keys to their records in volatile memory. A look-up of a present key
// takes a hash and one cache line instead of a walk through the B+tree.
//
// Keys are told apart by a 128-bit hash with a secret of this process
// (SipHash-2-4-128), which makes collisions infeasible to find; the directory
// does not hold keys. It takes a fixed number of bytes. It begins empty and
// learns from look-ups; a key may drop out at any time. Absence means nothing:
// only the tree knows which keys do not exist.
//
// An entry is not trusted by itself. A transaction that uses one holds the
// record's lock, and then asks whether the entry is still valid (StillValid).
// That is enough, because a transaction that makes a key lead to another
// record, or to none,
//   1. removes the key's entry once it holds the lock of the leaf that it
//      changes, so that no reader of the leaf can add the entry again, and then
//   2. locks the former record exclusively, as it frees it.
// So an entry that is valid while a transaction holds the record's lock is the
// tree's, and remains so as long as it holds the lock. The scheme rolls an
// aborted change back, so no abort makes an entry wrong. A transaction adds an
// entry only while it holds the locks of leaf and record and has declared no
// change: what it has changed itself may be rolled back.
//
// A look-up by the directory locks the record and no page. A transaction that
// then needs the key's leaf takes the two locks in the other order than one
// that begins with the leaf: two such transactions may wait for each other
// until one gives up (store's lock_wait). A stale entry may lead to an object
// of another key, or to free space that another transaction allocates: the lock
// of that object is then held to the end, and a conflict is possible that the
// tree would not have had.
//
// Thread-safe. For one tree of one store, as long as the store is open: a tree
// that is changed by other means than a KeyValue with this directory needs a
// new one.
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

  // Takes `bytes`, rounded up to a power of two, 64 (one bucket of two entries)
  // to 2^40; the system provides a page of it when it is first used. A
  // directory of 64 bytes for each key lacks about one key in ten. The process
  // ends if the system has no address space for it.
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
  bool StillValid(const Found& found) const;

  // The key leads to that record: see above for what the caller holds. May
  // replace another key's entry.
  void Add(const Hash& hash, ObjectId record);
  // The key leads to another record from now on, or to none.
  void Remove(const Hash& hash);

  size_t bytes() const { return buckets_count_ * sizeof(Bucket); }

 private:
  static constexpr size_t kEntries = 2;
  static constexpr size_t kSecretBytes = 16;

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
    return buckets_[hash.high & (buckets_count_ - 1)];
  }
  static bool Matches(const Bucket::Entry& entry, const Hash& hash);
  // Returns the version to unlock with.
  static uint64_t Lock(Bucket& bucket);
  static void Unlock(Bucket& bucket, uint64_t locked);

  struct Unmap {
    size_t bytes = 0;
    void operator()(Bucket* buckets) const;
  };

  const size_t buckets_count_;  // a power of two
  const std::unique_ptr<Bucket[], Unmap> buckets_;
  std::array<unsigned char, kSecretBytes> secret_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_INDEX_DIRECTORY_H_
