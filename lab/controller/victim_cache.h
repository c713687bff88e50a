// Lines that the processor's cache has let go, and that home locations may not
// have yet (WrAP, sections 3 and 4). Volatile.
//
//   1. Find gives the newest version of a line that was put here, for as long
//      as home may be without it.
//   2. A version of which retirement has stored something is clean: it never
//      goes home. One that is not, an ordinary variable's, goes there before it
//      is forgotten (section 3.2).
//   3. A version that a newer one has replaced never goes home. Without this
//      the hash table, which keeps both, would put the older one over what was
//      retired in between.
#ifndef KAMINO_LAB_CONTROLLER_VICTIM_CACHE_H_
#define KAMINO_LAB_CONTROLLER_VICTIM_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "lab/controller/line.h"
#include "lab/controller/machine.h"
#include "lab/controller/release_rule.h"

namespace kamino::bench::controller {

struct VictimCounts {
  uint64_t put = 0;
  uint64_t found = 0;
  uint64_t released = 0;      // versions that had become free to go
  uint64_t written_home = 0;  // of those: not clean
  uint64_t overflowed = 0;    // put into the firmware's table for want of room
  uint64_t most = 0;          // versions at a time that were not free to go
};

class VictimCache {
 public:
  using WriteHome = std::function<void(LineNumber, const LineData&)>;
  using Released = std::function<void(LineNumber)>;

  virtual ~VictimCache() = default;

  // Wraps open in the order of their numbers.
  virtual void Open(WrapNumber wrap) = 0;
  // All its values are at home. A wrap that has retired is forgotten before
  // lines are looked through: Algorithm 2 as printed does so after, and what is
  // let go meanwhile would wait for that wrap for ever.
  virtual void Retire(WrapNumber wrap) = 0;

  virtual void Put(LineNumber line, const LineData& data) = 0;
  // Null: it is not here, and home has the newest. Valid until the next call.
  virtual const LineData* Find(LineNumber line) = 0;
  // Retirement has stored something of this line.
  virtual void MarkClean(LineNumber line) = 0;

  // Lines that are not free to go.
  virtual uint64_t held() const = 0;
  const VictimCounts& counts() const { return counts_; }

  // Called whenever a version becomes free to go.
  void OnReleased(Released released) { on_released_ = std::move(released); }

 protected:
  explicit VictimCache(WriteHome write_home)
      : write_home_(std::move(write_home)) {}

  void NoteReleased(LineNumber line) {
    ++counts_.released;
    if (on_released_) on_released_(line);
  }
  void GoHome(LineNumber line, const LineData& data) {
    ++counts_.written_home;
    write_home_(line, data);
  }

  VictimCounts counts_;

 private:
  const WriteHome write_home_;
  Released on_released_;
};

// Section 4's two, with either rule.
std::unique_ptr<VictimCache> MakeVictimCache(const Machine& machine,
                                             VictimCache::WriteHome write_home);

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_VICTIM_CACHE_H_
