// A process that fills a store's log and is killed: what it leaves is what the
// next opening has to recover from, with all that was stored having survived.
// Before that, what the store's data takes of memory.
#ifndef KAMINO_LAB_SCHEMES_CRASH_H_
#define KAMINO_LAB_SCHEMES_CRASH_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kamino::bench::schemes {

struct CrashPlan {
  std::string scheme;
  std::string path;
  uint64_t bytes = 0;    // of the store's file
  uint64_t objects = 0;  // of 1 KiB each
  // Transactions that commit, with nothing done beside them, each of which
  // writes over kObjectsEach objects, one after the other; and bytes that one
  // writes which does not. Or as far as the store lets them.
  uint64_t committed = 0;
  uint64_t open = 0;
};
// As many as nearly fill a bucket of WrAP's log.
inline constexpr uint64_t kObjectsEach = 3;

// As words for a child's command line, and back.
std::string ToWord(const CrashPlan& plan);
absl::StatusOr<CrashPlan> FromWord(const std::string& word);

// The child's part: does as planned, prints a line of what it has done and
// waits to be killed. Returns only an error.
absl::Status FillAndWait(const CrashPlan& plan);

struct Filled {
  uint64_t committed = 0;  // transactions
  uint64_t open = 0;       // bytes
  // With all objects and no work left: persistent memory according to the
  // store, and the process's other memory.
  uint64_t persistent = 0;
  uint64_t dram = 0;
};

// Starts `program` with a flag `--crash=` and the plan, and kills it once it
// has done as planned.
absl::StatusOr<Filled> CrashChild(const std::string& program,
                                  const CrashPlan& plan);

}  // namespace kamino::bench::schemes

#endif  // KAMINO_LAB_SCHEMES_CRASH_H_
