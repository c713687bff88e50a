// What gRPC tells of the process's servers and their connections.
#ifndef KAMINO_RPC_CHANNELZ_H_
#define KAMINO_RPC_CHANNELZ_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace kamino::rpc {

struct ChannelzServer {
  int64_t id;
  // Calls so far that did not end well, there still or not. Of those that were
  // reset some are never counted as over (gRPC 1.51): only its growth tells.
  int64_t unanswered;
};

struct ChannelzSocket {
  int64_t id;
  int64_t unanswered;  // streams so far that had no answer, there still or not
  std::string peer;    // as ServerContext::peer() has it
  int port;            // of this process
};

// To be held while a server is made: gRPC (1.51) lists one before it is whole,
// and the process of whoever asks it then for what it is ends ("pure virtual
// method called").
absl::Mutex& ServersMutex();

// Not with that held.
std::vector<ChannelzServer> ChannelzServers();
// Those whose handshake is over.
std::vector<ChannelzSocket> ChannelzSocketsOf(const ChannelzServer& server);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CHANNELZ_H_
