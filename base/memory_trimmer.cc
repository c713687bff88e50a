#include "base/memory_trimmer.h"

#include <malloc.h>
#include <pthread.h>

namespace kamino {

MemoryTrimmer::MemoryTrimmer() : thread_([this] { Run(); }) {}

MemoryTrimmer::~MemoryTrimmer() {
  {
    absl::MutexLock lock(&mutex_);
    ends_ = true;
  }
  thread_.join();
}

void MemoryTrimmer::Ask() {
  absl::MutexLock lock(&mutex_);
  asked_ = true;
}

void MemoryTrimmer::Run() {
  pthread_setname_np(pthread_self(), "trimmer");
  const auto awaited = [this] {
    mutex_.AssertReaderHeld();
    return asked_ || ends_;
  };
  while (true) {
    {
      absl::MutexLock lock(&mutex_, absl::Condition(&awaited));
      if (ends_) return;
      asked_ = false;
    }
    ::malloc_trim(0);
  }
}

}  // namespace kamino
