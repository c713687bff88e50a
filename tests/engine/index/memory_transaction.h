// Objects in plain memory, without a heap, locks or durability: for tests of
// the index that need a million of them, and count how many are read.
#ifndef KAMINO_TESTS_ENGINE_INDEX_MEMORY_TRANSACTION_H_
#define KAMINO_TESTS_ENGINE_INDEX_MEMORY_TRANSACTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Cannot be aborted. Ids are not used again.
class MemoryTransaction final : public Transaction {
 public:
  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override {
    ++reads_;
    Object* object = Find(id);
    if (object == nullptr) return absl::NotFoundError("no such object");
    return absl::MakeConstSpan(object->bytes.get(), object->size);
  }
  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                   uint32_t length) override {
    ++writes_;
    Object* object = Find(id);
    if (object == nullptr) return absl::NotFoundError("no such object");
    if (offset > object->size || length > object->size - offset) {
      return absl::OutOfRangeError("not within the object");
    }
    return object->bytes.get() + offset;
  }
  absl::StatusOr<ObjectId> Alloc(uint32_t size) override {
    objects_.push_back({std::make_unique<std::byte[]>(size), size});
    return objects_.size() * kStep;
  }
  absl::Status Free(ObjectId id) override {
    Object* object = Find(id);
    if (object == nullptr) return absl::NotFoundError("no such object");
    object->bytes.reset();
    return absl::OkStatus();
  }
  using Transaction::Commit;
  absl::Status Commit(const CommitOptions&) override {
    return absl::OkStatus();
  }
  absl::Status Abort() override {
    return absl::UnimplementedError("nothing is kept to go back to");
  }
  const WriteSet& write_set() const override { return none_; }
  std::optional<ObjectId> conflict() const override { return std::nullopt; }
  void ForgetConflict() override {}

  // Calls so far.
  uint64_t reads() const { return reads_; }
  uint64_t writes() const { return writes_; }

 private:
  static constexpr ObjectId kStep = 64;
  struct Object {
    std::unique_ptr<std::byte[]> bytes;  // null: freed
    uint32_t size = 0;
  };

  Object* Find(ObjectId id) {
    const size_t at = id / kStep;
    if (at == 0 || id % kStep != 0 || at > objects_.size()) return nullptr;
    Object* object = &objects_[at - 1];
    return object->bytes == nullptr ? nullptr : object;
  }

  std::vector<Object> objects_;
  uint64_t reads_ = 0;
  uint64_t writes_ = 0;
  const WriteSet none_;
};

}  // namespace kamino::engine

#endif  // KAMINO_TESTS_ENGINE_INDEX_MEMORY_TRANSACTION_H_
