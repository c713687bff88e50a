#include "replica/state/restore.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kamino/internal/v1/operation.pb.h"
#include "proto/backup_records.h"
#include "replica/errors.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::BeginRestore;
using kamino::internal::v1::FinishRestore;
using kamino::internal::v1::GiveUpRestore;
using kamino::internal::v1::RestoreObjects;
using state_format::EvictionHorizon;
using state_format::StateRoot;

constexpr char kHowToGiveUp[] =
    "or give it up: kamino backup restore --give_up";

template <typename Message>
absl::StatusOr<Message> Parse(absl::string_view arguments) {
  Message message;
  if (message.ParseFromArray(arguments.data(),
                             static_cast<int>(arguments.size()))) {
    return message;
  }
  return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                   absl::StrCat("no ", Message::descriptor()->full_name()));
}

static_assert(kMaxRecordKeyBytes == engine::kMaxKeyBytes &&
                  kMaxRecordValueBytes == engine::kMaxValueBytes,
              "a backup takes what an object may be");
static_assert(sizeof(StateRoot::backup_id) == kBackupIdBytes);

absl::Status CheckId(absl::string_view backup_id) {
  if (backup_id.size() == kBackupIdBytes) return absl::OkStatus();
  return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                   absl::StrCat("a backup's id has ", kBackupIdBytes,
                                " bytes, not ", backup_id.size()));
}

}  // namespace

bool IsOfRestore(absl::string_view function) {
  return function == kBeginRestoreFunction || function == kRestoreFunction ||
         function == kFinishRestoreFunction ||
         function == kGiveUpRestoreFunction;
}

absl::Status CheckRestoreBase(uint64_t base) {
  if (base < kBackupSequenceEnd) return absl::OkStatus();
  return MakeError(
      kamino::v1::REASON_INVALID_ARGUMENT,
      absl::StrCat("to go on from number ", base, " is too high: it has to be ",
                   "below ", kBackupSequenceEnd));
}

absl::Status BeingRestored() {
  return MakeError(kamino::v1::REASON_RESTORING,
                   "a backup is being restored into this cluster, which is not "
                   "finished; if it was interrupted, run kamino backup restore "
                   "again, or give it up with --give_up");
}

absl::StatusOr<Restore::Step> Restore::Execute(const MutationView& mutation,
                                               uint64_t sequence) {
  RETURN_IF_ERROR(ReadRoot());
  if (mutation.function == kBeginRestoreFunction) {
    return Begin(mutation.arguments, sequence);
  }
  if (mutation.function == kRestoreFunction) {
    return Put(mutation.arguments, sequence);
  }
  if (mutation.function == kFinishRestoreFunction) {
    return Finish(mutation.arguments);
  }
  return GiveUp(mutation.arguments, sequence);
}

absl::Status Restore::ReadRoot() {
  ASSIGN_OR_RETURN(auto bytes, transaction_->Read(root_));
  std::memcpy(&state_, bytes.data(), sizeof(state_));
  return absl::OkStatus();
}

bool Restore::IsOf(absl::string_view backup_id) const {
  return backup_id.size() == sizeof(state_.backup_id) &&
         std::memcmp(backup_id.data(), state_.backup_id,
                     sizeof(state_.backup_id)) == 0;
}

absl::Status Restore::CheckUnderWay(absl::string_view backup_id) const {
  if (state_.restoring == 0) {
    return WithReason(absl::FailedPreconditionError(
                          "no restore into this cluster is in progress: it was "
                          "finished or given up, or none was begun; --give_up "
                          "does not undo a finished one"),
                      kamino::v1::REASON_NOT_EMPTY);
  }
  if (IsOf(backup_id)) return absl::OkStatus();
  const absl::string_view other(reinterpret_cast<const char*>(state_.backup_id),
                                sizeof(state_.backup_id));
  return MakeError(kamino::v1::REASON_RESTORING,
                   absl::StrCat("backup ", absl::BytesToHexString(other),
                                " is being restored into this cluster, not ",
                                absl::BytesToHexString(backup_id),
                                "; go on with that one, ", kHowToGiveUp));
}

absl::Status Restore::Mark(bool restoring, absl::string_view backup_id) {
  constexpr uint32_t kOffset = offsetof(StateRoot, restoring);
  ASSIGN_OR_RETURN(
      auto bytes,
      transaction_->Write(root_, kOffset, sizeof(StateRoot) - kOffset));
  state_.restoring = restoring ? 1 : 0;
  std::memset(state_.backup_id, 0, sizeof(state_.backup_id));
  std::memcpy(state_.backup_id, backup_id.data(),
              std::min(backup_id.size(), sizeof(state_.backup_id)));
  std::memcpy(bytes, &state_.restoring, sizeof(StateRoot) - kOffset);
  return absl::OkStatus();
}

