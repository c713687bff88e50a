// A table of words in a store, in objects of one size: what the papers'
// microbenchmarks store to.
#ifndef KAMINO_LAB_SCHEMES_WORDS_H_
#define KAMINO_LAB_SCHEMES_WORDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/engine/distribution.h"
#include "lab/schemes/part.h"

namespace kamino::bench::schemes {

// Not thread-safe, but what store() is.
class Words {
 public:
  // A store with so many objects of `size` bytes each.
  static absl::StatusOr<std::unique_ptr<Words>> Make(
      const Setting& setting, const std::string& store, const Memory& memory,
      uint64_t bytes, uint64_t objects, uint32_t size,
      Watch watch = Watch::kNothing);

  // Ten times what Archapt's queue takes a cache to hold, whatever this
  // machine's holds; in the quick scale four times, of objects of 1 KiB and
  // more.
  static uint64_t LargeBytes(const Setting& setting, uint32_t size);
  // With objects of `size` bytes each, so many bytes together.
  static absl::StatusOr<std::unique_ptr<Words>> MakeLarge(
      const Setting& setting, const std::string& store, uint32_t size,
      Watch watch = Watch::kNothing);

  engine::TransactionalStore& store() { return *opened_.store; }
  OpenedStore& opened() { return opened_; }
  const std::string& name() const { return name_; }
  uint64_t objects() const { return ids_.size(); }
  engine::ObjectId id(uint64_t object) const { return ids_[object]; }

  // A new value to a random word of the object.
  absl::Status Store(engine::Transaction& transaction, uint64_t object,
                     Random& random) const;
  // New bytes to all of the object.
  absl::Status StoreWhole(engine::Transaction& transaction, uint64_t object,
                          Random& random) const;
  // Stores to `count` random objects, which nearly always lie in different
  // lines. With `declares`, the caller names all of them before it stores.
  absl::Status StoreScattered(engine::Transaction& transaction, int count,
                              Random& random, bool declares = false) const;

 private:
  Words(std::string name, OpenedStore opened, uint32_t size)
      : name_(std::move(name)), opened_(std::move(opened)), size_(size) {}

  const std::string name_;
  OpenedStore opened_;
  const uint32_t size_;
  std::vector<engine::ObjectId> ids_;
  mutable std::vector<uint64_t> content_;
  mutable std::vector<engine::Intent> intents_;
};

}  // namespace kamino::bench::schemes

#endif  // KAMINO_LAB_SCHEMES_WORDS_H_
