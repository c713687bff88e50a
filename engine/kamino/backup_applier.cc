#include "engine/kamino/backup_applier.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace kamino::engine {
namespace {

constexpr size_t kStep = 64;
// How long stopping may take when nothing is committed.
constexpr absl::Duration kWait = absl::Milliseconds(10);

}  // namespace

BackupApplier::BackupApplier(KaminoStore* store)
    : store_(store), thread_([this] { Run(); }) {}

BackupApplier::~BackupApplier() {
  stopping_ = true;
  thread_.join();
}

void BackupApplier::Run() {
  while (!stopping_) {
    if (!store_->AwaitCommitted(absl::Now() + kWait)) continue;
    store_->ApplyBackup(kStep);
  }
  while (store_->ApplyBackup(kStep) > 0) {
  }
}

}  // namespace kamino::engine
