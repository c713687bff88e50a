// gRPC's own statistics about the process's servers and their connections.
#ifndef KAMINO_RPC_CHANNELZ_H_
#define KAMINO_RPC_CHANNELZ_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace kamino::rpc {

struct ChannelzServer {
  int64_t id;
  // Calls so far without success, including open ones. gRPC (1.51) never counts
  // some reset calls as ended, so only the growth is meaningful.
  int64_t unanswered;
};

struct ChannelzSocket {
  int64_t id;
  int64_t unanswered;  // streams so far without an answer, open or not
  std::string peer;    // as in ServerContext::peer()
  int port;            // local
};

// Hold it while making a server: gRPC (1.51) lists a server before it is
// complete, and the process crashes if that server is queried then ("pure
// virtual method called").
absl::Mutex& ServersMutex();

// Must not be called with ServersMutex held.
std::vector<ChannelzServer> ChannelzServers();
// Only connections whose handshake has ended.
std::vector<ChannelzSocket> ChannelzSocketsOf(const ChannelzServer& server);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CHANNELZ_H_
