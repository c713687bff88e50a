#include "bench/engine/map_race.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "bench/engine/engine_map.h"
#include "bench/engine/measure.h"
#include "bench/engine/stores.h"
#include "bench/engine/ycsb.h"
#include "bench/harness/clock.h"
#include "bench/harness/statistics.h"
#include "bench/maps/rival_maps.h"

namespace kamino::bench {
namespace {

constexpr char kHot[] = "hot";
constexpr char kLarge[] = "large";
constexpr char kPmemobj[] = "pmemobj-";
constexpr char kHashes[] = "pmemobj-hashmap";

// The engine's stores that take part, all with the same B+tree.
constexpr const char* kStores[] = {"kamino-simple", "undo-own", "undo-object"};

// The part of a record that an update writes.
enum Part { kField, kWhole };

using Record = std::array<char, kYcsbRecordBytes>;

// Records that follow each other are not neighbours.
uint64_t KeyOf(uint64_t number) { return FnvHash(number) >> 1; }

// Draws the same operations for every map.
class MapWorker final : public Worker {
 public:
  MapWorker(BenchMap* map, const Zipfian* zipfian, const Cell& cell,
            uint64_t seed)
      : map_(*map),
        zipfian_(*zipfian),
        mix_(MixOf(static_cast<char>(cell.what))),
        part_(static_cast<Part>(cell.how)),
        random_(seed) {
    for (char& byte : record_) byte = static_cast<char>(random_.Next());
  }

  int Draw() override {
    kind_ = DrawKind(mix_, random_);
    key_ = KeyOf(Scrambled(zipfian_, random_));
    offset_ = part_ == kWhole
                  ? 0
                  : static_cast<uint32_t>(random_.Below(kYcsbFields)) *
                        kYcsbFieldBytes;
    if (kind_ != kYcsbRead) RefreshBytes();
    return kind_;
  }

  absl::Status Run() override {
    switch (kind_) {
      case kYcsbRead:
        return map_.Read(key_, out_.data());
      case kYcsbUpdate:
        return map_.Update(key_, offset_, bytes());
      default:
        return map_.Modify(key_, offset_, bytes(), out_.data());
    }
  }

 private:
  // Changes all words that are stored. One random number serves for all,
  // because drawing a number for each would take longer than some updates.
  void RefreshBytes() {
    using Word = uint32_t;
    static_assert(kYcsbFieldBytes % sizeof(Word) == 0);
    const Word step = static_cast<Word>(random_.Next()) | 1;
    for (uint32_t at = 0; at < length(); at += sizeof(Word)) {
      Word word;
      std::memcpy(&word, record_.data() + offset_ + at, sizeof(word));
      word += step;
      std::memcpy(record_.data() + offset_ + at, &word, sizeof(word));
    }
  }

  uint32_t length() const {
    return part_ == kWhole ? kYcsbRecordBytes : kYcsbFieldBytes;
  }
  absl::string_view bytes() const {
    return {record_.data() + offset_, length()};
  }

  BenchMap& map_;
  const Zipfian& zipfian_;
  const YcsbMix mix_;
  const Part part_;
  Random random_;
  YcsbKind kind_ = kYcsbRead;
  uint64_t key_ = 0;
  uint32_t offset_ = 0;
  Record record_;
  Record out_{};
};

class MapDataset final : public Dataset {
 public:
  MapDataset(BenchMap* map, const Zipfian* zipfian, uint64_t records)
      : map_(map), zipfian_(zipfian), records_(records) {}

  absl::Status Load() override {
    Random random(records_);
    Record record;
    for (uint64_t i = 0; i < records_; ++i) {
      for (size_t at = 0; at < record.size(); at += sizeof(uint64_t)) {
        const uint64_t fresh = random.Next();
        std::memcpy(record.data() + at, &fresh, sizeof(fresh));
      }
      RETURN_IF_ERROR(map_->Insert(KeyOf(i), {record.data(), record.size()}));
    }
    return map_->Loaded();
  }

  std::unique_ptr<Worker> MakeWorker(const Cell& cell, int,
                                     uint64_t seed) override {
    return absl::make_unique<MapWorker>(map_, zipfian_, cell, seed);
  }

