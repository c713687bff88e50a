#include "membership/claims.h"

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
  if (uuid.size() != kUuidBytes) return "does not say of which cluster";
  if (stored.cluster_uuid.empty() || stored.cluster_uuid == uuid) return "";
  return absl::StrCat("it is of the cluster of uuid ",
                      absl::BytesToHexString(uuid), ", and this one's is ",
                      absl::BytesToHexString(stored.cluster_uuid));
}

}  // namespace

std::string Absurd(const NodeReport& report, const View& stored) {
  const auto& [received, applied, cleaned] = report.cursors;
  if (cleaned > applied) {
    return absl::StrCat("it says that it has cleaned mutations up to ", cleaned,
                        ", and applied those up to ", applied, " only");
  }
  if (std::max(received, applied) >= kNeverReached) {
    return absl::StrCat("it says that it has mutations up to ",
                        std::max(received, applied),
                        ", and no chain comes so far");
  }
  for (const uint64_t id : {report.view_id, report.member_view}) {
    if (IsFarBeyond(id, stored.id, kMostUnheardOf)) {
      return absl::StrCat("it says that there is a view ", id,
                          ", and what is stored is view ", stored.id);
    }
  }
  for (const uint64_t epoch : {report.view_epoch, report.epoch}) {
    if (IsFarBeyond(epoch, stored.epoch, kMostEpochsUnheardOf)) {
      return absl::StrCat("it says that there is a recovery epoch ", epoch,
                          ", and what is stored is of epoch ", stored.epoch);
    }
  }
  // A node never accepts a view older than one in which it was a member.
  const KnownView knows{report.view_epoch, report.view_id, 0};
  if (report.view_id != 0 && knows.IsBefore(report.was_in())) {
    return absl::StrCat("it says that it was a member of view ",
                        report.member_view, ", and knows view ", report.view_id,
                        " only");
  }
  return "";
}

std::string AbsurdIncarnation(uint64_t incarnation, uint64_t known) {
  if (!IsFarBeyond(incarnation, known, kMostUnheardOf)) return "";
  return absl::StrCat("it says that this is its start ", incarnation,
                      ", and the last one known is ", known);
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
    lacks = "does not bring it, or brings it damaged, or of another cluster";
  } else if (newest.id < view_id ||
             (newest.id == view_id && newest.digest != report.view_digest)) {
    lacks = absl::StrCat("brings another one, of id ", newest.id);
  }
  return lacks.empty() ? ""
                       : absl::StrCat("it says that there is a view ", view_id,
                                      ", where view ", stored.id,
                                      " is stored, but ", lacks);
}

}  // namespace kamino::membership
