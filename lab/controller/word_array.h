// An array of words in a store: objects of 64 KiB, as an object may have no
// more than a MiB.
#ifndef KAMINO_LAB_CONTROLLER_WORD_ARRAY_H_
#define KAMINO_LAB_CONTROLLER_WORD_ARRAY_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "engine/transactional_store.h"
#include "lab/controller/tracing_store.h"

namespace kamino::bench::controller {

// For schemes that do more once a transaction has committed.
inline constexpr absl::Duration kLockWait = absl::Seconds(10);

class WordArray {
 public:
  static constexpr uint64_t kChunkWords = 8192;
  static constexpr uint32_t kChunkBytes = kChunkWords * 8;

  // Zeros, in transactions of its own.
  static absl::StatusOr<WordArray> Create(uint64_t words,
                                          engine::TransactionalStore* store) {
    WordArray array;
    for (uint64_t have = 0; have < words; have += kChunkWords) {
      const auto transaction = store->Begin(kLockWait);
      ASSIGN_OR_RETURN(const auto id, transaction->Alloc(kChunkBytes));
      RETURN_IF_ERROR(transaction->Commit());
      store->Quiesce();
      array.chunks_.push_back(id);
    }
    return array;
  }

  // The load is noted.
  absl::StatusOr<uint64_t> Load(uint64_t index, TracingStore* store,
                                engine::Transaction* transaction) const {
    ASSIGN_OR_RETURN(const auto bytes, transaction->Read(Chunk(index)));
    store->NoteLoad(Chunk(index), Offset(index), sizeof(uint64_t));
    uint64_t value;
    std::memcpy(&value, bytes.data() + Offset(index), sizeof(value));
    return value;
  }

  absl::Status Store(uint64_t index, uint64_t value,
                     engine::Transaction* transaction) const {
    ASSIGN_OR_RETURN(
        std::byte* const bytes,
        transaction->Write(Chunk(index), Offset(index), sizeof(value)));
    std::memcpy(bytes, &value, sizeof(value));
    return absl::OkStatus();
  }

 private:
  engine::ObjectId Chunk(uint64_t index) const {
    return chunks_[index / kChunkWords];
  }
  static uint32_t Offset(uint64_t index) {
    return static_cast<uint32_t>(index % kChunkWords * sizeof(uint64_t));
  }

  std::vector<engine::ObjectId> chunks_;
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_WORD_ARRAY_H_
