// Thins out log lines about events that may recur dozens of times a second,
// such as failed attempts: logs the first ones, and then ever fewer.
#ifndef KAMINO_BASE_IS_TOLD_H_
#define KAMINO_BASE_IS_TOLD_H_

#include <cstdint>

namespace kamino {

// `count`: the number of occurrences, with or without this one.
constexpr bool IsTold(int64_t count) { return (count & (count - 1)) == 0; }

}  // namespace kamino

#endif  // KAMINO_BASE_IS_TOLD_H_
