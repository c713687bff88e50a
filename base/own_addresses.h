// Looks up the addresses at which a program listens.
#ifndef KAMINO_BASE_OWN_ADDRESSES_H_
#define KAMINO_BASE_OWN_ADDRESSES_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace kamino {

struct OwnAddress {
  sockaddr_storage storage = {};
  socklen_t length = 0;
};

// The addresses of `host`, a name or a number, with that port; an empty host:
// every address of this machine. Waits for the name servers.
//
// kUnavailable: the host is not known. kCancelled: SIGTERM or SIGINT is blocked
// and pending, so the process is to end; the thread that looks the name up goes
// on by itself.
absl::StatusOr<std::vector<OwnAddress>> LookUpOwnAddresses(
    const std::string& host, uint16_t port);

// The pending one of SIGTERM and SIGINT; 0: none.
int PendingEndSignal();

}  // namespace kamino

#endif  // KAMINO_BASE_OWN_ADDRESSES_H_
