// Threads of which one runs at a time, until it switches to another: the caller
// decides which, so that a run can be repeated.
#ifndef KAMINO_TESTS_ENGINE_CRASH_SCHEDULER_H_
#define KAMINO_TESTS_ENGINE_CRASH_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace kamino::engine::crash {

// The threads belong to the process, numbered from 0, and are the same ones in
// every call: the engine's state of each thread persists. The last two share a
// lane of every KaminoStore.
inline constexpr size_t kCrew = 4;

struct Schedule {
  // A number below the bound: which thread runs.
  std::function<uint64_t(uint64_t bound)> random;
  // Called on a thread that continues.
  std::function<void(size_t thread)> resumed;
};

// Runs each body on the thread of its number, at most kCrew of them, to its
// end. Dies when all of them wait for each other.
void RunTogether(const std::vector<std::function<void()>>& bodies,
                 const Schedule& schedule);

// In a body: may switch to another thread. Elsewhere it does nothing.
void MaySwitch();

// Prevents switches on this thread while it lives.
class NoSwitching {
 public:
  NoSwitching();
  ~NoSwitching();
  NoSwitching(const NoSwitching&) = delete;
  NoSwitching& operator=(const NoSwitching&) = delete;
};

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_SCHEDULER_H_
