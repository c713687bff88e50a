// A memory channel: banks with open rows, each first come, first served, behind
// a bus that takes any bank that is ready. A request's times are computed when
// it is made, so requests have to be made in the order of time.
#ifndef KAMINO_LAB_CONTROLLER_CHANNEL_H_
#define KAMINO_LAB_CONTROLLER_CHANNEL_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lab/controller/line.h"
#include "lab/controller/machine.h"

namespace kamino::bench::controller {

struct ChannelCounts {
  uint64_t reads = 0;     // of lines
  uint64_t writes = 0;    // of lines, as they come to the medium
  uint64_t combined = 0;  // writes that went with one that was still waiting
};

class Channel {
 public:
  // Every time of `device` is `slowdown` times as long.
  Channel(const DeviceTiming& device, uint32_t slowdown, uint32_t queue);

  struct Done {
    Time accepted;  // there was room in the queue
    Time at;        // read: the data is here; written: it is durable
  };
  // `now` never falls from one call to the next.
  Done Read(Time now, LineNumber line);
  // A line that is waiting to be written takes this with it (section 5.1, 5:
  // "write-combining and internal buffering").
  Done Write(Time now, LineNumber line);

  const ChannelCounts& counts() const { return counts_; }

 private:
  struct Bank {
    uint64_t row = ~uint64_t{0};  // that is open; none at first
    uint32_t accesses = 0;        // to it
    Time next_access = 0;
    Time next_read = 0;
    Time may_precharge = 0;
  };
  struct Waiting {
    Time begins;
    Time durable;
  };

  // When there is room for a request that comes `now`.
  Time Accept(Time now);
  // Opens the line's row; when it can be accessed.
  Time OpenRow(Time now, LineNumber line, Bank* bank);
  // The first time from `ready` on when the bus is free for a line, which it is
  // not any more.
  Time TakeBus(Time now, Time ready);
  // `access`: when the column was accessed.
  Done Access(Time now, LineNumber line, bool write, Time* access);
  Time Clocks(uint32_t clocks) const { return clocks * clock_; }

  const DeviceTiming device_;
  const Time clock_;
  const uint32_t queue_;
  std::vector<Bank> banks_;
  std::deque<Time> bus_;     // when lines begin to be transferred; ascending
  std::deque<Time> queued_;  // when those in the queue leave it; ascending
  absl::flat_hash_map<LineNumber, Waiting> waiting_;  // writes, and done ones
  ChannelCounts counts_;
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_CHANNEL_H_
