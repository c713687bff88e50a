#include "bench/maps/lmdb_map.h"

#include <lmdb.h>

#include <cstring>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::bench {
namespace {

// Pages of 4 KiB hold three records, and are two thirds full after inserts in
// random order.
constexpr uint64_t kRecordOverhead = 1100;
constexpr uint64_t kFileBytes = 64u << 20;

// Records that one transaction of the load inserts.
constexpr uint64_t kLoadBatch = 1000;

absl::Status Checked(int code, absl::string_view what) {
  if (code == MDB_SUCCESS) return absl::OkStatus();
  if (code == MDB_NOTFOUND) return absl::NotFoundError("no such record");
  return absl::InternalError(
      absl::StrCat("LMDB cannot ", what, ": ", mdb_strerror(code)));
}

class LmdbMap final : public BenchMap {
 public:
  explicit LmdbMap(uint32_t record_bytes) : record_bytes_(record_bytes) {}
  ~LmdbMap() override {
    if (reader_ != nullptr) mdb_txn_abort(reader_);
    if (writer_ != nullptr) mdb_txn_abort(writer_);
    if (environment_ != nullptr) mdb_env_close(environment_);
  }

  absl::Status Open(const std::string& path, uint64_t bytes) {
    RETURN_IF_ERROR(Checked(mdb_env_create(&environment_), "begin"));
    RETURN_IF_ERROR(
        Checked(mdb_env_set_mapsize(environment_, bytes), "set its size"));
    RETURN_IF_ERROR(
        Checked(mdb_env_open(environment_, path.c_str(),
                             MDB_WRITEMAP | MDB_NOSUBDIR | MDB_NOTLS, 0600),
                absl::StrCat("open ", path)));
    RETURN_IF_ERROR(BeginWrite());
    return Checked(mdb_dbi_open(writer_, nullptr, MDB_INTEGERKEY, &table_),
                   "open the table");
  }

  absl::Status Insert(uint64_t key, absl::string_view record) override {
    if (writer_ == nullptr) RETURN_IF_ERROR(BeginWrite());
    RETURN_IF_ERROR(Put(key, record));
    if (++inserted_ % kLoadBatch != 0) return absl::OkStatus();
    return Commit();
  }

  absl::Status Loaded() override {
    if (writer_ != nullptr) RETURN_IF_ERROR(Commit());
    RETURN_IF_ERROR(
        Checked(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &reader_),
                "begin to read"));
    mdb_txn_reset(reader_);
    return absl::OkStatus();
  }

  absl::Status Read(uint64_t key, char* out) override {
    RETURN_IF_ERROR(Checked(mdb_txn_renew(reader_), "read"));
    const auto record = Get(reader_, key);
    if (record.ok()) std::memcpy(out, *record, record_bytes_);
    mdb_txn_reset(reader_);
    return record.status();
  }

  absl::Status Update(uint64_t key, uint32_t offset,
                      absl::string_view bytes) override {
    RETURN_IF_ERROR(BeginWrite());
    if (bytes.size() == record_bytes_) {
      RETURN_IF_ERROR(Put(key, bytes));
      return Commit();
    }
    RETURN_IF_ERROR(PutWith(key, offset, bytes, nullptr));
    return Commit();
  }

  absl::Status Modify(uint64_t key, uint32_t offset, absl::string_view bytes,
                      char* out) override {
    RETURN_IF_ERROR(BeginWrite());
    RETURN_IF_ERROR(PutWith(key, offset, bytes, out));
    return Commit();
  }

  uint64_t bytes_used() const override {
    MDB_envinfo info;
    MDB_stat stat;
    mdb_env_info(environment_, &info);
    mdb_env_stat(environment_, &stat);
    return (info.me_last_pgno + 1) * stat.ms_psize;
  }

 private:
  absl::Status BeginWrite() {
    return Checked(mdb_txn_begin(environment_, nullptr, 0, &writer_), "begin");
  }
  absl::Status Commit() {
    return Checked(mdb_txn_commit(std::exchange(writer_, nullptr)), "commit");
  }

  absl::StatusOr<const char*> Get(MDB_txn* transaction, uint64_t key) {
    MDB_val at = {sizeof(key), &key};
    MDB_val found;
    RETURN_IF_ERROR(Checked(mdb_get(transaction, table_, &at, &found), "read"));
    return static_cast<const char*>(found.mv_data);
  }

  // In room that LMDB reserves: Put copies the record once.
  absl::StatusOr<char*> Reserve(uint64_t key) {
    MDB_val at = {sizeof(key), &key};
    MDB_val room = {record_bytes_, nullptr};
    RETURN_IF_ERROR(
        Checked(mdb_put(writer_, table_, &at, &room, MDB_RESERVE), "write"));
    return static_cast<char*>(room.mv_data);
  }

  absl::Status Put(uint64_t key, absl::string_view record) {
    ASSIGN_OR_RETURN(char* const room, Reserve(key));
    std::memcpy(room, record.data(), record.size());
    return absl::OkStatus();
  }

  // Puts the present record with `bytes` at `offset`, and copies the present
  // one to `out` if that is not null.
  absl::Status PutWith(uint64_t key, uint32_t offset, absl::string_view bytes,
                       char* out) {
    ASSIGN_OR_RETURN(const char* const present, Get(writer_, key));
    if (out != nullptr) std::memcpy(out, present, record_bytes_);
    next_.assign(present, record_bytes_);
    std::memcpy(next_.data() + offset, bytes.data(), bytes.size());
    return Put(key, next_);
  }

  const uint32_t record_bytes_;
  MDB_env* environment_ = nullptr;
  MDB_dbi table_ = 0;
  MDB_txn* writer_ = nullptr;
  MDB_txn* reader_ = nullptr;
  uint64_t inserted_ = 0;
  std::string next_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BenchMap>> MakeLmdbMap(const std::string& path,
                                                      uint64_t records,
                                                      uint32_t record_bytes) {
  auto map = absl::make_unique<LmdbMap>(record_bytes);
  RETURN_IF_ERROR(map->Open(path, LmdbMapBytes(records, record_bytes)));
  return std::unique_ptr<BenchMap>(std::move(map));
}

uint64_t LmdbMapBytes(uint64_t records, uint32_t record_bytes) {
  return records * (record_bytes + kRecordOverhead) + kFileBytes;
}

}  // namespace kamino::bench
