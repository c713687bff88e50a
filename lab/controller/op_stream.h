// A thread's operations, by one of the methods, in the order of its trace.
#ifndef KAMINO_LAB_CONTROLLER_OP_STREAM_H_
#define KAMINO_LAB_CONTROLLER_OP_STREAM_H_

#include <cstddef>
#include <vector>

#include "lab/controller/machine.h"
#include "lab/controller/methods.h"
#include "lab/controller/trace.h"

namespace kamino::bench::controller {

class OpStream {
 public:
  // `machine` and `events` must outlive this.
  OpStream(Method method, const Machine* machine,
           const std::vector<Event>* events)
      : method_(method), machine_(*machine), events_(*events) {}

  // The operation that is to be done, the same until Advance; null: the trace
  // is at its end. Valid until the next call.
  const Op* Current();
  // It is done.
  void Advance() { ++next_op_; }
  // It is done in part: this one takes its place.
  void Replace(const Op& op) { ops_[next_op_] = op; }

 private:
  // False: there are no more events.
  bool TranslateNext();

  const Method method_;
  const Machine& machine_;
  const std::vector<Event>& events_;
  size_t next_event_ = 0;
  std::vector<Op> ops_;  // of the last events
  size_t next_op_ = 0;
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_OP_STREAM_H_
