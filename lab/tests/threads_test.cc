#include "lab/rewind/rewind_options.h"
#include "tests/engine/baselines/threads_suite.h"

namespace kamino::engine {

std::vector<ThreadedScheme> SchemesWithThreads() {
  std::vector<ThreadedScheme> schemes = {
      // A log that is full now and then.
      {"wrap", "log_bytes=65536"},
      // Objects leave the queue all the time.
      {"archapt", "queue_bytes=4096,columns=3,patience=1ms"},
  };
  for (const RewindOptions& options : AllRewinds()) {
    // Checkpoints are made all the time, with force as well.
    schemes.push_back({options.Name(), options.force ? "checkpoint=50,keeps"
                                                     : "checkpoint=50"});
  }
  return schemes;
}

}  // namespace kamino::engine
