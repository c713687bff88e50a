// The client's transports to nodes: links over shared memory, RDMA and TCP on
// one thread of their own, and gRPC streams. Either all use certificates, or
// none does. Private to the library.
#ifndef KAMINO_CLIENT_SESSION_CARRIERS_H_
#define KAMINO_CLIENT_SESSION_CARRIERS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/session/pair_rendezvous.h"
#include "client/session/pass_asker.h"
#include "client/session/wire.h"
#include "kamino/v1/session.grpc.pb.h"
#include "security/certificates.h"
#include "transport/link.h"
#include "transport/loop/event_loop.h"
#include "transport/verbs/device.h"

namespace kamino::client {

// Thread-safe.
class Carriers {
 public:
  // `only`: "" for any transport, or "shm", "verbs", "tcp", "grpc". `devices`:
  // the host's RDMA devices; null: those that libibverbs finds. `certificates`:
  // of all links, as for the stubs; null: no TLS.
  Carriers(std::string only, std::shared_ptr<transport::VerbsApi> devices,
           std::shared_ptr<security::Certificates> certificates = nullptr);
  // Ends all links. Must not run on their thread.
  ~Carriers();

  // Not OK: `only` is unknown.
  static absl::Status Check(absl::string_view only);

  // The ways to the node that has sent these carriers, best first.
  std::vector<WireMaker> Ways(
      const kamino::v1::GetCarriersResponse& node,
      std::shared_ptr<kamino::v1::SessionService::Stub> stub);

 private:
  // Null: this host cannot have one.
  transport::Transport* Find(const std::string& kind);
  absl::StatusOr<transport::TransportFactory> FactoryOf(
      const std::string& kind);
  // Whether carriers of that kind are used.
  bool Takes(const std::string& kind) const;

  const std::string only_;
  const std::shared_ptr<transport::VerbsApi> devices_;
  const std::shared_ptr<security::Certificates> certificates_;
  const std::shared_ptr<PairRendezvous> rendezvous_ =
      std::make_shared<PairRendezvous>();
  const std::shared_ptr<PassAsker> passes_ = std::make_shared<PassAsker>();
  absl::Mutex mutex_;
  std::shared_ptr<transport::EventLoop> loop_ ABSL_GUARDED_BY(mutex_);
  // By kind.
  std::map<std::string, std::unique_ptr<transport::Transport>> transports_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_SESSION_CARRIERS_H_
