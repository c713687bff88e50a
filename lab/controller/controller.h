// The memory controller, as the processor's caches and cores see it (WrAP,
// figure 1). Times are the controller's own; the way there and back is the
// core's to add.
#ifndef KAMINO_LAB_CONTROLLER_CONTROLLER_H_
#define KAMINO_LAB_CONTROLLER_CONTROLLER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "lab/controller/channel.h"
#include "lab/controller/event_queue.h"
#include "lab/controller/line.h"
#include "lab/controller/machine.h"
#include "lab/controller/release_rule.h"
#include "lab/controller/victim_cache.h"

namespace kamino::bench::controller {

struct LogRecord {
  WordNumber word;
  uint64_t value;
};

// A wrap's log (section 3): records, then a marker, from a line's beginning.
struct Bucket {
  LineNumber first_line = 0;
  std::vector<LogRecord> records;
};

struct ControllerCounts {
  ChannelCounts scm;
  ChannelCounts log;
  VictimCounts victims;
  uint64_t retired = 0;    // wraps
  uint64_t most_open = 0;  // wraps, at a time, that had not retired
  uint64_t refused = 0;    // times that a wrap had to wait for another's id
};

class Controller {
 public:
  virtual ~Controller() = default;

  struct Fetched {
    Time at;
    LineData data;
  };
  // A line that no cache has.
  virtual Fetched Miss(Time now, LineNumber line) = 0;
  // A line that was changed, and leaves the cache.
  virtual void Evict(Time now, LineNumber line, const LineData& data) = 0;
  // A line that was changed, and stays in the cache. Done::at: nothing can take
  // it back, except where flushes go to the victim cache.
  virtual Channel::Done Flush(Time now, LineNumber line,
                              const LineData& data) = 0;
  // A line of a log, all of it or a part, past all caches.
  virtual Channel::Done WriteLog(Time now, LineNumber line) = 0;

  // Nothing: as many wraps are open as may be; `waiting` acts when one has
  // closed.
  virtual std::optional<WrapNumber> OpenWrap(Time now, Actor* waiting) = 0;
  // Its log is durable.
  virtual void CloseWrap(Time now, WrapNumber wrap, Bucket bucket) = 0;

  // The controller's data of a line that no cache holds.
  virtual LineData Visible(LineNumber line) = 0;
  // kInternal: home locations are not what a crash may leave. Only where the
  // controller was told to look.
  virtual absl::Status CheckHome() const { return absl::OkStatus(); }
  virtual ControllerCounts counts() const = 0;

  // Called whenever a wrap has retired.
  using Retired = std::function<void(Time now, WrapNumber wrap)>;
  void OnRetired(Retired retired) { on_retired_ = std::move(retired); }

 protected:
  void NoteRetired(Time now, WrapNumber wrap) {
    if (on_retired_) on_retired_(now, wrap);
  }

 private:
  Retired on_retired_;
};

// Evictions reach home at once; wraps have no effect.
std::unique_ptr<Controller> MakePlainController(const Machine& machine);

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_CONTROLLER_H_
