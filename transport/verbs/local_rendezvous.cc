#include "transport/verbs/local_rendezvous.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace kamino::transport {

absl::StatusOr<std::string> LocalRendezvous::Listen(const std::string& address,
                                                    Answerer answerer) {
  absl::MutexLock lock(&mu_);
  if (!answerers_.emplace(address, std::move(answerer)).second) {
    return absl::AlreadyExistsError(
        absl::StrCat("verbs address ", address, " is already in use"));
  }
  return address;
}

void LocalRendezvous::StopListening(const std::string& address) {
  absl::MutexLock lock(&mu_);
  answerers_.erase(address);
}

void LocalRendezvous::Exchange(const std::string& address,
                               const VerbsEndpoint& offer, absl::Duration,
                               Reply reply) {
  {
    // Held for the call, which StopListening has to wait for.
    absl::MutexLock lock(&mu_);
    auto found = answerers_.find(address);
    if (found != answerers_.end()) {
      found->second(offer, std::move(reply));
      return;
    }
  }
  reply(absl::UnavailableError(
      absl::StrCat("no listener at verbs address ", address)));
}

}  // namespace kamino::transport
