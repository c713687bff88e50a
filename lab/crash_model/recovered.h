// A crash's image, recovered by Archapt and compared with what it ought to be.
#ifndef KAMINO_LAB_CRASH_MODEL_RECOVERED_H_
#define KAMINO_LAB_CRASH_MODEL_RECOVERED_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/pmem/region.h"
#include "lab/archapt/archapt_options.h"
#include "lab/crash_model/oracle.h"

namespace kamino::bench::crash_model {

// Objects, but for the last. Inconsistent is one in the image, before recovery,
// that is not as the last transaction left it that is committed physically,
// where no later one has changed it.
struct CrashCounts {
  uint64_t inconsistent = 0;
  uint64_t found = 0;     // of these: made right, or reported as lost
  uint64_t repaired = 0;  // of these: made right
  uint64_t lost = 0;      // reported, and not to be read
  // Reported, and they were not wrong.
  uint64_t lost_needlessly = 0;
  // Wrong after recovery and not reported, there and ought not to be, or gone.
  uint64_t wrong = 0;
  uint64_t repaired_lines = 0;

  CrashCounts& operator+=(const CrashCounts& other);
};

struct Crashed {
  const Oracle* oracle = nullptr;
  // Transactions that have to have survived, and may have.
  uint64_t durable = 0;
  uint64_t last = 0;
};

// Recovers what lies on `image`, on which nothing else is open. An error: it
// could not be recovered at all, or not to a state that may be.
absl::StatusOr<CrashCounts> Recover(engine::Region* image,
                                    const engine::ArchaptOptions& options,
                                    const Crashed& crashed);

}  // namespace kamino::bench::crash_model

#endif  // KAMINO_LAB_CRASH_MODEL_RECOVERED_H_
