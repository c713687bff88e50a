#include "base/own_addresses.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino {
namespace {

using Found = absl::StatusOr<std::vector<OwnAddress>>;

constexpr absl::Duration kLookAtSignals = absl::Milliseconds(50);

// `flags`: for getaddrinfo, in addition to those that every listener needs.
Found LookUp(const std::string& host, uint16_t port, int flags) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV | flags;
  addrinfo* first = nullptr;
  const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                absl::StrCat(port).c_str(), &hints, &first);
  if (error != 0) {
    return absl::UnavailableError(error == EAI_SYSTEM ? strerror(errno)
                                                      : gai_strerror(error));
  }
  std::vector<OwnAddress> addresses;
  for (const addrinfo* each = first; each != nullptr; each = each->ai_next) {
    OwnAddress& address = addresses.emplace_back();
    memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.length = each->ai_addrlen;
  }
  freeaddrinfo(first);
  return addresses;
}

struct NameLookup {
  absl::Mutex mutex;
  std::optional<Found> found ABSL_GUARDED_BY(mutex);
};

// getaddrinfo cannot be cancelled and takes half a minute if the name servers
// are silent, so it runs in a thread of its own.
Found LookUpName(const std::string& host, uint16_t port) {
  auto lookup = std::make_shared<NameLookup>();
  std::thread([lookup, host, port] {
    pthread_setname_np(pthread_self(), "own-lookup");
    Found found = LookUp(host, port, 0);
    absl::MutexLock lock(&lookup->mutex);
    lookup->found = std::move(found);
  }).detach();
  absl::MutexLock lock(&lookup->mutex);
  const auto over = [&lookup]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lookup->mutex) {
    return lookup->found.has_value();
  };
  while (
      !lookup->mutex.AwaitWithTimeout(absl::Condition(&over), kLookAtSignals)) {
    if (const int signal = PendingEndSignal(); signal != 0) {
      return absl::CancelledError(
          absl::StrCat("received SIG", sigabbrev_np(signal),
                       " while the name was looked up"));
    }
  }
  return *std::move(lookup->found);
}

}  // namespace

Found LookUpOwnAddresses(const std::string& host, uint16_t port) {
  if (host.empty()) return LookUp(host, port, 0);
  Found number = LookUp(host, port, AI_NUMERICHOST);
  return number.ok() ? number : LookUpName(host, port);
}

int PendingEndSignal() {
  sigset_t pending;
  if (sigpending(&pending) != 0) return 0;
  for (const int number : {SIGTERM, SIGINT}) {
    if (sigismember(&pending, number) == 1) return number;
  }
  return 0;
}

}  // namespace kamino