 private:
  BenchMap* const map_;
  const Zipfian* const zipfian_;
  const uint64_t records_;
};

absl::StatusOr<std::unique_ptr<BenchMap>> MakeMap(const std::string& name,
                                                  const std::string& path,
                                                  uint64_t records) {
  const auto spec = StoreNamed(name);
  if (spec.ok()) return MakeEngineMap(*spec, path, records, kYcsbRecordBytes);
  return MakeRivalMap(name, path, records, kYcsbRecordBytes);
}

uint64_t MapFileBytes(const std::string& name, uint64_t records) {
  const auto spec = StoreNamed(name);
  if (!spec.ok()) return RivalMapBytes(name, records, kYcsbRecordBytes);
  return FileBytes(*spec, EngineMapBytes(records, kYcsbRecordBytes));
}

// A map in the race.
struct Runner {
  std::string name;
  std::unique_ptr<BenchMap> map;
  std::unique_ptr<MapDataset> dataset;
  Row row;  // of the present cell
  std::vector<double> p50, p99;
};

// The maps of one size.
class MapRace {
 public:
  MapRace(uint64_t records, PoolFolder* folder, const RaceOptions* options)
      : records_(records),
        folder_(*folder),
        options_(*options),
        zipfian_(records, kYcsbTheta) {}
  // Maps may open further files while they are used.
  ~MapRace() {
    runners_.clear();
    folder_.Unlink();
  }

  absl::Status Add(const std::string& name) {
    Runner runner;
    runner.name = name;
    ASSIGN_OR_RETURN(
        runner.map,
        MakeMap(name, absl::StrCat(folder_.path(), "/", name), records_));
    runner.dataset =
        absl::make_unique<MapDataset>(runner.map.get(), &zipfian_, records_);
    RETURN_IF_ERROR(runner.dataset->Load());
    runners_.push_back(std::move(runner));
    return absl::OkStatus();
  }

