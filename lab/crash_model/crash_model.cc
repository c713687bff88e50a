#include "lab/crash_model/crash_model.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/engine/ycsb.h"

namespace kamino::bench::crash_model {
namespace {

using engine::ArchaptStore;
using engine::Heap;

// A transaction that writes calls the region some ten times, one that also
// advances many more times: a crash may be at any of these calls.
constexpr uint64_t kMostCallsToCrash = 64;
constexpr uint64_t kScanPart = 10;

absl::StatusOr<Cell> CellOf(const Suite& suite, char letter) {
  const std::string name = absl::StrCat("ycsb-", std::string(1, letter));
  for (const Cell& cell : suite.Cells()) {
    if (cell.workload == name && cell.threads == 1 &&
        cell.distribution != "uniform") {
      return cell;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no workload ", name));
}

size_t RegionBytes(const CrashModelOptions& options, const Suite& suite) {
  constexpr size_t kPage = 4096;
  // Objects, and a log that may be a quarter of all.
  const size_t log =
      std::min<size_t>(2 * options.archapt.queue_bytes, suite.Bytes() / 3);
  return (suite.Bytes() + log) / kPage * kPage + kPage;
}

}  // namespace

CrashModel::CrashModel(const CrashModelOptions& options)
    : options_(options),
      suite_(MakeYcsbSuite(options.scale, Lookups::kByTree)),
      random_(options.seed) {}

CrashModel::~CrashModel() {
  if (region_ != nullptr) region_->SetHook(nullptr);
}

absl::Status CrashModel::Open() {
  const size_t bytes = RegionBytes(options_, *suite_);
  region_ = std::make_unique<CachedRegion>(bytes, options_.cache);
  image_ = std::make_unique<engine::PlainRegion>(bytes);
  ASSIGN_OR_RETURN(
      heap_, Heap::CreateWithLog(region_.get(), engine::kArchaptName,
                                 ArchaptLogBytes(options_.archapt, bytes)));
  ASSIGN_OR_RETURN(store_, ArchaptStore::Open(options_.archapt, heap_.get()));
  watched_ = std::make_unique<WatchedStore>(store_.get(), region_.get());
  dataset_ = suite_->MakeDataset(watched_.get());
  return dataset_->Load();
}

absl::StatusOr<std::unique_ptr<CrashModel>> CrashModel::Make(
    const CrashModelOptions& options) {
  auto model = absl::WrapUnique(new CrashModel(options));
  RETURN_IF_ERROR(model->Open());
  model->region_->SetHook([m = model.get()] { m->CrashPoint(); });
  return model;
}

void CrashModel::CrashPoint() {
  if (calls_to_crash_ == 0 || --calls_to_crash_ > 0) return;
  if (absl::Status crashed = Crash(); status_.ok()) status_ = crashed;
}

absl::Status CrashModel::Crash() {
  region_->Crash(random_.Next(), image_->base());
  ++row_.crashes;
  ASSIGN_OR_RETURN(const CrashCounts counts,
                   Recover(image_.get(), options_.archapt,
                           {&watched_->oracle(), watched_->durable_sequence(),
                            watched_->last_sequence()}));
  row_.counts += counts;
  return absl::OkStatus();
}

absl::Status CrashModel::Transact(Worker& worker, uint64_t transactions) {
  for (uint64_t i = 0; i < transactions; ++i) {
    worker.Draw();
    RETURN_IF_ERROR(worker.Run());
    RETURN_IF_ERROR(status_);
  }
  row_.transactions += transactions;
  return absl::OkStatus();
}

absl::StatusOr<CrashRow> CrashModel::Run(char letter) {
  ASSIGN_OR_RETURN(const Cell cell, CellOf(*suite_, letter));
  const uint64_t part = MixOf(letter)[kYcsbScan] > 0 ? kScanPart : 1;
  const uint64_t apart = std::max<uint64_t>(2, options_.transactions / part);
  row_ = CrashRow();
  row_.workload = cell.workload;
  const auto worker = dataset_->MakeWorker(cell, 0, random_.Next());
  RETURN_IF_ERROR(Transact(*worker, options_.warm_up / part));
  const uint64_t matrices = store_->stats().matrices;
  for (int i = 0; i < options_.crashes; ++i) {
    const uint64_t before = random_.Below(apart);
    RETURN_IF_ERROR(Transact(*worker, before));
    row_.skipped_lines += store_->stats().skipped_lines;
    calls_to_crash_ = 1 + random_.Below(kMostCallsToCrash);
    RETURN_IF_ERROR(Transact(*worker, apart - before));
    if (calls_to_crash_ == 0) continue;
    // It has hardly called the region: then between two transactions.
    calls_to_crash_ = 0;
    RETURN_IF_ERROR(Crash());
  }
  row_.matrices = store_->stats().matrices - matrices;
  RETURN_IF_ERROR(dataset_->Restore());
  return row_;
}

}  // namespace kamino::bench::crash_model
