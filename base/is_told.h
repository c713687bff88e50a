// Which occurrences of what may happen dozens of times a second, as attempts
// that fail do, the log has: the first ones, and then ever fewer.
#ifndef KAMINO_BASE_IS_TOLD_H_
#define KAMINO_BASE_IS_TOLD_H_

#include <cstdint>

namespace kamino {

// `count`: how many there were before, or are with this one.
constexpr bool IsTold(int64_t count) { return (count & (count - 1)) == 0; }

}  // namespace kamino

#endif  // KAMINO_BASE_IS_TOLD_H_
