#include "engine/pmem/region.h"

#include <atomic>

namespace kamino::engine {

uint64_t Region::Thread() const {
  static std::atomic<uint64_t> next{1};
  thread_local const uint64_t mine = next.fetch_add(1);
  return mine;
}

}  // namespace kamino::engine
