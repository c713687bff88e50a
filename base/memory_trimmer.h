// Returns freed memory to the kernel. Otherwise the allocator keeps the peak of
// a burst until the process ends.
#ifndef KAMINO_BASE_MEMORY_TRIMMER_H_
#define KAMINO_BASE_MEMORY_TRIMMER_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace kamino {

// Runs on its own thread, because it takes about a millisecond per ten
// megabytes, during which only allocations wait. Thread-safe.
class MemoryTrimmer {
 public:
  MemoryTrimmer();
  ~MemoryTrimmer();
  MemoryTrimmer(const MemoryTrimmer&) = delete;
  MemoryTrimmer& operator=(const MemoryTrimmer&) = delete;

  // Returns at once.
  void Ask();

 private:
  void Run();

  absl::Mutex mutex_;
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kamino

#endif  // KAMINO_BASE_MEMORY_TRIMMER_H_
