#include "client/forks.h"

#include <pthread.h>

#include <atomic>

namespace kamino::client {
namespace {

// Cheaper than getpid(), which is a system call.
std::atomic<uint64_t> forks{0};

}  // namespace

uint64_t Forks() {
  [[maybe_unused]] static const int counts = pthread_atfork(
      nullptr, nullptr, +[] { forks.fetch_add(1, std::memory_order_relaxed); });
  return forks.load(std::memory_order_relaxed);
}

}  // namespace kamino::client
