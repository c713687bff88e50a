// Which cluster a process belongs to, or talks to. Addresses and names are used
// again by other clusters; the uuid that a cluster's first view has made
// (membership/view_history.h) is not. It travels in the metadata of calls and
// in the greetings of sessions, both ways: a request that names another uuid is
// refused before anything of it is executed.
#ifndef KAMINO_RPC_CLUSTER_IDENTITY_H_
#define KAMINO_RPC_CLUSTER_IDENTITY_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace kamino::rpc {

// Of a call's metadata: 32 lower-case hexadecimal digits.
inline constexpr char kClusterUuidKey[] = "kamino-cluster-uuid";

// As text says it: "alpha (uuid 0123...)", or without the part that is empty.
std::string ClusterName(absl::string_view cluster_id, absl::string_view uuid);

// kFailedPrecondition with REASON_OTHER_CLUSTER.
absl::Status OtherCluster(absl::string_view message);
bool IsOtherCluster(const absl::Status& status);

// Uuids are hexadecimal digits here; "": not known. Thread-safe.
class ClusterIdentity {
 public:
  std::string uuid() const;
  std::string ToString() const;  // ClusterName

  // A server's cluster. An empty uuid changes nothing: a view of an older
  // release may lack it.
  void Set(absl::string_view cluster_id, absl::string_view uuid);

  // The cluster that a client has met. Takes `uuid` over if none is known;
  // false: another one is known.
  bool Pin(absl::string_view cluster_id, absl::string_view uuid);

  // Whether a peer that names `uuid` may be of this cluster: both name the same
  // one, or one of the two names none.
  bool Fits(absl::string_view uuid) const;

  // A server's answer to a request that names `uuid`: OK, or OtherCluster. One
  // that names none comes from a plain stub, or from release 0.1.0; it is
  // served, and counted if `counts_unnamed`.
  absl::Status CheckAsked(absl::string_view uuid,
                          bool counts_unnamed = true) const;

 private:
  mutable absl::Mutex mutex_;
  std::string cluster_id_ ABSL_GUARDED_BY(mutex_);
  std::string uuid_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CLUSTER_IDENTITY_H_
