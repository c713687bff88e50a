// Finishes what threads leave behind that have committed and then do nothing,
// for programs that use a store without a chain: their copies are not durable,
// and their locks held, until somebody drains. (A node does it on its core
// thread.)
#ifndef KAMINO_ENGINE_KAMINO_BACKUP_APPLIER_H_
#define KAMINO_ENGINE_KAMINO_BACKUP_APPLIER_H_

#include <thread>

#include "absl/synchronization/notification.h"
#include "engine/kamino/kamino_store.h"

namespace kamino::engine {

class BackupApplier {
 public:
  // The store must outlive this.
  explicit BackupApplier(KaminoStore* store);
  // Leaves nothing behind itself.
  ~BackupApplier();
  BackupApplier(const BackupApplier&) = delete;
  BackupApplier& operator=(const BackupApplier&) = delete;

 private:
  void Run();

  KaminoStore* const store_;
  absl::Notification stopping_;
  std::thread thread_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_BACKUP_APPLIER_H_
