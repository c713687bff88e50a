#include "transport/shm/unmap.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace kamino::transport {
namespace {

// Peers that come and go faster wait for it.
constexpr size_t kMostWaiting = 64;

class Unmapper {
 public:
  // Never destroyed: links may end as late as they like.
  static Unmapper& Get() {
    static Unmapper* const unmapper = new Unmapper();
    return *unmapper;
  }

  void Add(void* base, size_t bytes) {
    {
      absl::MutexLock lock(&mutex_);
      if (waiting_.size() < kMostWaiting) {
        waiting_.push_back({base, bytes});
        return;
      }
    }
    ::munmap(base, bytes);
  }

 private:
  using Mapping = std::pair<void*, size_t>;

  Unmapper() {
    // Signals are for other threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { Run(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[noreturn]] void Run() {
    pthread_setname_np(pthread_self(), "unmapper");
    while (true) {
      std::vector<Mapping> mappings;
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(
            +[](std::vector<Mapping>* waiting) { return !waiting->empty(); },
            &waiting_));
        mappings.swap(waiting_);
      }
      for (const auto& [base, bytes] : mappings) ::munmap(base, bytes);
    }
  }

  absl::Mutex mutex_;
  std::vector<Mapping> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void UnmapSoon(void* base, size_t bytes) { Unmapper::Get().Add(base, bytes); }

}  // namespace kamino::transport
