// A thread's work beside transactions: propagating, retiring, clearing logs.
// Reports separate it from work that transactions wait for.
#ifndef KAMINO_ENGINE_PMEM_BACKGROUND_WORK_H_
#define KAMINO_ENGINE_PMEM_BACKGROUND_WORK_H_

namespace kamino::engine {

// While one exists, its thread's calls of regions are background work. They may
// nest. A transaction that must do such work itself, for lack of room for
// example, has none: it waits for the work.
class BackgroundWork {
 public:
  BackgroundWork() { ++depth_; }
  ~BackgroundWork() { --depth_; }
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  static bool Now() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_BACKGROUND_WORK_H_
