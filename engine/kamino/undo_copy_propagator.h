// Propagates changes of threads that have committed and then do nothing, for
// programs that use a store without a chain: until a drain their copies are not
// durable and their locks stay held. (A node does it on its core thread.)
#ifndef KAMINO_ENGINE_KAMINO_UNDO_COPY_PROPAGATOR_H_
#define KAMINO_ENGINE_KAMINO_UNDO_COPY_PROPAGATOR_H_

#include <thread>

#include "absl/synchronization/notification.h"
#include "engine/kamino/kamino_store.h"

namespace kamino::engine {

class UndoCopyPropagator {
 public:
  // The store must outlive this.
  explicit UndoCopyPropagator(KaminoStore* store);
  // Propagates everything before it ends.
  ~UndoCopyPropagator();
  UndoCopyPropagator(const UndoCopyPropagator&) = delete;
  UndoCopyPropagator& operator=(const UndoCopyPropagator&) = delete;

 private:
  void Run();

  KaminoStore* const store_;
  absl::Notification stopping_;
  std::thread thread_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_UNDO_COPY_PROPAGATOR_H_
