#include "bench/maps/rocksdb_map.h"

#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace kamino::bench {
namespace {

constexpr uint64_t kRecordOverhead = 64;
// The tables, those that a compaction writes, and the cache.
constexpr uint64_t kCopies = 3;
constexpr uint64_t kFileBytes = 512u << 20;

// Holds the writes of many slices: a compaction within a slice would be most of
// its time.
constexpr size_t kMemtableBytes = 256u << 20;

// The key's bytes, the highest first.
std::string KeyOf(uint64_t key) {
  const uint64_t highest_first = __builtin_bswap64(key);
  std::string bytes(sizeof(key), 0);
  std::memcpy(bytes.data(), &highest_first, sizeof(highest_first));
  return bytes;
}

absl::Status Checked(const rocksdb::Status& status, absl::string_view what) {
  if (status.ok()) return absl::OkStatus();
  if (status.IsNotFound()) return absl::NotFoundError("no such record");
  return absl::InternalError(
      absl::StrCat("RocksDB cannot ", what, ": ", status.ToString()));
}

class RocksdbMap final : public BenchMap {
 public:
  explicit RocksdbMap(uint32_t record_bytes) : record_bytes_(record_bytes) {
    write_.sync = true;
  }

  absl::Status Open(const std::string& path, uint64_t records) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = kMemtableBytes;
    options.allow_mmap_reads = true;
    options.compression = rocksdb::kNoCompression;
    options.OptimizeForPointLookup((records * record_bytes_ >> 20) +
                                   64);  // MiB of cache
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(options, path, &opened);
    database_.reset(opened);
    return Checked(status, absl::StrCat("open ", path));
  }

  absl::Status Insert(uint64_t key, absl::string_view record) override {
    rocksdb::WriteOptions unlogged;
    unlogged.disableWAL = true;
    return Checked(database_->Put(unlogged, KeyOf(key), Slice(record)),
                   "insert");
  }

  absl::Status Loaded() override {
    RETURN_IF_ERROR(
        Checked(database_->Flush(rocksdb::FlushOptions()), "flush"));
    return Checked(database_->CompactRange(rocksdb::CompactRangeOptions(),
                                           nullptr, nullptr),
                   "compact");
  }

  absl::Status Read(uint64_t key, char* out) override {
    RETURN_IF_ERROR(Find(key));
    std::memcpy(out, found_.data(), record_bytes_);
    return absl::OkStatus();
  }

  absl::Status Update(uint64_t key, uint32_t offset,
                      absl::string_view bytes) override {
    if (bytes.size() == record_bytes_) return Put(key, bytes);
    RETURN_IF_ERROR(Find(key));
    return PutWith(key, offset, bytes);
  }

  // No transaction: one thread writes.
  absl::Status Modify(uint64_t key, uint32_t offset, absl::string_view bytes,
                      char* out) override {
    RETURN_IF_ERROR(Read(key, out));
    return PutWith(key, offset, bytes);
  }

  uint64_t bytes_used() const override {
    uint64_t tables = 0;
    uint64_t memory = 0;
    database_->GetIntProperty("rocksdb.total-sst-files-size", &tables);
    database_->GetIntProperty("rocksdb.size-all-mem-tables", &memory);
    return tables + memory;
  }

 private:
  static rocksdb::Slice Slice(absl::string_view bytes) {
    return {bytes.data(), bytes.size()};
  }

  absl::Status Find(uint64_t key) {
    found_.Reset();
    return Checked(database_->Get(read_, database_->DefaultColumnFamily(),
                                  KeyOf(key), &found_),
                   "read");
  }

  absl::Status Put(uint64_t key, absl::string_view record) {
    return Checked(database_->Put(write_, KeyOf(key), Slice(record)), "write");
  }

  // The record found last, with `bytes` at `offset`.
  absl::Status PutWith(uint64_t key, uint32_t offset, absl::string_view bytes) {
    next_.assign(found_.data(), record_bytes_);
    std::memcpy(next_.data() + offset, bytes.data(), bytes.size());
    return Put(key, next_);
  }

  const uint32_t record_bytes_;
  std::unique_ptr<rocksdb::DB> database_;
  rocksdb::ReadOptions read_;
  rocksdb::WriteOptions write_;
  rocksdb::PinnableSlice found_;
  std::string next_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BenchMap>> MakeRocksdbMap(
    const std::string& path, uint64_t records, uint32_t record_bytes) {
  auto map = absl::make_unique<RocksdbMap>(record_bytes);
  RETURN_IF_ERROR(map->Open(path, records));
  return std::unique_ptr<BenchMap>(std::move(map));
}

uint64_t RocksdbMapBytes(uint64_t records, uint32_t record_bytes) {
  return kCopies * records * (record_bytes + kRecordOverhead) + kFileBytes;
}

}  // namespace kamino::bench
