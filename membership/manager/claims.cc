#include "membership/manager/claims.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "membership/view_history.h"

namespace kamino::membership {
namespace {

constexpr size_t kUuidBytes = 16;

bool IsFarBeyond(uint64_t said, uint64_t known, uint64_t most) {
  return said > known && said - known > most;
}

// Why the uuid of a cluster does not match `stored`.
std::string Foreign(const std::string& uuid, const View& stored) {
  if (uuid.size() != kUuidBytes) return "it names no cluster";
  if (stored.cluster_uuid.empty() || stored.cluster_uuid == uuid) return "";
  return absl::StrCat("it belongs to the cluster of uuid ",
                      absl::BytesToHexString(uuid),
                      ", and the uuid of this cluster is ",
                      absl::BytesToHexString(stored.cluster_uuid));
}

}  // namespace

std::string Absurd(const NodeReport& report, const View& stored) {
  const auto& [received, applied, cleaned] = report.cursors;
  if (cleaned > applied) {
    return absl::StrCat("it reports mutations up to ", cleaned,
                        " as cleaned, but only those up to ", applied,
                        " as applied");
  }
  if (std::max(received, applied) >= kNeverReached) {
    return absl::StrCat("it reports mutations up to ",
                        std::max(received, applied),
                        ", which no chain reaches");
  }
  for (const uint64_t id : {report.view_id, report.member_view}) {
    if (IsFarBeyond(id, stored.id, kMostUnheardOf)) {
      return absl::StrCat("it reports view ", id, ", but view ", stored.id,
                          " is stored");
    }
  }
  for (const uint64_t epoch : {report.view_epoch, report.epoch}) {
    if (IsFarBeyond(epoch, stored.epoch, kMostEpochsUnheardOf)) {
      return absl::StrCat("it reports recovery epoch ", epoch, ", but epoch ",
                          stored.epoch, " is stored");
    }
  }
  // A node never accepts a view older than one in which it was a member.
  const KnownView knows{report.view_epoch, report.view_id, 0};
  if (report.view_id != 0 && knows.IsBefore(report.was_in())) {
    return absl::StrCat("it reports that it was a member of view ",
                        report.member_view, ", but knows only view ",
                        report.view_id);
  }
  return "";
}

std::string AbsurdIncarnation(uint64_t incarnation, uint64_t known) {
  if (!IsFarBeyond(incarnation, known, kMostUnheardOf)) return "";
  return absl::StrCat("it reports incarnation ", incarnation,
                      ", but the last one known is ", known);
}

bool IsWhole(const View& view, const View& stored) {
  return view.formed() && view.cluster_id == stored.cluster_id &&
         view.chain_id == stored.chain_id && HasItsDigest(view) &&
         Foreign(view.cluster_uuid, stored).empty() &&
         !IsFarBeyond(view.id, stored.id, kMostUnheardOf) &&
         !IsFarBeyond(view.epoch, stored.epoch, kMostEpochsUnheardOf);
}

std::string Unshown(const NodeReport& report, const View& newest,
                    const View& stored) {
  const KnownView knows{report.view_epoch, report.view_id, report.view_digest};
  std::string lacks;
  uint64_t view_id = report.view_id;
  if (knows.IsBefore(report.was_in())) {
    view_id = report.member_view;
    lacks = Foreign(report.cluster_uuid, stored);
  } else if (!IsWhole(newest, stored)) {
    lacks = "it does not send it, or sends a damaged one or another cluster's";
  } else if (newest.id < view_id ||
             (newest.id == view_id && newest.digest != report.view_digest)) {
    lacks = absl::StrCat("it sends another one, view ", newest.id);
  }
  return lacks.empty()
             ? ""
             : absl::StrCat("it reports view ", view_id, ", where view ",
                            stored.id, " is stored, but ", lacks);
}

}  // namespace kamino::membership
