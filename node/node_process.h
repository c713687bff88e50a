// The process of a node: what it opens and starts, in order, and the order of
// its end.
#ifndef KAMINO_NODE_NODE_PROCESS_H_
#define KAMINO_NODE_NODE_PROCESS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/service_manager.h"
#include "config/reload.h"
#include "engine/pmem/medium_wait.h"
#include "membership/agent/membership_agent.h"
#include "node/driver/node.h"
#include "node/node_flags.h"
#include "node/node_servers.h"
#include "node/node_web.h"
#include "node/storage/medium_speed.h"
#include "replica/procedure.h"
#include "rpc/cluster_identity.h"
#include "security/certificates.h"
#include "web/server.h"

namespace kamino::node {

// kInvalidArgument: files that the flags name cannot be used.
absl::StatusOr<std::shared_ptr<security::Certificates>> CertificatesFor(
    const NodeFlags& flags);

// Used by one thread. Start, then Stop if Start succeeded.
class NodeProcess {
 public:
  explicit NodeProcess(const NodeFlags& flags);
  ~NodeProcess();
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;

  // Opens the storage, listens, and registers. An error says why the process
  // must end; nothing runs then. Once it runs, the process gets SIGTERM when
  // the node cannot continue.
  absl::Status Start();

  // Makes the chain continue without this node, and ends. Error: why the
  // process could not continue.
  absl::Status Stop();

 private:
  // Why the process must end; set once.
  class Failure {
   public:
    void Set(const absl::Status& status);
    absl::Status Get();

   private:
    absl::Mutex mutex_;
    absl::Status status_ ABSL_GUARDED_BY(mutex_);
  };

  // Each uses the results of the ones before.
  absl::Status OpenCertificates();
  absl::Status StartPages();
  absl::StatusOr<NodeOptions> Options();
  void MakeAgent();
  Node::Events Events(uint64_t incarnation);
  absl::Status MakeNode();
  void TellAddress() const;

  // Ends what Start has started, in this order.
  void End();

  const NodeFlags flags_;
  Failure failure_;

  ProcessSecurity security_;

  // The node's cluster, shared with its clients to managers.
  const std::shared_ptr<rpc::ClusterIdentity> cluster_ =
      std::make_shared<rpc::ClusterIdentity>();

  NodeWeb pages_;
  std::unique_ptr<web::Server> web_;  // null: there is none

  LinkCalls link_calls_;
  ServiceWatchdog watchdog_;
  std::optional<MediumCheck> medium_check_;  // of the heap's
  const std::shared_ptr<engine::MediumTime> core_medium_time_ =
      std::make_shared<engine::MediumTime>();
  replica::ProcedureRegistry procedures_;

  std::unique_ptr<membership::MembershipAgent> agent_;
  std::unique_ptr<Node> node_;
  std::optional<config::Reloads::Registration> slow_operations_;
  NodeServers servers_{&flags_, &security_, &pages_};
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_NODE_PROCESS_H_
