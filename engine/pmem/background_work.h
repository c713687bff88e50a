// What a thread does beside transactions: propagating, retiring, clearing logs.
// Reports tell it from what transactions wait for.
#ifndef KAMINO_ENGINE_PMEM_BACKGROUND_WORK_H_
#define KAMINO_ENGINE_PMEM_BACKGROUND_WORK_H_

namespace kamino::engine {

// While one lives, what its thread asks of regions is background work. They
// may nest. A transaction that has to do such work itself, for want of room
// say, has none: it waits for it.
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
