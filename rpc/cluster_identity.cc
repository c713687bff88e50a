#include "rpc/cluster_identity.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "kamino/v1/kamino.pb.h"
#include "metrics/counters.h"
#include "rpc/detail.h"

namespace kamino::rpc {
namespace {

// Limit of a peer's text in errors.
constexpr size_t kMaxShown = 64;

metrics::Counters unnamed(
    "kamino_requests_without_cluster_total",
    "Requests and greetings that did not name the cluster that they are for: "
    "of plain stubs, or of clients of release 0.1.0.");

}  // namespace

std::string ClusterName(absl::string_view cluster_id, absl::string_view uuid) {
  const std::string id = absl::Utf8SafeCEscape(cluster_id.substr(0, kMaxShown));
  const std::string shown = absl::Utf8SafeCEscape(uuid.substr(0, kMaxShown));
  if (uuid.empty()) return id;
  if (cluster_id.empty()) return absl::StrCat("uuid ", shown);
  return absl::StrCat(id, " (uuid ", shown, ")");
}

absl::Status OtherCluster(absl::string_view message) {
  absl::Status status = absl::FailedPreconditionError(message);
  kamino::v1::ErrorDetail detail;
  detail.set_reason(kamino::v1::REASON_OTHER_CLUSTER);
  SetDetail(detail, &status);
  return status;
}

bool IsOtherCluster(const absl::Status& status) {
  const auto detail = DetailIn<kamino::v1::ErrorDetail>(status);
  return detail.has_value() &&
         detail->reason() == kamino::v1::REASON_OTHER_CLUSTER;
}

std::string ClusterIdentity::uuid() const {
  absl::MutexLock lock(&mutex_);
  return uuid_;
}

std::string ClusterIdentity::cluster_id() const {
  absl::MutexLock lock(&mutex_);
  return cluster_id_;
}

std::string ClusterIdentity::ToString() const {
  absl::MutexLock lock(&mutex_);
  return ClusterName(cluster_id_, uuid_);
}

void ClusterIdentity::Set(absl::string_view cluster_id,
                          absl::string_view uuid) {
  absl::MutexLock lock(&mutex_);
  cluster_id_ = std::string(cluster_id);
  if (!uuid.empty()) uuid_ = std::string(uuid);
  is_set_ = true;
}

void ClusterIdentity::SetName(absl::string_view cluster_id) {
  absl::MutexLock lock(&mutex_);
  cluster_id_ = std::string(cluster_id);
}

bool ClusterIdentity::Pin(absl::string_view cluster_id,
                          absl::string_view uuid) {
  if (uuid.empty()) return true;
  absl::MutexLock lock(&mutex_);
  if (!uuid_.empty()) return uuid_ == uuid;
  cluster_id_ = std::string(cluster_id);
  uuid_ = std::string(uuid);
  return true;
}

bool ClusterIdentity::Fits(absl::string_view uuid) const {
  if (uuid.empty()) return true;
  absl::MutexLock lock(&mutex_);
  return uuid_.empty() || uuid_ == uuid;
}

absl::Status ClusterIdentity::CheckAsked(absl::string_view uuid,
                                         bool counts_unnamed) const {
  if (uuid.empty()) {
    static metrics::Counter* const counter = unnamed.Of({});
    if (counts_unnamed) counter->Add();
    return absl::OkStatus();
  }
  if (Fits(uuid)) return absl::OkStatus();
  return OtherCluster(absl::StrCat(
      "this is a process of cluster ", ToString(),
      ", and the request is for the cluster of uuid ",
      absl::Utf8SafeCEscape(uuid.substr(0, kMaxShown)),
      ": another cluster has this address now. A client asks its other seeds; "
      "after a restore into a new cluster, or where all nodes have moved, "
      "restart it with that cluster's seeds"));
}

absl::Status ClusterIdentity::CheckServed(absl::string_view uuid) const {
  bool is_set;
  {
    absl::MutexLock lock(&mutex_);
    is_set = is_set_;
  }
  if (!uuid.empty() && !is_set) {
    const std::string name = ToString();
    absl::Status status = absl::UnavailableError(absl::StrCat(
        "this process", name.empty() ? "" : " of a cluster named ", name,
        " does not know its cluster's uuid yet, and the request is for the "
        "cluster of uuid ",
        absl::Utf8SafeCEscape(uuid.substr(0, kMaxShown)), "; retry"));
    kamino::v1::ErrorDetail detail;
    detail.set_reason(kamino::v1::REASON_RECONFIGURING);
    SetDetail(detail, &status);
    return status;
  }
  return CheckAsked(uuid);
}

}  // namespace kamino::rpc
