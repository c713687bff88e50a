#include "engine/baselines/pmemobj_store.h"

#include <libpmemobj.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/pmemobj_transaction.h"
#include "engine/pmem/file_error.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

constexpr char kLayout[] = "kamino-baseline";
constexpr size_t kRootBytes = 256;
// Offsets of objects are multiples of it.
constexpr uint64_t kGranule = 16;
// libpmemobj's logs: 1,024 lanes of 3 KiB at the beginning of a pool.
constexpr uint64_t kLaneBytes = 1024 * 3072;
constexpr uint64_t kObjectHeaderBytes = 16;

// libpmemobj maps and reads even an empty file, and blocks on a pipe until a
// writer opens it.
absl::Status CheckFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return FileError(errno, "look at", path);
  RETURN_IF_ERROR(CheckKind(path, info.st_mode));
  if (S_ISREG(info.st_mode) && info.st_size == 0) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is empty"));
  }
  return absl::OkStatus();
}

}  // namespace

PmemobjStore::PmemobjStore(pmemobjpool* pool, UndoUnit unit,
                           uint64_t pool_bytes)
    : pool_(pool), unit_(unit), pool_bytes_(pool_bytes) {}

PmemobjStore::~PmemobjStore() { pmemobj_close(pool_); }

absl::StatusOr<std::unique_ptr<PmemobjStore>> PmemobjStore::Create(
    const std::string& path, size_t bytes, UndoUnit unit) {
  if (bytes < PMEMOBJ_MIN_POOL) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a pool of ", bytes, " bytes: at least ", PMEMOBJ_MIN_POOL));
  }
  PMEMobjpool* pool = pmemobj_create(path.c_str(), kLayout, bytes, 0600);
  if (pool == nullptr) {
    return FileError(errno, "make", path, pmemobj_errormsg());
  }
  auto store = Load(pool, unit, path);
  std::error_code ignored;
  if (!store.ok()) std::filesystem::remove(path, ignored);
  return store;
}

absl::StatusOr<std::unique_ptr<PmemobjStore>> PmemobjStore::Open(
    const std::string& path, UndoUnit unit) {
  RETURN_IF_ERROR(CheckFile(path));
  PMEMobjpool* pool = pmemobj_open(path.c_str(), kLayout);
  if (pool == nullptr) {
    return FileError(errno, "open", path, pmemobj_errormsg());
  }
  return Load(pool, unit, path);
}

absl::StatusOr<std::unique_ptr<PmemobjStore>> PmemobjStore::Load(
    pmemobjpool* pool, UndoUnit unit, const std::string& path) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (error) {
    pmemobj_close(pool);
    return absl::FailedPreconditionError(
        absl::StrCat("cannot look at ", path, ": ", error.message()));
  }
  auto store = absl::WrapUnique(new PmemobjStore(pool, unit, bytes));
  RETURN_IF_ERROR(store->FindObjects());
  return store;
}

absl::Status PmemobjStore::FindObjects() {
  const PMEMoid root = pmemobj_root(pool_, sizeof(Prefix) + kRootBytes);
  if (OID_IS_NULL(root)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no root object: ", pmemobj_errormsg()));
  }
  pool_uuid_ = root.pool_uuid_lo;
  base_ = static_cast<std::byte*>(pmemobj_direct(root)) - root.off;
  std::random_device random;
  tag_ = uint64_t{random()} << 32 | random();
  // Those that are gone keep a tag of before.
  root_ = MakePrefix(root.off);
  SetLive(root_, true);
  for (PMEMoid oid = pmemobj_first(pool_); !OID_IS_NULL(oid);
       oid = pmemobj_next(oid)) {
    SetLive(MakePrefix(oid.off), true);
  }
  return absl::OkStatus();
}

absl::string_view PmemobjStore::scheme() const {
  return unit_ == UndoUnit::kObject ? "undo-object" : "undo-range";
}

std::unique_ptr<Transaction> PmemobjStore::Begin(absl::Duration lock_wait) {
  return absl::make_unique<PmemobjTransaction>(this, lock_wait);
}

uint64_t PmemobjStore::bytes_used() const {
  return bytes_live_.load(std::memory_order_relaxed) + kLaneBytes;
}

ObjectId PmemobjStore::MakePrefix(uint64_t offset) {
  const ObjectId id = offset + sizeof(Prefix);
  *PrefixOf(id) = {
      pmemobj_alloc_usable_size({pool_uuid_, offset}) - sizeof(Prefix), 0};
  return id;
}

bool PmemobjStore::IsLive(ObjectId id) const {
  if (id % kGranule != 0 || id < sizeof(Prefix) || id >= pool_bytes_) {
    return false;
  }
  return __atomic_load_n(&PrefixOf(id)->tag, __ATOMIC_ACQUIRE) == (tag_ ^ id);
}

void PmemobjStore::SetLive(ObjectId id, bool live) {
  Prefix* const prefix = PrefixOf(id);
  const uint64_t bytes = prefix->size + sizeof(Prefix) + kObjectHeaderBytes;
  __atomic_store_n(&prefix->tag, live ? tag_ ^ id : 0, __ATOMIC_RELEASE);
  if (live) {
    bytes_live_.fetch_add(bytes, std::memory_order_relaxed);
  } else {
    bytes_live_.fetch_sub(bytes, std::memory_order_relaxed);
  }
}

}  // namespace kamino::engine
