#include "client/cli/backup_text.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/escape.h"
#include "client/cli/table.h"
#include "client/cli/text.h"

namespace kamino::client {

kamino::v1::BackupSummary Summarize(const kamino::v1::BackupHeader& header,
                                    const kamino::v1::BackupTrailer& trailer,
                                    uint64_t file_bytes, absl::Duration took) {
  kamino::v1::BackupSummary summary;
  summary.set_backup_id(absl::BytesToHexString(header.backup_id()));
  summary.set_cluster_id(header.cluster_id());
  summary.set_cluster_uuid(header.cluster_uuid());
  summary.set_chain_id(header.chain_id());
  summary.set_epoch(header.epoch());
  summary.set_sequence(header.sequence());
  summary.set_chain_mode(header.chain_mode());
  summary.set_release(header.release());
  *summary.mutable_in_force() = header.in_force();
  summary.set_saved_unix_ms(header.saved_unix_ms());
  summary.set_heap_used(header.heap_used());
  summary.set_objects(trailer.objects());
  summary.set_bytes(trailer.bytes());
  summary.set_file_bytes(file_bytes);
  summary.set_content_hash(absl::BytesToHexString(trailer.content_hash()));
  summary.set_seconds(absl::ToDoubleSeconds(took));
  return summary;
}

std::string Describe(const kamino::v1::BackupSummary& summary) {
  const absl::Time saved =
      absl::FromUnixMillis(static_cast<int64_t>(summary.saved_unix_ms()));
  return absl::StrCat(
      "backup     ", summary.backup_id(), "\n",  //
      "cluster    ", Printable(summary.cluster_id()), " (",
      Printable(summary.cluster_uuid()), ")\n", "saved      ",
      absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", saved, absl::UTCTimeZone()),
      ", by release ", Printable(summary.release()), "\n",  //
      "sequence   ", summary.sequence(), ", epoch ", summary.epoch(), "\n",
      "objects    ", summary.objects(), ", ", FormatBytes(summary.bytes()),
      summary.file_bytes() == 0
          ? ""
          : absl::StrCat(" in ", FormatBytes(summary.file_bytes())),
      "\n",  //
      "hash       ", summary.content_hash(), "\n");
}

}  // namespace kamino::client
