// Archapt's figure 7: throughput where there is several times what its queue
// holds, and long after the first objects have left it.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/engine/ycsb.h"
#include "bench/harness/clock.h"
#include "lab/schemes/part.h"
#include "lab/schemes/words.h"

namespace kamino::bench::schemes {
namespace {

constexpr char kFigure[] = "archapt-7";
constexpr uint64_t kSeed = 11;

// All that is compared, on this machine's own memory and so without the library
// that watches libpmemobj.
std::vector<std::string> Stores(const Setting& setting) {
  std::vector<std::string> stores = {"undo-object", "undo-own", "unsafe"};
  if (setting.Among("archapt")) stores.push_back("archapt");
  return stores;
}

// Transactions a second, for a time in which the queue is turned over several
// times. What is put off stays so: none of it is done within that time that
// would not be done then anyway; but all of it with `home`.
absl::StatusOr<double> RateOf(const Setting& setting,
                              absl::FunctionRef<absl::Status()> transaction,
                              engine::TransactionalStore* home = nullptr) {
  constexpr int kBatch = 64;
  const double limit = setting.Scaled(500e6, 50e6);
  const uint64_t begin = Ticks();
  double done = 0, nanos = 0;
  while (nanos < limit) {
    for (int i = 0; i < kBatch; ++i) RETURN_IF_ERROR(transaction());
    done += kBatch;
    nanos = NanosSince(begin);
  }
  if (home != nullptr) home->Quiesce();
  return done * 1e9 / NanosSince(begin);
}

// The rates, and what it takes in the end to do all that was put off.
void AddPoints(Setting& setting, const std::string& store,
               const std::string& workload, double size,
               std::vector<double> rates, engine::TransactionalStore& quiet) {
  const std::string series = absl::StrCat(store, ", ", workload);
  setting.points->push_back({kFigure, series, AsItIs().name,
                             "transactions a second", size, std::move(rates)});
  const uint64_t begin = Ticks();
  quiet.Quiesce();
  setting.points->push_back({kFigure,
                             series,
                             AsItIs().name,
                             "ns to do what was put off, in the end",
                             size,
                             {NanosSince(begin)}});
}

absl::Status OverwritesOf(Setting& setting, uint32_t size) {
  struct Subject {
    std::unique_ptr<Words> words;
    Random random{kSeed};
  };
  std::vector<Subject> subjects;
  for (const std::string& store : Stores(setting)) {
    subjects.emplace_back();
    ASSIGN_OR_RETURN(subjects.back().words,
                     Words::MakeLarge(setting, store, size));
  }
  const auto overwrite = [&](Subject& subject) -> absl::Status {
    Words& words = *subject.words;
    const auto transaction = words.store().Begin(kPatient);
    RETURN_IF_ERROR(words.StoreWhole(
        *transaction, subject.random.Below(words.objects()), subject.random));
    return transaction->Commit();
  };
  // Until what leaves the queue is in balance with what enters it.
  for (Subject& subject : subjects) {
    for (uint64_t i = 0; i < subject.words->objects(); ++i) {
      RETURN_IF_ERROR(overwrite(subject));
    }
  }
  const auto measure = [&](int at) {
    return RateOf(setting, [&] { return overwrite(subjects[at]); });
  };
  ASSIGN_OR_RETURN(const auto rounds, InTurns(static_cast<int>(subjects.size()),
                                              setting.rounds, measure));
  for (size_t i = 0; i < subjects.size(); ++i) {
    AddPoints(setting, subjects[i].words->name(), "overwrite", size, rounds[i],
              subjects[i].words->store());
  }
  return absl::OkStatus();
}

absl::Status Ycsb(Setting& setting) {
  struct Subject {
    std::string store;
    OpenedStore opened;
    std::unique_ptr<Dataset> dataset;  // goes before the store
    uint64_t seed = kSeed;
  };
  const auto suite = MakeYcsbSuite(Scale::kQuick);  // 100,000 records
  std::vector<Subject> subjects;
  for (const std::string& store : Stores(setting)) {
    ASSIGN_OR_RETURN(auto opened,
                     Open(setting, store, AsItIs(), suite->Bytes()));
    auto dataset = suite->MakeDataset(opened.store.get());
    RETURN_IF_ERROR(dataset->Load());
    subjects.push_back({store, std::move(opened), std::move(dataset)});
  }
  for (const char* workload : setting.Scaled<std::vector<const char*>>(
           {"ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"},
           {"ycsb-a", "ycsb-c"})) {
    const Cell cell = CellOf(*suite, workload);
    // Where data grows it is made as large as it was after each turn; Restore
    // leaves nothing put off, which then counts as the turn's.
    const bool grows =
        MixOf(workload[std::strlen(workload) - 1])[kYcsbInsert] > 0;
    const auto measure = [&](int at) -> absl::StatusOr<double> {
      Subject& subject = subjects[at];
      const auto worker = subject.dataset->MakeWorker(cell, 0, ++subject.seed);
      const auto run = [&] {
        worker->Draw();
        return worker->Run();
      };
      const auto rate =
          RateOf(setting, run, grows ? subject.opened.store.get() : nullptr);
      if (grows) RETURN_IF_ERROR(subject.dataset->Restore());
      return rate;
    };
    ASSIGN_OR_RETURN(
        const auto rounds,
        InTurns(static_cast<int>(subjects.size()), setting.rounds, measure));
    for (size_t i = 0; i < subjects.size(); ++i) {
      AddPoints(setting, subjects[i].store, workload, kYcsbRecordBytes,
                rounds[i], *subjects[i].opened.store);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ArchaptSpeed(Setting& setting) {
  for (const uint32_t size :
       setting.Scaled<std::vector<uint32_t>>({1024, 4096}, {1024})) {
    RETURN_IF_ERROR(OverwritesOf(setting, size));
  }
  return Ycsb(setting);
}

}  // namespace kamino::bench::schemes
