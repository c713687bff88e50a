#include "tests/engine/crash/scheduler.h"

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/memory/memory.h"
#include "absl/time/time.h"
#include "engine/explore.h"
#include "engine/heap/heap.h"
#include "engine/kamino/kamino_store.h"
#include "engine/kamino/undo_copy.h"
#include "engine/pmem/plain_region.h"
#include "glog/logging.h"
#include "tests/engine/crash/coverage.h"

namespace kamino::engine::crash {
namespace {

constexpr size_t kNoThread = SIZE_MAX;
// KaminoStore's lanes: threads are numbered in the order of their first use.
constexpr size_t kLanes = 64;
// A thread may lose its processor for long, at the worst moment. The lengths
// are in turns of others. One sleep in 1,000 is long, so that others have the
// time to fill the log.
constexpr uint64_t kShortPerMille = 80;
constexpr uint64_t kShortSleep = 60;
constexpr uint64_t kLongSleep = 6000;
// Turns in which no thread makes progress.
constexpr uint64_t kForEver = 1000000;

thread_local size_t this_thread = kNoThread;
thread_local int not_switching = 0;

class Crew {
 public:
  static Crew& Get() {
    static auto* const crew = new Crew;
    return *crew;
  }

  void Run(const std::vector<std::function<void()>>& bodies,
           const Schedule& schedule) {
    CHECK_LE(bodies.size(), kCrew);
    schedule_ = &schedule;
    waits_ = turns_ = 0;
    std::fill(std::begin(awake_from_), std::end(awake_from_), 0);
    std::unique_lock<std::mutex> lock(mutex_);
    for (size_t i = 0; i < bodies.size(); ++i) {
      bodies_[i] = &bodies[i];
      live_.push_back(i);
    }
    turn_ = Choose();
    turned_[turn_].notify_one();
    ended_.wait(lock, [this] { return live_.empty(); });
  }

  // Lets any thread run, this one or another.
  void Switch() {
    waits_ = 0;
    ++turns_;
    awake_from_[this_thread] = turns_ + SleepLength();
    GoOn(ChooseAwake(/*but=*/kNoThread));
  }
  // This thread cannot continue; the one it waits for may be asleep.
  void Wait() {
    constexpr uint64_t kPatience = 60;
    CHECK_LT(++waits_, kForEver) << "all threads wait for each other";
    if (live_.size() == 1) return;
    if (waits_ % kPatience == 0) {
      std::fill(std::begin(awake_from_), std::end(awake_from_), 0);
    }
    GoOn(ChooseAwake(/*but=*/this_thread));
  }

 private:
  Crew() {
    // Making the threads must not count as reaching branches: otherwise the
    // first run of a process would differ from its repetition.
    const Counting counting = CountBranches(Counting::kNowhere);
    for (size_t i = 0; i < kCrew; ++i) {
      // The last one has the lane of the one before.
      if (i == kCrew - 1) {
        for (size_t k = 1; k < kLanes; ++k) std::thread(TakeNumber).join();
      }
      std::thread thread([this, i] { Work(i); });
      std::unique_lock<std::mutex> lock(mutex_);
      ended_.wait(lock, [this, i] { return ready_ == i + 1; });
      thread.detach();
    }
    CountBranches(counting);
  }

  // Takes the next number that the engine gives to a thread.
  static void TakeNumber() {
    constexpr size_t kBytes = Heap::kMinTinyBytes;
    PlainRegion memory(kBytes);
    PlainRegion copies(SimpleUndoCopyBytes(kBytes));
    auto heap =
        Heap::CreateWithLog(&memory, "numbers", heap_format::kMinLogBytes);
    auto store = KaminoStore::Open(heap->get(),
                                   *CreateSimpleUndoCopy(heap->get(), &copies));
    CHECK((*store)->Begin(absl::ZeroDuration())->Abort().ok());
  }

  uint64_t SleepLength() {
    const uint64_t chance = schedule_->random(1000);
    if (chance == 0) return schedule_->random(kLongSleep);
    return chance < kShortPerMille ? schedule_->random(kShortSleep) : 0;
  }

  // An index in live_; any one where all sleep.
  size_t ChooseAwake(size_t but) {
    std::vector<size_t> awake;
    std::vector<size_t> all;
    for (size_t i = 0; i < live_.size(); ++i) {
      if (live_[i] == but) continue;
      all.push_back(i);
      if (awake_from_[live_[i]] <= turns_) awake.push_back(i);
    }
    const std::vector<size_t>& from = awake.empty() ? all : awake;
    return from[schedule_->random(from.size())];
  }

  size_t Choose() { return live_[schedule_->random(live_.size())]; }

  void GoOn(size_t next) {
    if (live_[next] == this_thread) return;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      turn_ = live_[next];
      turned_[turn_].notify_one();
      turned_[this_thread].wait(lock, [this] { return turn_ == this_thread; });
    }
    schedule_->resumed(this_thread);
  }

  void Work(size_t thread) {
    TakeNumber();
    this_thread = thread;
    std::unique_lock<std::mutex> lock(mutex_);
    ++ready_;
    ended_.notify_one();
    for (;;) {
      turned_[thread].wait(lock, [this] { return turn_ == this_thread; });
      lock.unlock();
      schedule_->resumed(this_thread);
      (*bodies_[thread])();
      lock.lock();
      for (size_t i = 0; i < live_.size(); ++i) {
        if (live_[i] == thread) live_.erase(live_.begin() + i);
      }
      turn_ = live_.empty() ? kNoThread : Choose();
      (turn_ == kNoThread ? ended_ : turned_[turn_]).notify_one();
    }
  }

  // Only the thread whose turn it is uses the members below.
  std::mutex mutex_;
  std::condition_variable turned_[kCrew];  // one's turn has come
  std::condition_variable ended_;          // of all of them; or has begun
  size_t turn_ = kNoThread;
  size_t ready_ = 0;
  const std::function<void()>* bodies_[kCrew] = {};
  std::vector<size_t> live_;
  const Schedule* schedule_ = nullptr;
  uint64_t waits_ = 0;
  uint64_t turns_ = 0;
  uint64_t awake_from_[kCrew] = {};  // by turns_
};

bool Scheduled() { return this_thread != kNoThread && not_switching == 0; }

void WaitForOthers() {
  if (Scheduled()) {
    Crew::Get().Wait();
  } else {
    std::this_thread::yield();
  }
}

}  // namespace

void RunTogether(const std::vector<std::function<void()>>& bodies,
                 const Schedule& schedule) {
  Crew& crew = Crew::Get();
  yield_hook.store(WaitForOthers);
  crew.Run(bodies, schedule);
  yield_hook.store(nullptr);
}

void MaySwitch() {
  if (Scheduled()) Crew::Get().Switch();
}

NoSwitching::NoSwitching() { ++not_switching; }
NoSwitching::~NoSwitching() { --not_switching; }

}  // namespace kamino::engine::crash
