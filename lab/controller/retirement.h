// Brings the values of closed wraps home (WrAP, Algorithm 2, RetireWrap): reads
// their logs ahead, stores the values of as many wraps as may go home together,
// and tells of each wrap, in the order in which they were closed, once its
// values are at home.
#ifndef KAMINO_LAB_CONTROLLER_RETIREMENT_H_
#define KAMINO_LAB_CONTROLLER_RETIREMENT_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "lab/controller/channel.h"
#include "lab/controller/controller.h"
#include "lab/controller/event_queue.h"
#include "lab/controller/machine.h"

namespace kamino::bench::controller {

class Retirement final : private Actor {
 public:
  // The values of the wrap are at home.
  using AtHome = std::function<void(Time now, WrapNumber wrap,
                                    const std::vector<LogRecord>& records)>;

  // The queue and the channels must outlive this.
  Retirement(const Machine& machine, EventQueue* queue, Channel* scm,
             Channel* log, AtHome at_home);

  // The wrap's log is durable.
  void Add(Time now, WrapNumber wrap, Bucket bucket);

 private:
  // Act's `what`.
  enum What : uint64_t { kLineRead, kGoOn, kRetire };

  // A closed wrap on its way home.
  struct Closed {
    WrapNumber wrap;
    Bucket bucket;
    uint64_t lines = 0;        // of its log
    uint64_t lines_asked = 0;  // of these: reads begun
    uint64_t lines_here = 0;   // reads that have come
    uint64_t lines_freed = 0;  // of these, all records are stored
    uint64_t stored = 0;       // records
    Time durable = 0;          // those, at home
    bool retiring = false;     // all are; kRetire is on its way
  };

  void Act(Time now, uint64_t what) override;
  // Begins whatever can be.
  void Pump(Time now);
  void ReadAhead(Time now);
  // Stores records of which lines have been read. False: the channel is full,
  // or not all lines are here.
  bool StoreHome(Time now, Closed* closed);
  void Retire(Time now);
  uint64_t LinesOf(const Bucket& bucket) const;
  // Number of records that lie entirely in the first `lines` lines of the log.
  uint64_t RecordsIn(const Closed& closed, uint64_t lines) const;

  const Machine machine_;
  EventQueue* const queue_;
  Channel* const scm_;
  Channel* const log_;
  const AtHome at_home_;

  std::deque<Closed> closed_;
  uint64_t reading_ = 0;  // lines asked for, or here and not stored yet
  Time full_until_ = 0;   // the channel to SCM
  Time last_retire_ = 0;
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_RETIREMENT_H_