  absl::Status RunCell(const Cell& cell, std::vector<Row>* rows) {
    const absl::Duration warm_up = std::exchange(first_, false)
                                       ? options_.first_warm_up
                                       : options_.warm_up;
    for (Runner& runner : runners_) {
      runner.row = Row();
      runner.row.suite = "maps";
      runner.row.store.scheme = runner.name;
      runner.row.cell = cell;
      runner.p50.clear();
      runner.p99.clear();
      RETURN_IF_ERROR(MeasureSlice(runner, warm_up, 0).status());
    }
    for (int round = 0; round < options_.rounds; ++round) {
      // Another goes first each time.
      for (size_t i = 0; i < runners_.size(); ++i) {
        Runner& runner = runners_[(i + round) % runners_.size()];
        ASSIGN_OR_RETURN(const Slice slice,
                         MeasureSlice(runner, options_.slice, round + 1));
        runner.row.rounds.push_back(slice.PerSecond());
        Histogram all;
        for (const Histogram& kind : slice.ticks) all.Merge(kind);
        runner.p50.push_back(all.Quantile(0.5) * NanosPerTick());
        runner.p99.push_back(all.Quantile(0.99) * NanosPerTick());
      }
    }
    for (Runner& runner : runners_) {
      runner.row.p50_ns = Median(runner.p50);
      runner.row.p99_ns = Median(runner.p99);
      runner.row.bytes_storage = runner.map->bytes_used();
      rows->push_back(runner.row);
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Slice> MeasureSlice(Runner& runner, absl::Duration duration,
                                     int round) {
    auto slice =
        RunSlice([&runner] { runner.map->Quiesce(); }, *runner.dataset,
                 runner.row.cell, kYcsbKinds, round, {duration, ~uint64_t{0}});
    if (slice.ok()) return slice;
    return Annotate(slice.status(),
                    absl::StrCat(runner.name, ": ", runner.row.cell.Name()));
  }

  const uint64_t records_;
  PoolFolder& folder_;
  const RaceOptions& options_;
  const Zipfian zipfian_;
  bool first_ = true;  // no cell was run yet
  std::vector<Runner> runners_;
};

// The map of `rows` whose geometric mean of speeds is the highest, of those
// whose name `matches`. All of them have the same cells.
template <typename Matches>
std::optional<std::string> Fastest(const std::vector<Row>& rows,
                                   Matches matches) {
  std::map<std::string, double> logs;
  for (const Row& row : rows) {
    if (row.suite != "maps" || row.cell.distribution != kHot ||
        !matches(row.store.scheme)) {
      continue;
    }
    logs[row.store.scheme] += std::log(Median(row.rounds));
  }
  const auto fastest = std::max_element(
      logs.begin(), logs.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  if (fastest == logs.end()) return std::nullopt;
  return fastest->first;
}

std::vector<std::string> ForLarge(const std::vector<std::string>& maps,
                                  const std::vector<Row>& rows) {
  const auto hashes = [](const std::string& name) {
    return absl::StartsWith(name, kHashes);
  };
  const auto is_ordered = [&hashes](const std::string& name) {
    return absl::StartsWith(name, kPmemobj) && !hashes(name);
  };
  const auto fastest_hash = Fastest(rows, hashes);
  const auto fastest_ordered = Fastest(rows, is_ordered);
  std::vector<std::string> chosen;
  for (const std::string& name : maps) {
    if (hashes(name) && fastest_hash.value_or(name) != name) continue;
    if (is_ordered(name) && fastest_ordered.value_or(name) != name) continue;
    chosen.push_back(name);
  }
  return chosen;
}

absl::Status CheckRoom(uint64_t records, const std::vector<std::string>& maps,
                       const PoolFolder& folder) {
  uint64_t needed = 0;
  for (const std::string& name : maps) {
    needed += MapFileBytes(name, records);
  }
  const uint64_t room = folder.FreeBytes();
  if (needed <= room) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "%d maps of %d records take up to %.1f GiB in %s, which has %.1f; "
      "--quick takes less, --only and --schemes leave things out",
      maps.size(), records, static_cast<double>(needed) / (1u << 30),
      folder.path(), static_cast<double>(room) / (1u << 30)));
}

}  // namespace

MapScale MapScaleOf(Scale scale) {
  switch (scale) {
    case Scale::kQuick:
      return {10'000, 50'000};
    case Scale::kCount:
      return {500, 1'000};
    case Scale::kFull:
      break;
  }
  const int64_t cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const uint64_t bytes = cache > 0 ? static_cast<uint64_t>(cache) : 32u << 20;
  return {10'000, 4 * bytes / kYcsbRecordBytes};
}

std::vector<std::string> AllMaps() {
  std::vector<std::string> names(std::begin(kStores), std::end(kStores));
  for (std::string& name : RivalMaps()) names.push_back(std::move(name));
  return names;
}

std::vector<Cell> MapCells() {
  std::vector<Cell> cells;
  for (const char* size : {kHot, kLarge}) {
    for (const auto& [part, name] :
         {std::pair{kField, ""}, {kWhole, "-whole"}}) {
      for (const char letter : {'a', 'b', 'c', 'f'}) {
        if (letter == 'c' && part == kWhole) continue;  // it only reads
        cells.push_back({absl::StrCat("ycsb-", std::string(1, letter), name),
                         size, 1, kYcsbRecordBytes, letter, part});
      }
    }
  }
  return cells;
}

absl::Status RunMaps(const MapScale& scale,
                     const std::vector<std::string>& maps, PoolFolder& folder,
                     const RaceOptions& options,
                     const std::function<void(const std::string&)>& progress,
                     std::vector<Row>* rows) {
  for (const char* size : {kHot, kLarge}) {
    std::vector<Cell> cells;
    for (const Cell& cell : MapCells()) {
      if (cell.distribution == size &&
          options.wanted(absl::StrCat("maps/", cell.Name()))) {
        cells.push_back(cell);
      }
    }
    if (cells.empty() || maps.empty()) continue;
    const bool large = size == std::string(kLarge);
    const std::vector<std::string> chosen =
        large ? ForLarge(maps, *rows) : maps;
    const uint64_t records = large ? scale.large_records : scale.hot_records;
    RETURN_IF_ERROR(CheckRoom(records, chosen, folder));
    MapRace race(records, &folder, &options);
    for (const std::string& name : chosen) {
      progress(absl::StrCat("maps: filling ", name, ", ", size));
      if (absl::Status added = race.Add(name); !added.ok()) {
        return Annotate(added, name);
      }
    }
    for (const Cell& cell : cells) {
      progress(absl::StrCat("maps: ", cell.Name()));
      RETURN_IF_ERROR(race.RunCell(cell, rows));
    }
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench
