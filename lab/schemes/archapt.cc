// Archapt's figures (sections 2 and 5): what logging and flushing cost, how
// often objects are used, and how many lines are flushed when there is more
// than the queue takes a cache to hold.
#include <time.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/engine/distribution.h"
#include "bench/engine/tpcc.h"
#include "bench/engine/workload.h"
#include "bench/engine/ycsb.h"
#include "bench/harness/clock.h"
#include "lab/schemes/observed_store.h"
#include "lab/schemes/part.h"
#include "lab/schemes/words.h"

namespace kamino::bench::schemes {
namespace {

constexpr uint64_t kBytes = 160u << 20;
constexpr uint64_t kSeed = 5;

// --- Figures 1 and 2.

struct Logged {
  const char* store;
  const char* series;
  bool drops;  // what libpmemobj flushes
};

absl::StatusOr<Spent> TimeOfOverwrites(Words& words, int transactions) {
  Random random(kSeed);
  const uint64_t begin = Ticks();
  for (int i = 0; i < transactions; ++i) {
    const auto transaction = words.store().Begin(kPatient);
    RETURN_IF_ERROR(
        words.StoreWhole(*transaction, random.Below(words.objects()), random));
    RETURN_IF_ERROR(transaction->Commit());
  }
  const double nanos = NanosSince(begin);
  // Completes the work that Archapt has put off; the other schemes have none.
  words.store().Quiesce();
  return Spent{nanos / transactions,
               (NanosSince(begin) - nanos) / transactions};
}

// libpmemobj without its flushes is compared with libpmemobj with them, both
// through the shim library; all others are measured without that library.
std::vector<Logged> LoggedOnes(const Setting& setting) {
  std::vector<Logged> subjects = {{"undo-object", "undo-object", false},
                                  {"cached", "cached", false}};
  if (HasPmemShim()) {
    subjects.push_back({"undo-object", "undo-object, nothing flushed", true});
    return subjects;
  }
  subjects.push_back({"undo-own", "undo-own", false});
  subjects.push_back({"unsafe", "unsafe", false});
  if (setting.Among("archapt")) {
    subjects.push_back({"archapt", "archapt", false});
  }
  return subjects;
}

absl::Status LoggingOfSize(Setting& setting, uint32_t size) {
  const std::vector<Logged> subjects = LoggedOnes(setting);
  std::vector<std::unique_ptr<Words>> all;
  for (const Logged& subject : subjects) {
    ASSIGN_OR_RETURN(auto words, Words::Make(setting, subject.store, AsItIs(),
                                             kBytes, 8192, size));
    all.push_back(std::move(words));
  }
  const int transactions = setting.Scaled(20'000, 4000);
  const auto measure = [&](int subject) {
    if (subjects[subject].drops) DropPmemobjFlushes(true);
    auto nanos = TimeOfOverwrites(*all[subject], transactions);
    if (subjects[subject].drops) DropPmemobjFlushes(false);
    return nanos;
  };
  ASSIGN_OR_RETURN(
      const auto rounds,
      InTurnsOf<Spent>(static_cast<int>(all.size()), setting.rounds, measure));
  for (size_t i = 0; i < all.size(); ++i) {
    AddSpent(setting,
             {"archapt-1-2",
              subjects[i].series,
              AsItIs().name,
              "ns a transaction",
              static_cast<double>(size),
              {}},
             rounds[i]);
  }
  return absl::OkStatus();
}

// --- What checking costs.

double ProcessorNanos() {
  timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e9 +
         static_cast<double>(used.tv_nsec);
}

// Measures more objects than the queue holds, so that there are matrices, until
// all is durable, as another thread makes sums and writes them to the medium;
// the unchecked store writes none. Includes the time of all processors, as a
// thread of its own makes sums.
absl::Status CheckingOfSize(Setting& setting, uint32_t size) {
  const char* const stores[] = {"archapt", "archapt+unchecked"};
  const uint64_t data = setting.Scaled<uint64_t>(96u << 20, 32u << 20);
  const uint64_t objects = std::min<uint64_t>(data / size, 400'000);
  const uint64_t bytes = data + objects * 256 + (8u << 20);
  std::vector<std::unique_ptr<Words>> all;
  for (const char* store : stores) {
    ASSIGN_OR_RETURN(auto words, Words::Make(setting, store, AsItIs(), bytes,
                                             objects, size));
    all.push_back(std::move(words));
  }
  const int transactions = setting.Scaled(60'000, 8000);
  std::vector<std::vector<double>> used(all.size());
  const auto measure = [&](int subject) -> absl::StatusOr<double> {
    const uint64_t begin = Ticks();
    const double used_before = ProcessorNanos();
    RETURN_IF_ERROR(TimeOfOverwrites(*all[subject], transactions).status());
    used[subject].push_back((ProcessorNanos() - used_before) / transactions);
    return NanosSince(begin) / transactions;
  };
  ASSIGN_OR_RETURN(const auto rounds, InTurns(static_cast<int>(all.size()),
                                              setting.rounds, measure));
  for (size_t i = 0; i < all.size(); ++i) {
    setting.points->push_back({"archapt-sums", stores[i], AsItIs().name,
                               "ns a transaction", static_cast<double>(size),
                               rounds[i]});
  }
  for (std::vector<double>& one : used) one.erase(one.begin());  // the warm-up
  // The two of a round were measured one after the other.
  const auto add_share = [&](const char* measure, const auto& times) {
    std::vector<double> shares;
    for (size_t round = 0; round < times[0].size(); ++round) {
      shares.push_back(100 * (1 - times[1][round] / times[0][round]));
    }
    setting.points->push_back({"archapt-sums", "archapt", AsItIs().name,
                               measure, static_cast<double>(size),
                               std::move(shares)});
  };
  add_share("% of the time by checking", rounds);
  add_share("% of processors' time by checking", used);
  return absl::OkStatus();
}

// --- YCSB by one thread, over more than the queue holds.

absl::Status RunSome(Dataset& dataset, const Cell& cell, uint64_t seed,
                     uint64_t transactions) {
  const auto worker = dataset.MakeWorker(cell, 0, seed);
  for (uint64_t i = 0; i < transactions; ++i) {
    worker->Draw();
    RETURN_IF_ERROR(worker->Run());
  }
  return absl::OkStatus();
}

// C only reads: nothing of a line that it flushed could be new.
constexpr const char* kWriting[] = {"ycsb-a", "ycsb-b", "ycsb-d", "ycsb-e",
                                    "ycsb-f"};
constexpr const char* kAll[] = {"ycsb-a", "ycsb-b", "ycsb-c",
                                "ycsb-d", "ycsb-e", "ycsb-f"};

// Lines and drains of a transaction, in the middle of many: what is put off is
// in balance with what was put off before.
class FlushCounts {
 public:
  FlushCounts(Setting* setting, OpenedStore* opened, std::string store)
      : setting_(*setting), opened_(*opened), store_(std::move(store)) {}

  absl::Status Count(const std::string& workload, double size, uint64_t count,
                     absl::FunctionRef<absl::Status(uint64_t)> run) {
    RETURN_IF_ERROR(run(1));
    const engine::PmemCounts before = opened_.counts();
    const engine::PmemCounts beside_before = opened_.background_counts();
    const auto details_before = Details();
    RETURN_IF_ERROR(run(2));
    const engine::PmemCounts all = opened_.counts() - before;
    const engine::PmemCounts beside =
        opened_.background_counts() - beside_before;
    const auto details = Details();
    const uint64_t taken = opened_.store->bytes_used();
    opened_.store->Quiesce();
    const engine::PmemCounts in_the_end = opened_.counts() - before;
    if (opened_.details) AddSums(workload, size, taken);
    const auto add = [&](const std::string& measure, double value) {
      setting_.points->push_back({"archapt-9",
                                  absl::StrCat(store_, ", ", workload),
                                  kByCount,
                                  measure,
                                  size,
                                  {value / static_cast<double>(count)}});
    };
    add("lines", static_cast<double>(all.lines));
    add("drains", static_cast<double>(all.drains));
    add("lines beside", static_cast<double>(beside.lines));
    add("lines with what was left", static_cast<double>(in_the_end.lines));
    for (size_t i = 0; i < details.size() && i < details_before.size(); ++i) {
      add(details[i].first, details[i].second - details_before[i].second);
    }
    return absl::OkStatus();
  }

 private:
  // Bytes of sums on the medium. The store has none once it has flushed all
  // objects; `taken` is bytes_used while it had them.
  void AddSums(const std::string& workload, double size, uint64_t taken) {
    const uint64_t left = opened_.store->bytes_used();
    setting_.points->push_back(
        {"archapt-9",
         absl::StrCat(store_, ", ", workload),
         kByCount,
         "bytes of sums",
         size,
         {taken > left ? static_cast<double>(taken - left) : 0}});
  }

  std::vector<std::pair<std::string, double>> Details() const {
    return opened_.details ? opened_.details()
                           : std::vector<std::pair<std::string, double>>();
  }

  Setting& setting_;
  OpenedStore& opened_;
  const std::string store_;
};

absl::Status FlushesOfYcsb(Setting& setting, const std::string& store) {
  const auto suite = MakeYcsbSuite(Scale::kQuick);
  ASSIGN_OR_RETURN(auto opened, Open(setting, store, AsItIs(), suite->Bytes(),
                                     Watch::kCounts));
  const auto dataset = suite->MakeDataset(opened.store.get());
  RETURN_IF_ERROR(dataset->Load());
  opened.store->Quiesce();
  FlushCounts counts(&setting, &opened, store);
  for (const char* workload : kAll) {
    const Cell cell = CellOf(*suite, workload);
    const bool scans = std::string(workload) == "ycsb-e";
    const uint64_t full = scans ? 10'000 : 100'000;
    const uint64_t count = setting.quick ? full / 20 : full;
    RETURN_IF_ERROR(counts.Count(
        workload, kYcsbRecordBytes, count,
        [&](uint64_t seed) { return RunSome(*dataset, cell, seed, count); }));
    RETURN_IF_ERROR(dataset->Restore());
  }
  return absl::OkStatus();
}

// `zipfian`: as often as YCSB's records are used; else all alike.
absl::Status FlushesOfOverwrites(Setting& setting, const std::string& store,
                                 uint32_t size, bool zipfian) {
  // Several times what the queue takes a cache to hold.
  const uint64_t data = Words::LargeBytes(setting, size);
  const uint64_t objects = data / size;
  ASSIGN_OR_RETURN(
      const auto words,
      Words::Make(setting, store, AsItIs(), data + objects * 256 + (8u << 20),
                  objects, size, Watch::kCounts));
  OpenedStore& opened = words->opened();
  FlushCounts counts(&setting, &opened, store);
  const Zipfian ranks(objects, kYcsbTheta);
  const char* const workload = zipfian ? "overwrite, zipfian" : "overwrite";
  return counts.Count(workload, size, objects, [&](uint64_t seed) {
    Random random(seed);
    for (uint64_t i = 0; i < objects; ++i) {
      const uint64_t object =
          zipfian ? Scrambled(ranks, random) : random.Below(words->objects());
      const auto transaction = words->store().Begin(kPatient);
      RETURN_IF_ERROR(words->StoreWhole(*transaction, object, random));
      RETURN_IF_ERROR(transaction->Commit());
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status ArchaptLogging(Setting& setting) {
  for (const uint32_t size : {64, 256, 1024, 4096}) {
    RETURN_IF_ERROR(LoggingOfSize(setting, size));
  }
  return absl::OkStatus();
}

absl::Status ArchaptChecking(Setting& setting) {
  if (!setting.Among("archapt")) return absl::OkStatus();
  for (const uint32_t size : {64, 1024, 4096}) {
    RETURN_IF_ERROR(CheckingOfSize(setting, size));
  }
  return absl::OkStatus();
}

absl::Status ArchaptFlushes(Setting& setting) {
  std::vector<std::string> stores = {"undo-own", "unsafe"};
  if (setting.Among("archapt")) stores.push_back("archapt");
  // libpmemobj's are counted by the library, which all others do without.
  if (HasPmemShim()) stores = {"undo-object"};
  for (const std::string& store : stores) {
    setting.progress(absl::StrCat("archapt-9: ", store));
    RETURN_IF_ERROR(FlushesOfYcsb(setting, store));
    for (const uint32_t size :
         setting.Scaled<std::vector<uint32_t>>({256, 1024, 4096}, {1024})) {
      RETURN_IF_ERROR(
          FlushesOfOverwrites(setting, store, size, /*zipfian=*/false));
    }
    RETURN_IF_ERROR(FlushesOfOverwrites(setting, store, 1024,
                                        /*zipfian=*/true));
  }
  return absl::OkStatus();
}

// Whatever the scheme, it is the workload's.
absl::Status ArchaptReuse(Setting& setting) {
  const auto suite =
      MakeYcsbSuite(setting.quick ? Scale::kCount : Scale::kQuick);
  ASSIGN_OR_RETURN(auto opened,
                   Open(setting, "unsafe", AsItIs(), suite->Bytes()));
  ObservedStore observed(opened.store.get());
  const auto dataset = suite->MakeDataset(&observed);
  RETURN_IF_ERROR(dataset->Load());
  // As many objects of the size of a record as were made; the load does not
  // count as uses of them.
  const std::vector<engine::ObjectId> records =
      observed.ObjectsBetween(kYcsbRecordBytes, 2 * kYcsbRecordBytes);
  for (const char* workload : kAll) {
    observed.Forget();
    RETURN_IF_ERROR(
        RunSome(*dataset, CellOf(*suite, workload), 1, records.size()));
    std::vector<double> uses(4);
    for (const engine::ObjectId id : records) {
      ++uses[std::min<uint64_t>(observed.UsesOf(id), 3)];
    }
    for (size_t i = 0; i < uses.size(); ++i) {
      setting.points->push_back(
          {"archapt-3",
           workload,
           kByCount,
           "part of objects",
           static_cast<double>(i),
           {uses[i] / static_cast<double>(records.size())}});
    }
    RETURN_IF_ERROR(dataset->Restore());
  }
  return absl::OkStatus();
}

absl::Status ArchaptDirtiness(Setting& setting) {
  std::vector<std::string> stores = {"undo-own"};
  if (setting.Among("archapt")) stores.push_back("archapt");
  const auto ycsb = MakeYcsbSuite(Scale::kCount);
  const auto tpcc = MakeTpccSuite(Scale::kCount);
  uint64_t seed = 0;
  for (const std::string& store : stores) {
    for (const Suite* suite : {ycsb.get(), tpcc.get()}) {
      ASSIGN_OR_RETURN(auto opened, Open(setting, store, AsItIs(),
                                         suite->Bytes(), Watch::kDirtiness));
      const auto dataset = suite->MakeDataset(opened.store.get());
      RETURN_IF_ERROR(dataset->Load());
      std::vector<std::string> workloads = {"tpcc-mix"};
      if (suite == ycsb.get()) workloads.assign(kWriting, std::end(kWriting));
      for (const std::string& workload : workloads) {
        opened.store->Quiesce();
        const Dirtiness before = opened.dirtiness();
        const uint64_t count = suite == ycsb.get() ? 5000 : 400;
        // Another seed for each: the same one would store the same bytes again.
        RETURN_IF_ERROR(
            RunSome(*dataset, CellOf(*suite, workload), ++seed, count));
        opened.store->Quiesce();
        const Dirtiness after = opened.dirtiness();
        const Dirtiness during = {after.lines - before.lines,
                                  after.bytes - before.bytes};
        setting.points->push_back({"archapt-table-1",
                                   absl::StrCat(store, ", ", workload),
                                   kByCount,
                                   "part of a flushed line",
                                   0,
                                   {during.Average()}});
        RETURN_IF_ERROR(dataset->Restore());
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench::schemes
