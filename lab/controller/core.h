// A core with the thread that runs on it: takes a trace's events one by one,
// does what a method makes of them, and waits where the machine makes it wait.
//
// Stores wait for nothing but a free line buffer; loads wait for their line, so
// that none overlaps another: a processor that goes on meanwhile would be
// faster, by any method. No cache of another core is told of a store.
#ifndef KAMINO_LAB_CONTROLLER_CORE_H_
#define KAMINO_LAB_CONTROLLER_CORE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "lab/controller/controller.h"
#include "lab/controller/core_caches.h"
#include "lab/controller/core_log.h"
#include "lab/controller/event_queue.h"
#include "lab/controller/line_buffers.h"
#include "lab/controller/methods.h"
#include "lab/controller/op_stream.h"
#include "lab/controller/shared_cache.h"
#include "lab/controller/trace.h"

namespace kamino::bench::controller {

// From one kBegin of a thread to the next.
struct Piece {
  Time arrived = 0;
  Time responded = 0;  // its last event was done
  Time completed = 0;  // and its values are at home, where that is later
};

struct Arrivals {
  Time first = 0;
  // From one piece to the next; 0: each arrives when the one before has been
  // responded to.
  Time interval = 0;
};

struct CoreCounts {
  uint64_t fences = 0;
  uint64_t misses = 0;     // of the shared cache
  uint64_t log_bytes = 0;  // appended
};

class Core final : public Actor {
 public:
  struct Surroundings {
    const Machine* machine;
    EventQueue* queue;
    Controller* controller;
    SharedCache* cache;
    // A wrap of this core's piece was opened.
    std::function<void(WrapNumber wrap, size_t piece)> opened;
  };

  // `number` 0 and on, of the cores. `events` and what it is surrounded by must
  // outlive this.
  Core(int number, Method method, const Arrivals& arrivals,
       const std::vector<Event>* events, const Surroundings& around);

  void Act(Time now, uint64_t what) override;

  std::vector<Piece>& pieces() { return pieces_; }
  // Null: the trace began none before.
  Piece* piece(size_t number) {
    return number < pieces_.size() ? &pieces_[number] : nullptr;
  }
  const CoreCounts& counts() const { return counts_; }

 private:
  // Act's `what`, or that plus a line that is to be flushed.
  static constexpr uint64_t kGoOn = 0;
  static constexpr uint64_t kFlushLine = 1;

  struct Step {
    bool done;  // else the operation is tried again
    // None: another component schedules the core.
    std::optional<Time> then;
  };

  Step Do(Time now, const Op& op);
  Step Begin(Time now);
  Step Load(Time now, WordNumber word);
  Step Store(Time now, WordNumber word);
  Step Flush(Time now, LineNumber line);
  Step Log(Time now, uint64_t bytes);
  Step PushLog(Time now);
  Step Fence(Time now);
  Step OpenWrap(Time now);

  // A line is on its way to the controller.
  void Sent(const Channel::Done& done);

  Time Cycles(uint64_t count) const { return count * machine_.cycle; }

  const Arrivals arrivals_;
  const Surroundings around_;
  const Machine& machine_;

  OpStream ops_;
  CoreCaches caches_;
  LineBuffers buffers_;
  CoreLog log_;

  Time durable_ = 0;        // all that was flushed or logged, as seen here
  Time flushes_until_ = 0;  // flushes that wait for their line
  WordNumber stored_word_ = 0;
  uint64_t stored_value_ = 0;
  WrapNumber wrap_ = 0;

  std::vector<Piece> pieces_;
  CoreCounts counts_;
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_CORE_H_
