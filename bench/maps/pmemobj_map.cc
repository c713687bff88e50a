#include "bench/maps/pmemobj_map.h"

#include <libpmemobj.h>

#include <algorithm>
#include <cstring>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"

extern "C" {
#include "hashmap/hashmap.h"
#include "map/map.h"
#include "map/map_btree.h"
#include "map/map_ctree.h"
#include "map/map_hashmap_atomic.h"
#include "map/map_hashmap_rp.h"
#include "map/map_hashmap_tx.h"
#include "map/map_rbtree.h"
#include "map/map_skiplist.h"
}

namespace kamino::bench {
namespace {

constexpr uint64_t kValueType = 2000;  // a type key of libpmemobj
constexpr uint64_t kOverhead = 512;    // of a record, all maps' nodes included
constexpr uint64_t kPoolBytes = 64u << 20;

struct Kind {
  const char* name;
  const map_ops* ops;
  bool hashes;
};

const std::vector<Kind>& Kinds() {
  static const auto* const kinds = new std::vector<Kind>{
      {"pmemobj-btree", MAP_BTREE, false},
      {"pmemobj-rbtree", MAP_RBTREE, false},
      {"pmemobj-ctree", MAP_CTREE, false},
      {"pmemobj-skiplist", MAP_SKIPLIST, false},
      {"pmemobj-hashmap-tx", MAP_HASHMAP_TX, true},
      {"pmemobj-hashmap-atomic", MAP_HASHMAP_ATOMIC, true},
      {"pmemobj-hashmap-rp", MAP_HASHMAP_RP, true},
  };
  return *kinds;
}

struct Root {
  PMEMoid map;
};

absl::Status LastError(absl::string_view what) {
  return absl::InternalError(
      absl::StrCat("libpmemobj cannot ", what, ": ", pmemobj_errormsg()));
}

class PmemobjMap final : public BenchMap {
 public:
  PmemobjMap(PMEMobjpool* pool, const Kind& kind, uint32_t record_bytes)
      : pool_(pool),
        context_(map_ctx_init(kind.ops, pool)),
        record_bytes_(record_bytes) {}
  ~PmemobjMap() override {
    map_ctx_free(context_);
    pmemobj_close(pool_);
  }

  absl::Status Create(uint64_t records, bool hashes) {
    const PMEMoid root_id = pmemobj_root(pool_, sizeof(Root));
    if (OID_IS_NULL(root_id)) return LastError("make a root");
    auto* const root = static_cast<Root*>(pmemobj_direct(root_id));
    auto* const place = reinterpret_cast<TOID(struct map)*>(&root->map);
    hashmap_args arguments = {};
    if (map_create(context_, place, hashes ? &arguments : nullptr) != 0) {
      return LastError("make a map");
    }
    map_ = *place;
    // Else it grows by itself, in transactions of the whole table.
    if (hashes) map_cmd(context_, map_, HASHMAP_CMD_REBUILD, records);
    return absl::OkStatus();
  }

  absl::Status Insert(uint64_t key, absl::string_view record) override {
    PMEMoid value;
    CHECK_EQ(record.size(), record_bytes_);
    const auto fill = [](PMEMobjpool* pool, void* to, void* from) {
      const auto* const bytes = static_cast<const absl::string_view*>(from);
      pmemobj_memcpy_persist(pool, to, bytes->data(), bytes->size());
      return 0;
    };
    if (pmemobj_alloc(pool_, &value, record.size(), kValueType, fill,
                      &record) != 0) {
      return LastError("allocate a value");
    }
    if (map_insert(context_, map_, key, value) != 0) {
      return LastError("insert a record");
    }
    return absl::OkStatus();
  }

  absl::Status Read(uint64_t key, char* out) override {
    ASSIGN_OR_RETURN(const char* const value, Find(key));
    std::memcpy(out, value, record_bytes_);
    return absl::OkStatus();
  }

  absl::Status Update(uint64_t key, uint32_t offset,
                      absl::string_view bytes) override {
    ASSIGN_OR_RETURN(char* const value, Find(key));
    return Store(value + offset, bytes);
  }

  absl::Status Modify(uint64_t key, uint32_t offset, absl::string_view bytes,
                      char* out) override {
    ASSIGN_OR_RETURN(char* const value, Find(key));
    std::memcpy(out, value, record_bytes_);
    return Store(value + offset, bytes);
  }

  uint64_t bytes_used() const override {
    unsigned long long used = 0;
    pmemobj_ctl_get(pool_, "stats.heap.curr_allocated", &used);
    return used;
  }

 private:
  absl::StatusOr<char*> Find(uint64_t key) {
    const PMEMoid value = map_get(context_, map_, key);
    if (OID_IS_NULL(value)) {
      return absl::NotFoundError(absl::StrCat("no record ", key));
    }
    return static_cast<char*>(pmemobj_direct(value));
  }

  // Without the library's macros, which jump over C++ objects.
  absl::Status Store(char* to, absl::string_view bytes) {
    if (pmemobj_tx_begin(pool_, nullptr, TX_PARAM_NONE) != 0 ||
        pmemobj_tx_add_range_direct(to, bytes.size()) != 0) {
      pmemobj_tx_end();
      return LastError("add a range");
    }
    std::memcpy(to, bytes.data(), bytes.size());
    pmemobj_tx_commit();
    return pmemobj_tx_end() == 0 ? absl::OkStatus() : LastError("commit");
  }

  PMEMobjpool* const pool_;
  map_ctx* const context_;
  const uint32_t record_bytes_;
  TOID(struct map) map_ = {OID_NULL};
};

}  // namespace

std::vector<std::string> PmemobjMaps() {
  std::vector<std::string> names;
  for (const Kind& kind : Kinds()) names.push_back(kind.name);
  return names;
}

absl::StatusOr<std::unique_ptr<BenchMap>> MakePmemobjMap(
    absl::string_view name, const std::string& path, uint64_t records,
    uint32_t record_bytes) {
  const auto kind =
      std::find_if(Kinds().begin(), Kinds().end(),
                   [name](const Kind& one) { return one.name == name; });
  CHECK(kind != Kinds().end()) << name;
  PMEMobjpool* const pool = pmemobj_create(
      path.c_str(), "bench_maps", PmemobjMapBytes(records, record_bytes), 0600);
  if (pool == nullptr) return LastError(absl::StrCat("make ", path));
  int on = 1;
  pmemobj_ctl_set(pool, "stats.enabled", &on);
  auto map = absl::make_unique<PmemobjMap>(pool, *kind, record_bytes);
  RETURN_IF_ERROR(map->Create(records, kind->hashes));
  return std::unique_ptr<BenchMap>(std::move(map));
}

uint64_t PmemobjMapBytes(uint64_t records, uint32_t record_bytes) {
  return records * (record_bytes + kOverhead) + kPoolBytes;
}

}  // namespace kamino::bench
