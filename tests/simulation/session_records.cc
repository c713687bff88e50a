#include "tests/simulation/session_records.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/log/log_entry.h"
#include "replica/state/state_machine.h"

namespace kamino::simulation {
namespace {

// Allows for clocks that are off.
constexpr double kMostOfLease = 0.99;

}  // namespace

void SessionRecords::OnAppended(uint64_t first, absl::string_view bytes,
                                absl::Time now) {
  if (!absl::StrContains(bytes, replica::kCloseSessionsFunction)) return;
  closings_.insert({{first, std::string(bytes)}, now});
}

absl::Status SessionRecords::Check(const CommittedLog& log,
                                   uint64_t last_epoch) const {
  for (const CommittedLog::Entry& entry : log.entries()) {
    const auto closing = closings_.find({entry.first, entry.bytes});
    if (closing == closings_.end()) continue;
    const auto log_entry = replica::LogEntry::Check(entry.bytes);
    if (!log_entry.ok()) return log_entry.status();
    const auto mutations = log_entry->Mutations();
    if (!mutations.ok()) return mutations.status();
    for (const replica::MutationView& mutation : *mutations) {
      if (mutation.function != replica::kCloseSessionsFunction) continue;
      kamino::internal::v1::CloseSessions closed;
      closed.ParseFromString(std::string(mutation.arguments));
      for (uint64_t id : closed.session_ids()) {
        absl::Status status = CheckClosed(id, closing->second, last_epoch);
        if (!status.ok()) return status;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status SessionRecords::CheckClosed(uint64_t id, absl::Time closed,
                                         uint64_t last_epoch) const {
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second.epoch < last_epoch) {
    return absl::OkStatus();
  }
  const Session& session = found->second;
  for (const absl::Time sent : session.sent) {
    const char* const wrong =
        sent > closed ? ", which was answered though"
        : !session.asked_to_close &&
                closed - sent < session.lease * kMostOfLease
            ? ", and has a lease of "
            : nullptr;
    if (wrong == nullptr) continue;
    return absl::DataLossError(
        absl::StrCat("session ", id, " was closed at ",
                     absl::FormatDuration(closed - absl::UnixEpoch()),
                     "; the head had heard of it, by what was sent at ",
                     absl::FormatDuration(sent - absl::UnixEpoch()), wrong,
                     sent > closed ? "" : absl::FormatDuration(session.lease)));
  }
  return absl::OkStatus();
}

}  // namespace kamino::simulation
