// Advances an ArchaptStore, for programs: moves what transactions have accessed
// into its queue, and commits physically.
#ifndef KAMINO_ENGINE_BASELINES_ARCHAPT_ARCHAPT_MOVER_H_
#define KAMINO_ENGINE_BASELINES_ARCHAPT_ARCHAPT_MOVER_H_

#include <thread>

#include "absl/synchronization/notification.h"
#include "engine/baselines/archapt/archapt_store.h"

namespace kamino::engine {

class ArchaptMover {
 public:
  // The store must outlive this.
  explicit ArchaptMover(ArchaptStore* store);
  ~ArchaptMover();
  ArchaptMover(const ArchaptMover&) = delete;
  ArchaptMover& operator=(const ArchaptMover&) = delete;

 private:
  void Run();

  ArchaptStore* const store_;
  absl::Notification stopping_;
  std::thread thread_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_ARCHAPT_ARCHAPT_MOVER_H_
