// In place of the header of the same name that the examples of libpmemobj
// share, which Debian does not install: what their maps use of it.
#ifndef KAMINO_THIRD_PARTY_PMEMOBJ_EXAMPLES_EX_COMMON_H_
#define KAMINO_THIRD_PARTY_PMEMOBJ_EXAMPLES_EX_COMMON_H_

#include <stdint.h>

// The index of the highest set bit of `value`, which is not 0.
static inline unsigned char find_last_set_64(uint64_t value) {
  return (unsigned char)(63 - __builtin_clzll(value));
}

#endif  // KAMINO_THIRD_PARTY_PMEMOBJ_EXAMPLES_EX_COMMON_H_