absl::Status Restore::RaiseHorizon(uint64_t base) {
  ASSIGN_OR_RETURN(auto bytes, transaction_->Write(state_.horizon, 0,
                                                   sizeof(EvictionHorizon)));
  const EvictionHorizon horizon{base};
  std::memcpy(bytes, &horizon, sizeof(horizon));
  return absl::OkStatus();
}

absl::StatusOr<Restore::Step> Restore::Begin(absl::string_view arguments,
                                             uint64_t sequence) {
  ASSIGN_OR_RETURN(const auto begin, Parse<BeginRestore>(arguments));
  RETURN_IF_ERROR(CheckId(begin.backup_id()));
  if (state_.restoring != 0) {
    RETURN_IF_ERROR(CheckUnderWay(begin.backup_id()));
    return Step{"", /*repeated=*/true};
  }
  if (begin.base() <= sequence) {
    return MakeError(
        kamino::v1::REASON_INVALID_ARGUMENT,
        absl::StrCat("to go on from number ", begin.base(),
                     " is too low: this chain has come to ", sequence));
  }
  engine::KeyValue objects = Objects();
  absl::Status forgotten = objects.ForgetBefore(begin.base());
  if (absl::IsFailedPrecondition(forgotten)) {
    return MakeError(kamino::v1::REASON_NOT_EMPTY,
                     "this cluster has objects; a backup is restored into one "
                     "that has none");
  }
  RETURN_IF_ERROR(forgotten);
  RETURN_IF_ERROR(RaiseHorizon(begin.base()));
  RETURN_IF_ERROR(Mark(/*restoring=*/true, begin.backup_id()));
  return Step{};
}

absl::StatusOr<Restore::Step> Restore::Put(absl::string_view arguments,
                                           uint64_t sequence) {
  ASSIGN_OR_RETURN(const auto put, Parse<RestoreObjects>(arguments));
  RETURN_IF_ERROR(CheckUnderWay(put.backup_id()));
  engine::KeyValue objects = Objects();
  absl::string_view left = put.records();
  bool changed = false;
  for (size_t count = 0; !left.empty(); ++count) {
    BackupRecord record;
    if (!TakeBackupRecord(&left, &record) || count == kMaxRestoredObjects) {
      return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                       "the objects to be restored are damaged, or too many");
    }
    if (record.version == 0 || record.version >= sequence) {
      return MakeError(
          kamino::v1::REASON_INVALID_ARGUMENT,
          absl::StrCat("an object to be restored has version ", record.version,
                       ", and the chain is at ", sequence));
    }
    auto there = objects.Get(record.key);
    if (there.ok() && there->version == record.version &&
        there->value == record.value) {
      continue;
    }
    if (!there.ok() && !absl::IsNotFound(there.status())) {
      return ExplainKeyError(there.status(), record.key);
    }
    absl::Status stored = objects.Put(record.key, record.value, record.version);
    if (!stored.ok()) return ExplainKeyError(stored, record.key);
    changed = true;
  }
  return Step{"", /*repeated=*/!changed};
}

absl::StatusOr<Restore::Step> Restore::Finish(absl::string_view arguments) {
  ASSIGN_OR_RETURN(const auto finish, Parse<FinishRestore>(arguments));
  RETURN_IF_ERROR(CheckId(finish.backup_id()));
  if (state_.restoring == 0 && IsOf(finish.backup_id())) {
    return Step{"", /*repeated=*/true};
  }
  RETURN_IF_ERROR(CheckUnderWay(finish.backup_id()));
  RETURN_IF_ERROR(Mark(/*restoring=*/false, finish.backup_id()));
  return Step{};
}

absl::StatusOr<Restore::Step> Restore::GiveUp(absl::string_view arguments,
                                              uint64_t sequence) {
  ASSIGN_OR_RETURN(const auto give_up, Parse<GiveUpRestore>(arguments));
  if (state_.restoring == 0) {
    // A finished restore stays, with its id.
    constexpr char kNone[kBackupIdBytes] = {};
    if (!IsOf({kNone, sizeof(kNone)})) return CheckUnderWay("");
    return Step{"", /*repeated=*/true};
  }
  engine::KeyValue objects = Objects();
  const uint64_t most = std::clamp<uint64_t>(give_up.most(), 1, kMaxGivenUp);
  std::vector<std::string> keys;
  bool more = false;
  RETURN_IF_ERROR(objects.Scan(
      "", "", /*limit=*/0,
      [&](absl::string_view key, const engine::KeyValueReader::Entry&) {
        more = keys.size() == most;
        if (!more) keys.emplace_back(key);
        return !more;
      }));
  for (const std::string& key : keys) {
    RETURN_IF_ERROR(objects.Delete(key, sequence));
  }
  if (!more) {
    RETURN_IF_ERROR(Mark(/*restoring=*/false, ""));
  }
  return Step{more ? "more" : "", /*repeated=*/false};
}

}  // namespace kamino::replica
