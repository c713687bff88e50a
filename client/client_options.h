// How a client finds its cluster, and how it calls the nodes.
#ifndef KAMINO_CLIENT_CLIENT_OPTIONS_H_
#define KAMINO_CLIENT_CLIENT_OPTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/chain_id.h"
#include "security/tls_files.h"

namespace kamino::transport {
class VerbsApi;  // transport/verbs/device.h
}

namespace kamino::client {

enum class Reads {
  kTail,
  // Get and BatchGet go in turn to all nodes except the head. If a node cannot
  // answer at once, because an object that it needs is in flight, the read goes
  // to the tail. Linearizable, too; docs/use/reads.md describes costs and
  // gains.
  kAnyReplica,
};

struct ClientOptions {
  std::vector<std::string> seeds;  // host:port of any nodes, at least one
  // The timeout of each call, including retries.
  absl::Duration timeout = absl::Seconds(10);
  // Limit of outstanding calls, at least 1. Beyond it, blocking calls wait for
  // their timeout, and asynchronous ones fail at once with kResourceExhausted.
  // If more than 1024 mutations are outstanding, those beyond the session's
  // window wait for it in turn.
  int max_outstanding = 1024;
  // The chain of the cluster. 0: the only one. Once known, calls name it, and
  // nodes of another chain refuse them (REASON_UNKNOWN_CHAIN).
  ChainId chain_id = 0;
  // The transport for calls once they are frequent enough for a connection and
  // a session: "shm", "verbs" (RDMA), "tcp" or "grpc" (a stream). "": the first
  // of these that reaches the node. "unary": each call is a gRPC call of its
  // own, as the first ones always are.
  std::string carrier;
  // How long the servers keep the outcomes of this client's mutations after its
  // last message; 1 second to 1 hour.
  absl::Duration session_lease = absl::Seconds(60);
  // The RDMA devices of this host; null: those that libibverbs finds. Tests
  // pass others.
  std::shared_ptr<transport::VerbsApi> rdma_devices;
  // The nodes that answer reads.
  Reads reads = Reads::kTail;
  // This client's certificate and the authorities that it trusts; the files are
  // read again when they change. All "": unencrypted, to this machine only,
  security::TlsFiles tls;
  // or to any seeds.
  bool insecure = false;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLIENT_OPTIONS_H_
