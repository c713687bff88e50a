// Brings the backup up to date in a thread of its own, for programs that use a
// store without a chain. (A node does it on its core thread.)
#ifndef KAMINO_ENGINE_KAMINO_BACKUP_APPLIER_H_
#define KAMINO_ENGINE_KAMINO_BACKUP_APPLIER_H_

#include <atomic>
#include <thread>

#include "engine/kamino/kamino_store.h"

namespace kamino::engine {

class BackupApplier {
 public:
  // The store must outlive this; nobody else may call its ApplyBackup.
  explicit BackupApplier(KaminoStore* store);
  // Finishes what is committed, then stops.
  ~BackupApplier();
  BackupApplier(const BackupApplier&) = delete;
  BackupApplier& operator=(const BackupApplier&) = delete;

 private:
  void Run();

  KaminoStore* const store_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_BACKUP_APPLIER_H_
