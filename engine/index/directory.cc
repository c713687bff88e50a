#include "engine/index/directory.h"

#include <immintrin.h>
#include <sodium.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "engine/explore.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

constexpr size_t kMostBytes = size_t{1} << 40;

size_t PowerOfTwoFrom(size_t least) {
  size_t power = 1;
  while (power < least) power *= 2;
  return power;
}

// Zeros, in pages that the system provides on first use. A look-up touches one
// line at random, so large pages save a walk of the page tables.
void* MapZeros(size_t bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  PCHECK(mapped != MAP_FAILED)
      << "cannot map a directory of " << bytes << " bytes";
  madvise(mapped, bytes, MADV_HUGEPAGE);  // a hint
  return mapped;
}

}  // namespace

void Directory::Unmap::operator()(Bucket* buckets) const {
  munmap(buckets, bytes);
}

Directory::Directory(size_t bytes)
    : buckets_count_(
          PowerOfTwoFrom(std::clamp(bytes, sizeof(Bucket), kMostBytes)) /
          sizeof(Bucket)),
      buckets_(static_cast<Bucket*>(MapZeros(this->bytes())),
               Unmap{this->bytes()}) {
  static_assert(crypto_shorthash_siphashx24_KEYBYTES == kSecretBytes);
  CHECK_GE(sodium_init(), 0) << "libsodium cannot be initialized";
  randombytes_buf(secret_.data(), secret_.size());
}

Directory::Hash Directory::HashOf(absl::string_view key) const {
  unsigned char bytes[crypto_shorthash_siphashx24_BYTES];
  crypto_shorthash_siphashx24(
      bytes, reinterpret_cast<const unsigned char*>(key.data()), key.size(),
      secret_.data());
  Hash hash;
  static_assert(sizeof(hash) == sizeof(bytes));
  std::memcpy(&hash, bytes, sizeof(hash));
  return hash;
}

bool Directory::Matches(const Bucket::Entry& entry, const Hash& hash) {
  return entry.low.load(std::memory_order_relaxed) == hash.low &&
         entry.high.load(std::memory_order_relaxed) == hash.high &&
         entry.record.load(std::memory_order_relaxed) != kNullObject;
}

std::optional<Directory::Found> Directory::Find(const Hash& hash) const {
  const Bucket& bucket = BucketOf(hash);
  const uint64_t version = bucket.version.load(std::memory_order_acquire);
  if (version % 2 != 0) return std::nullopt;  // the tree knows as well
  for (const Bucket::Entry& entry : bucket.entries) {
    if (!Matches(entry, hash)) continue;
    const Found found = {entry.record.load(std::memory_order_relaxed), hash,
                         version};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (bucket.version.load(std::memory_order_relaxed) != version) break;
    return found;
  }
  return std::nullopt;
}

bool Directory::StillValid(const Found& found) const {
  const Bucket& bucket = BucketOf(found.hash);
  if (bucket.version.load(std::memory_order_acquire) == found.version) {
    return true;
  }
  // Another key of the bucket may have changed.
  const std::optional<Found> now = Find(found.hash);
  return now.has_value() && now->record == found.record;
}

uint64_t Directory::Lock(Bucket& bucket) {
  constexpr int kSpins = 200;  // then the holder is likely preempted
  for (int tries = 0;; ++tries) {
    uint64_t version = bucket.version.load(std::memory_order_relaxed);
    if (version % 2 == 0 &&
        bucket.version.compare_exchange_weak(version, version + 1,
                                             std::memory_order_acquire)) {
      // No entry may change before readers can see that the version is odd.
      std::atomic_thread_fence(std::memory_order_release);
      return version + 1;
    }
    if (tries < kSpins) {
      _mm_pause();
    } else {
      YieldProcessor();
    }
  }
}

void Directory::Unlock(Bucket& bucket, uint64_t locked) {
  bucket.version.store(locked + 1, std::memory_order_release);
}

void Directory::Add(const Hash& hash, ObjectId record) {
  Bucket& bucket = BucketOf(hash);
  const uint64_t locked = Lock(bucket);
  // The keys of a full bucket are replaced in turns.
  Bucket::Entry* place = &bucket.entries[locked / 2 % kEntries];
  for (Bucket::Entry& entry : bucket.entries) {
    if (entry.record.load(std::memory_order_relaxed) == kNullObject) {
      place = &entry;
    }
  }
  for (Bucket::Entry& entry : bucket.entries) {
    if (Matches(entry, hash)) place = &entry;
  }
  place->high.store(hash.high, std::memory_order_relaxed);
  place->low.store(hash.low, std::memory_order_relaxed);
  place->record.store(record, std::memory_order_relaxed);
  Unlock(bucket, locked);
}

void Directory::Remove(const Hash& hash) {
  Bucket& bucket = BucketOf(hash);
  const uint64_t locked = Lock(bucket);
  for (Bucket::Entry& entry : bucket.entries) {
    if (Matches(entry, hash)) {
      entry.record.store(kNullObject, std::memory_order_relaxed);
    }
  }
  Unlock(bucket, locked);
}

}  // namespace kamino::engine
