// Which thread waits for a medium now, as for a sync of a disk: to a watcher it
// looks like one that hangs.
#ifndef KAMINO_ENGINE_PMEM_MEDIUM_WAIT_H_
#define KAMINO_ENGINE_PMEM_MEDIUM_WAIT_H_

#include <atomic>
#include <memory>

namespace kamino::engine {

// While one lives its thread waits for a medium. They nest.
class MediumWait {
 public:
  MediumWait();
  ~MediumWait();
  MediumWait(const MediumWait&) = delete;
  MediumWait& operator=(const MediumWait&) = delete;

  // From now on `flag` says whether this thread waits for a medium. It says
  // nothing of other threads. Not while the thread waits.
  static void Watch(std::shared_ptr<std::atomic<bool>> flag);

 private:
  const bool outer_;  // the outermost of its thread
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_MEDIUM_WAIT_H_
