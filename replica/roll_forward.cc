// What becomes of an intent of an interrupted entry.
//
// The crash left the heap as it was after some of the entries, and perhaps with
// a part of the next one. So an object of an earlier entry may be gone by now,
// as a later one has freed it, and its space may be part of another one's, or
// of one of another size under the same id. Storing to it, or making it anew,
// would destroy that one. But where it does not matter what the object held, as
// one of these entries frees it, none of this is needed: what came before its
// last free is skipped. That free is not: the object may be there still.
//
// What is left goes in order. An allocation that is not skipped is of an object
// that is there after all entries. So no other object has its space then, and
// whatever had it before is freed by an entry before it, which has had its
// turn.
#include "replica/roll_forward.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::replica {

using engine::Intent;
using engine::IntentKind;

namespace {

// Of each object that is freed, where that is for the last time, counted in
// intents.
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
    // It was looked at when it came, or when the ring was opened; but bits of
    // what nobody reads may change.
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
  bool borne_out = true;
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
    borne_out = false;
    LOG(WARNING) << "the after-images of mutations " << entry.first() << " to "
                 << entry.last() << " are not what the head has hashed";
  }
  RETURN_IF_ERROR(executor_->BeginMending(intents, interrupted));
  uint64_t at = 0;
  for (const LogEntry& entry : entries) {
    RETURN_IF_ERROR(
        entry.VisitImages([&](const Intent& intent, absl::string_view image) {
          if (IsSkipped(frees, intent, at++)) return absl::OkStatus();
          if (intent.kind != IntentKind::kAlloc) {
            return executor_->MendIntent(intent, image, Mend::kForward);
          }
          std::string whole(image);
          whole.resize(intent.length);  // with zeros
          return executor_->MendIntent(intent, whole, Mend::kForward);
        }));
  }
  executor_->EndMending(borne_out);
  return absl::OkStatus();
}

}  // namespace kamino::replica
