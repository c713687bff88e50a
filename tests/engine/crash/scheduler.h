// Threads of which one runs at a time, until it lets another one go on: what
// they do is a matter of whoever decides that, and can be repeated.
#ifndef KAMINO_TESTS_ENGINE_CRASH_SCHEDULER_H_
#define KAMINO_TESTS_ENGINE_CRASH_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace kamino::engine::crash {

// The threads are the process's, numbered from 0, and the same ones in every
// call: what the engine keeps for each thread stays. The last two share a lane
// of every KaminoStore.
inline constexpr size_t kCrew = 4;

struct Schedule {
  // A number below the bound: who goes on.
  std::function<uint64_t(uint64_t bound)> random;
  // Called on a thread that goes on.
  std::function<void(size_t thread)> resumed;
};

// Runs each body on the thread of its number, kCrew of them at most, to its
// end. Dies when all of them wait for each other.
void RunTogether(const std::vector<std::function<void()>>& bodies,
                 const Schedule& schedule);

// In a body: perhaps lets another one go on. Elsewhere nothing happens.
void MaySwitch();

// While it lives, on this thread nothing of that happens.
class NoSwitching {
 public:
  NoSwitching();
  ~NoSwitching();
  NoSwitching(const NoSwitching&) = delete;
  NoSwitching& operator=(const NoSwitching&) = delete;
};

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_SCHEDULER_H_
