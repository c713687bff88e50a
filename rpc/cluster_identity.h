// The identity of the cluster that a process belongs to or calls. Other
// clusters may reuse its addresses and its name, but not the uuid that its
// first view makes (membership/view_history.h). The uuid is in the metadata of
// calls and in the hellos of sessions, in both directions. A server refuses a
// request that names another uuid before it executes any part of it.
#ifndef KAMINO_RPC_CLUSTER_IDENTITY_H_
#define KAMINO_RPC_CLUSTER_IDENTITY_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace kamino::rpc {

// The key in a call's metadata. Its value has 32 lower-case hexadecimal digits.
inline constexpr char kClusterUuidKey[] = "kamino-cluster-uuid";

// For messages: "alpha (uuid 0123...)", or without the part that is empty.
std::string ClusterName(absl::string_view cluster_id, absl::string_view uuid);

// kFailedPrecondition with REASON_OTHER_CLUSTER.
absl::Status OtherCluster(absl::string_view message);
bool IsOtherCluster(const absl::Status& status);

// Uuids are hexadecimal digits here; "": not known. Thread-safe.
class ClusterIdentity {
 public:
  std::string uuid() const;
  std::string cluster_id() const;  // "": not known
  std::string ToString() const;    // ClusterName

  // Sets a server's own cluster, once the server knows it. Ignores an empty
  // uuid: a view of an older release may lack one.
  void Set(absl::string_view cluster_id, absl::string_view uuid);
  // Sets the name for messages of a server that does not know its cluster yet.
  void SetName(absl::string_view cluster_id);

  // Sets the cluster that a client has met, unless one is known already. False:
  // another one is known.
  bool Pin(absl::string_view cluster_id, absl::string_view uuid);

  // Whether a peer that names `uuid` may be of this cluster: both name the same
  // one, or one of the two names none.
  bool Fits(absl::string_view uuid) const;

  // Checks a request to this server that names `uuid`: OK, or OtherCluster. A
  // request without a uuid comes from a plain stub or from release 0.1.0; it is
  // OK, and counted if `counts_unnamed`.
  absl::Status CheckAsked(absl::string_view uuid,
                          bool counts_unnamed = true) const;

  // As CheckAsked, for requests that read or change data, and for sessions. A
  // server that does not know its cluster yet refuses one that names a cluster:
  // kUnavailable, REASON_RECONFIGURING. Otherwise a session, or a request that
  // waits, could outlast that time, and be served by another cluster.
  absl::Status CheckServed(absl::string_view uuid) const;

 private:
  mutable absl::Mutex mutex_;
  std::string cluster_id_ ABSL_GUARDED_BY(mutex_);
  std::string uuid_ ABSL_GUARDED_BY(mutex_);
  bool is_set_ ABSL_GUARDED_BY(mutex_) = false;  // by Set
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CLUSTER_IDENTITY_H_
