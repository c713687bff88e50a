// The subject of a race: two ends in this process, each on a thread and, where
// there are two, a processor of its own, and a way for messages between them.
#ifndef KAMINO_BENCH_TRANSPORT_SUBJECT_H_
#define KAMINO_BENCH_TRANSPORT_SUBJECT_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/harness/statistics.h"

namespace kamino::bench {

// Messages carry the time they were sent in their first bytes.
inline constexpr size_t kLeastMessage = 8;
inline constexpr size_t kMostMessage = size_t{1} << 20;

struct Latencies {
  // In ticks of the processor's counter.
  Histogram round_trip;
  Histogram one_way;
};

// Not thread-safe. Its ends are connected from the start.
class Subject {
 public:
  virtual ~Subject() = default;

  virtual const std::string& name() const = 0;

  // Sends one message of `bytes` back and forth for `duration`.
  virtual absl::Status PingPong(size_t bytes, absl::Duration duration,
                                Latencies* latencies) = 0;

  // Sends as much one way as the other end takes, for `duration`; messages per
  // second. kUnimplemented: this is not measured here.
  virtual absl::StatusOr<double> Stream(size_t bytes,
                                        absl::Duration duration) = 0;
};

// The calling thread stays on processor `number`, counted round.
void PinTo(int number);

// A TCP connection over loopback between two threads in epoll_wait, with
// nothing around it: what tcp links are held against.
absl::StatusOr<std::unique_ptr<Subject>> MakeBareEpoll();

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_TRANSPORT_SUBJECT_H_
