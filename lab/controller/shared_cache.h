// The cache that all cores share, with the data of its lines, before a memory
// controller. The cores' own caches only say how long a hit takes (core.h): a
// line that is here is the newest, whichever core wrote it.
#ifndef KAMINO_LAB_CONTROLLER_SHARED_CACHE_H_
#define KAMINO_LAB_CONTROLLER_SHARED_CACHE_H_

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "lab/controller/controller.h"
#include "lab/controller/line.h"
#include "lab/controller/machine.h"
#include "lab/controller/set_associative.h"

namespace kamino::bench::controller {

class SharedCache {
 public:
  // `controller` must outlive this. `check`: remembers every value, to be
  // compared.
  SharedCache(const Machine& machine, Controller* controller, bool check);

  // When the line is here: before `now`, where it was brought in earlier; none:
  // it is not, and has to be fetched.
  std::optional<Time> Find(LineNumber line);
  // Brings the line in, and puts another out where there is no room. When it is
  // with the core that asked.
  Time Fetch(Time now, LineNumber line);
  // As if it had been used before the simulation began.
  void Warm(LineNumber line);

  // The line must be here.
  uint64_t Load(WordNumber word);
  // Returns the value, a new one.
  uint64_t Store(WordNumber word);
  // None: the line is not here, or was not changed.
  std::optional<Channel::Done> Flush(Time now, LineNumber line);

  // Property 1, over all that was ever stored; also tells of a Load that
  // returned something old. kInternal: it does not hold.
  absl::Status Check();

 private:
  struct State {
    LineData data;
    bool dirty = false;
    Time here = 0;
  };

  const Machine& machine_;
  Controller* const controller_;
  SetAssociative<State> lines_;
  uint64_t values_ = 0;  // given out
  const bool check_;
  absl::flat_hash_map<WordNumber, uint64_t> latest_;  // with check_
  absl::Status wrong_;                                // the first
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_SHARED_CACHE_H_
