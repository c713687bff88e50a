// A core's line buffers: each holds a line on its way to the core or to the
// controller, and is busy until the line is there.
#ifndef KAMINO_LAB_CONTROLLER_LINE_BUFFERS_H_
#define KAMINO_LAB_CONTROLLER_LINE_BUFFERS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "lab/controller/machine.h"

namespace kamino::bench::controller {

class LineBuffers {
 public:
  explicit LineBuffers(uint32_t count) : free_at_(count) {}

  // The time when a buffer will be free; nothing: one is.
  std::optional<Time> FullUntil(Time now) const {
    const Time first = *std::min_element(free_at_.begin(), free_at_.end());
    if (first <= now) return std::nullopt;
    return first;
  }
  // Takes the buffer that is free first.
  void Take(Time until) {
    *std::min_element(free_at_.begin(), free_at_.end()) = until;
  }

 private:
  std::vector<Time> free_at_;
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_LINE_BUFFERS_H_
