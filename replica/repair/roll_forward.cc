// Rolling the intents of interrupted entries forward.
//
// The crash left the heap as it was after some of the entries, perhaps with a
// part of the next one. So an object of an earlier entry may be gone, because a
// later one has freed it, and its space may belong to another object, or to one
// of another size under the same id. Storing to it, or allocating it anew,
// would destroy that object. But if one of these entries frees an object, its
// earlier content does not matter: everything before its last free is skipped.
// The free itself is not: the object may still be there.
//
// The rest is done in order. An allocation that is not skipped is of an object
// that exists after all entries. So no other object has its space then, and an
// earlier entry, which was handled before, freed the previous one.
#include "replica/repair/roll_forward.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::replica {

using engine::Intent;
using engine::IntentKind;

namespace {

// For each freed object, its last free, counted in intents.
using LastFrees = absl::flat_hash_map<engine::ObjectId, uint64_t>;

bool IsSkipped(const LastFrees& frees, const Intent& intent, uint64_t at) {
  const auto last = frees.find(intent.object);
  return last != frees.end() && at < last->second;
}

}  // namespace

absl::StatusOr<std::vector<LogEntry>> RollForward::EntriesOf(
    uint64_t after, uint64_t last) const {
  std::vector<LogEntry> entries;
  while (after < last) {
    // It was checked when it arrived, or when the ring was opened; but bytes
    // may decay between reads.
    ASSIGN_OR_RETURN(
        const LogEntry entry,
        LogEntry::Check(ring_->EntryOf(after + 1).bytes(), ring_->mode()));
    entries.push_back(entry);
    after = entry.last();
  }
  return entries;
}

absl::Status RollForward::Interrupted(uint64_t after, uint64_t last) {
  ASSIGN_OR_RETURN(const auto entries, EntriesOf(after, last));
  return Run(entries, /*interrupted=*/true);
}

absl::Status RollForward::Untouched(uint64_t after, uint64_t last) {
  ASSIGN_OR_RETURN(const auto entries, EntriesOf(after, last));
  for (const LogEntry& entry : entries) {
    RETURN_IF_ERROR(Run({entry}, /*interrupted=*/false));
  }
  return absl::OkStatus();
}

absl::Status RollForward::Run(const std::vector<LogEntry>& entries,
                              bool interrupted) {
  engine::WriteSet intents;
  LastFrees frees;
  bool confirmed = true;
  for (const LogEntry& entry : entries) {
    ASSIGN_OR_RETURN(const auto write_set, entry.WriteSet());
    for (const Intent& intent : write_set) {
      if (intent.kind == IntentKind::kFree) {
        frees[intent.object] = intents.size();
      }
      intents.push_back(intent);
    }
    ASSIGN_OR_RETURN(const uint64_t hash, entry.HashImages());
    if (hash == entry.image_hash()) continue;
    confirmed = false;
    LOG(WARNING) << "the after-images of mutations " << entry.first() << " to "
                 << entry.last() << " do not match the head's hash";
  }
  RETURN_IF_ERROR(executor_->BeginRepair(intents, interrupted));
  uint64_t at = 0;
  for (const LogEntry& entry : entries) {
    RETURN_IF_ERROR(entry.VisitImages([&](const Intent& intent,
                                          absl::string_view image) {
      if (IsSkipped(frees, intent, at++)) return absl::OkStatus();
      if (intent.kind != IntentKind::kAlloc) {
        return executor_->RepairIntent(intent, image,
                                       RepairDirection::kForward);
      }
      std::string whole(image);
      whole.resize(intent.length);  // with zeros
      return executor_->RepairIntent(intent, whole, RepairDirection::kForward);
    }));
  }
  executor_->EndRepair(confirmed);
  return absl::OkStatus();
}

}  // namespace kamino::replica
