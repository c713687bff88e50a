#include "engine/kamino/backup_applier.h"

#include "absl/time/time.h"

namespace kamino::engine {
namespace {

// How long an idle thread's locks may stay. Threads that commit again, or that
// want those locks, do not wait for it.
constexpr absl::Duration kPeriod = absl::Milliseconds(5);

}  // namespace

BackupApplier::BackupApplier(KaminoStore* store)
    : store_(store), thread_([this] { Run(); }) {}

BackupApplier::~BackupApplier() {
  stopping_.Notify();
  thread_.join();
}

void BackupApplier::Run() {
  while (!stopping_.WaitForNotificationWithTimeout(kPeriod)) {
    store_->Quiesce();
  }
  store_->Quiesce();
}

}  // namespace kamino::engine
