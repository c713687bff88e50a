// Gives memory that was freed back to the kernel: the allocator keeps what a
// burst took, else, until the process ends.
#ifndef KAMINO_BASE_MEMORY_TRIMMER_H_
#define KAMINO_BASE_MEMORY_TRIMMER_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace kamino {

// On a thread of its own: it takes a millisecond for some ten megabytes, and
// holds up only who allocates meanwhile. Thread-safe.
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
