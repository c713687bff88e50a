#include "security/refused_peers.h"

#include "base/clock.h"
#include "glog/logging.h"

namespace kamino::security {

void RefusedPeers::Tell(absl::string_view peer, const absl::Status& why) {
  count_.fetch_add(1, std::memory_order_relaxed);
  if (const auto more = lines_.Take(MonotonicNow())) {
    LOG(WARNING) << "refused " << peer << ": " << why.message() << *more;
  }
}

}  // namespace kamino::security
