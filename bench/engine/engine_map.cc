#include "bench/engine/engine_map.h"

#include <endian.h>

#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "bench/engine/stores.h"
#include "bench/engine/workload.h"
#include "bench/engine/ycsb.h"
#include "engine/index/directory.h"
#include "engine/index/key_value.h"

namespace kamino::bench {
namespace {

using engine::BTree;
using engine::KeyValue;
using engine::ObjectId;
using engine::Transaction;

// A record's header, its key and its part of a page that is half full.
constexpr uint64_t kRecordOverhead = 280;
constexpr uint64_t kTreeBytes = 16u << 20;

// Holds a number as a key of eight bytes, in the order of numbers.
class Key {
 public:
  explicit Key(uint64_t number) {
    const uint64_t ordered = htobe64(number);
    std::memcpy(bytes_, &ordered, sizeof(bytes_));
  }
  operator absl::string_view() const { return {bytes_, sizeof(bytes_)}; }

 private:
  char bytes_[sizeof(uint64_t)];
};

class EngineMap final : public BenchMap {
 public:
  EngineMap(OpenedStore opened, uint64_t records, uint32_t record_bytes)
      : opened_(std::move(opened)),
        record_bytes_(record_bytes),
        directory_(DirectoryBytes(records)) {}

  absl::Status CreateTree() {
    return InTransaction([this](Transaction& transaction) {
      const auto root = BTree::Create(transaction);
      if (root.ok()) tree_ = *root;
      return root.status();
    });
  }

  absl::Status Insert(uint64_t key, absl::string_view record) override {
    return InTransaction([&](Transaction& transaction) {
      return Keys(&transaction).Put(Key(key), record, ++version_);
    });
  }

  absl::Status Loaded() override {
    Quiesce();
    return absl::OkStatus();
  }

  absl::Status Read(uint64_t key, char* out) override {
    return InTransaction([&](Transaction& transaction) {
      KeyValue records = Keys(&transaction);
      return Read(records, Key(key), out);
    });
  }

  absl::Status Update(uint64_t key, uint32_t offset,
                      absl::string_view bytes) override {
    return InTransaction([&](Transaction& transaction) {
      KeyValue records = Keys(&transaction);
      return Write(records, Key(key), offset, bytes);
    });
  }

  absl::Status Modify(uint64_t key, uint32_t offset, absl::string_view bytes,
                      char* out) override {
    return InTransaction([&](Transaction& transaction) {
      KeyValue records = Keys(&transaction);
      const Key at(key);
      RETURN_IF_ERROR(Read(records, at, out));
      return Write(records, at, offset, bytes);
    });
  }

  void Quiesce() override { opened_.store->Quiesce(); }
  uint64_t bytes_used() const override {
    return opened_.store->bytes_used() + directory_.bytes();
  }

 private:
  KeyValue Keys(Transaction* transaction) {
    KeyValue keys(transaction, tree_);
    keys.UseDirectory(&directory_);
    return keys;
  }

  template <typename Body>
  absl::Status InTransaction(Body body) {
    return Transact(*opened_.store, &retries_, body);
  }

  absl::Status Write(KeyValue& records, absl::string_view key, uint32_t offset,
                     absl::string_view bytes) {
    ++version_;
    if (bytes.size() == record_bytes_) {
      return records.Put(key, bytes, version_);
    }
    return records.Patch(key, offset, bytes, version_);
  }
  static absl::Status Read(KeyValue& records, absl::string_view key,
                           char* out) {
    ASSIGN_OR_RETURN(const auto entry, records.Get(key));
    std::memcpy(out, entry.value.data(), entry.value.size());
    return absl::OkStatus();
  }

  const OpenedStore opened_;
  const uint32_t record_bytes_;
  engine::Directory directory_;
  ObjectId tree_ = engine::kNullObject;
  uint64_t version_ = 0;
  uint64_t retries_ = 0;
};

}  // namespace

uint64_t EngineMapBytes(uint64_t records, uint32_t record_bytes) {
  return records * (record_bytes + kRecordOverhead) + kTreeBytes;
}

absl::StatusOr<std::unique_ptr<BenchMap>> MakeEngineMap(const StoreSpec& spec,
                                                        const std::string& path,
                                                        uint64_t records,
                                                        uint32_t record_bytes) {
  ASSIGN_OR_RETURN(
      OpenedStore opened,
      OpenForBench(spec, path, EngineMapBytes(records, record_bytes),
                   Watch::kNothing));
  auto map =
      absl::make_unique<EngineMap>(std::move(opened), records, record_bytes);
  RETURN_IF_ERROR(map->CreateTree());
  return std::unique_ptr<BenchMap>(std::move(map));
}

}  // namespace kamino::bench
