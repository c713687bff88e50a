// Makes checkpoints of a RewindStore when they are due, for programs: until
// then the log grows, and the next recovery with it.
#ifndef KAMINO_ENGINE_BASELINES_REWIND_REWIND_CHECKPOINTER_H_
#define KAMINO_ENGINE_BASELINES_REWIND_REWIND_CHECKPOINTER_H_

#include <thread>

#include "absl/synchronization/notification.h"
#include "engine/baselines/rewind/rewind_store.h"

namespace kamino::engine {

class RewindCheckpointer {
 public:
  // The store must outlive this.
  explicit RewindCheckpointer(RewindStore* store);
  ~RewindCheckpointer();
  RewindCheckpointer(const RewindCheckpointer&) = delete;
  RewindCheckpointer& operator=(const RewindCheckpointer&) = delete;

 private:
  void Run();

  RewindStore* const store_;
  absl::Notification stopping_;
  std::thread thread_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_REWIND_REWIND_CHECKPOINTER_H_
