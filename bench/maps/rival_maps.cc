#include "bench/maps/rival_maps.h"

#include "bench/maps/lmdb_map.h"
#include "bench/maps/pmemobj_map.h"
#include "bench/maps/rocksdb_map.h"

namespace kamino::bench {
namespace {

constexpr char kLmdb[] = "lmdb";
constexpr char kRocksdb[] = "rocksdb";

}  // namespace

std::vector<std::string> RivalMaps() {
  std::vector<std::string> names = PmemobjMaps();
  names.push_back(kLmdb);
  names.push_back(kRocksdb);
  return names;
}

absl::StatusOr<std::unique_ptr<BenchMap>> MakeRivalMap(const std::string& name,
                                                       const std::string& path,
                                                       uint64_t records,
                                                       uint32_t record_bytes) {
  if (name == kLmdb) return MakeLmdbMap(path, records, record_bytes);
  if (name == kRocksdb) return MakeRocksdbMap(path, records, record_bytes);
  return MakePmemobjMap(name, path, records, record_bytes);
}

uint64_t RivalMapBytes(const std::string& name, uint64_t records,
                       uint32_t record_bytes) {
  if (name == kLmdb) return LmdbMapBytes(records, record_bytes);
  if (name == kRocksdb) return RocksdbMapBytes(records, record_bytes);
  return PmemobjMapBytes(records, record_bytes);
}

}  // namespace kamino::bench
