#include "replica/state/sessions.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/index/key_value.h"
#include "replica/errors.h"

namespace kamino::replica {

using engine::KeyValue;
using engine::KeyValueReader;
using engine::kNullObject;
using engine::ObjectId;
using session_format::kInlineBytes;
using session_format::kMaxWindow;
using session_format::kSessionKeyBytes;
using session_format::kSlotHeaderBytes;
using session_format::OutcomeKind;
using session_format::SessionRecord;
using session_format::SessionSlot;

namespace {

std::string SessionKey(uint64_t id) {
  std::string key(kSessionKeyBytes, '\0');
  for (size_t i = 0; i < kSessionKeyBytes; ++i) {
    key[i] = static_cast<char>(id >> (8 * (kSessionKeyBytes - 1 - i)));
  }
  return key;
}

uint64_t SessionIdOf(absl::string_view key) {
  uint64_t id = 0;
  for (char c : key) id = id << 8 | static_cast<uint8_t>(c);
  return id;
}

absl::Span<const std::byte> AsBytes(const void* data, size_t size) {
  return {static_cast<const std::byte*>(data), size};
}

absl::Status NotOpen(uint64_t id) {
  return MakeError(
      kamino::v1::REASON_SESSION_EXPIRED,
      absl::StrCat("session ", id, " is not open, or not any more"));
}

// --- Stored state.

struct StoredSession {
  SessionRecord record;
  std::vector<ObjectId> slots;
  std::string owner;
};

// Whether the bytes after the slots can be an owner's name.
bool IsOwner(uint32_t format, absl::string_view bytes) {
  switch (format) {
    case session_format::kRecordFormat:
      return bytes.empty();
    case session_format::kOwnedFormat:
      return !bytes.empty() && bytes.size() <= session_format::kMaxOwnerBytes;
    default:
      return false;
  }
}

absl::StatusOr<StoredSession> ParseSession(uint64_t id,
                                           absl::string_view bytes) {
  StoredSession session;
  const auto damaged = [id] {
    return absl::DataLossError(
        absl::StrCat("the record of session ", id, " is damaged"));
  };
  if (bytes.size() < sizeof(session.record)) return damaged();
  std::memcpy(&session.record, bytes.data(), sizeof(session.record));
  bytes.remove_prefix(sizeof(session.record));
  const uint32_t window = session.record.window;
  if (window == 0 || window > kMaxWindow ||
      bytes.size() < window * sizeof(ObjectId)) {
    return damaged();
  }
  session.slots.resize(window);
  std::memcpy(session.slots.data(), bytes.data(), window * sizeof(ObjectId));
  bytes.remove_prefix(window * sizeof(ObjectId));
  if (!IsOwner(session.record.format, bytes)) return damaged();
  session.owner = std::string(bytes);
  return session;
}

// Nothing: the session is not open.
absl::StatusOr<std::optional<StoredSession>> ReadSession(engine::Reader& reader,
                                                         ObjectId root,
                                                         uint64_t id) {
  auto entry = KeyValueReader(&reader, root).Get(SessionKey(id));
  if (absl::IsNotFound(entry.status())) return std::optional<StoredSession>();
  RETURN_IF_ERROR(entry.status());
  ASSIGN_OR_RETURN(auto session, ParseSession(id, entry->value));
  return std::optional<StoredSession>(std::move(session));
}

// Whether slot `index` of `window` can have this content.
bool IsSound(const SessionSlot& slot, size_t index, size_t window) {
  const bool is_long = slot.length > kInlineBytes;
  switch (static_cast<OutcomeKind>(slot.kind)) {
    case OutcomeKind::kNone:
      return slot.number == 0 && slot.sequence == 0 &&
             slot.overflow == kNullObject && slot.length == 0;
    case OutcomeKind::kVoided:
      if (slot.length != 0) return false;
      [[fallthrough]];
    case OutcomeKind::kCommitted:
      return slot.number != 0 && (slot.number - 1) % window == index &&
             slot.sequence != 0 && is_long == (slot.overflow != kNullObject);
  }
  return false;
}

absl::StatusOr<SessionSlot> ReadSlot(engine::Reader& reader,
                                     absl::Span<const ObjectId> slots,
                                     size_t index) {
  auto bytes = reader.Read(slots[index]);
  SessionSlot slot;
  if (bytes.ok() && bytes->size() >= sizeof(slot)) {
    std::memcpy(&slot, bytes->data(), sizeof(slot));
    if (IsSound(slot, index, slots.size())) return slot;
  } else if (!bytes.ok() && !absl::IsNotFound(bytes.status())) {
    return bytes.status();
  }
  return absl::DataLossError(absl::StrCat(
      "slot ", index, " of a session, object ", slots[index], ", is damaged"));
}

absl::StatusOr<Sessions::Outcome> ReadOutcome(engine::Reader& reader,
                                              const SessionSlot& slot) {
  Sessions::Outcome outcome;
  outcome.sequence = slot.sequence;
  outcome.voided = slot.kind == static_cast<uint32_t>(OutcomeKind::kVoided);
  if (slot.overflow == kNullObject) {
    outcome.result.assign(reinterpret_cast<const char*>(slot.result),
                          slot.length);
    return outcome;
  }
  ASSIGN_OR_RETURN(auto bytes, reader.Read(slot.overflow));
  if (bytes.size() < slot.length) {
    return absl::DataLossError(
        absl::StrCat("the result of ", slot.length, " bytes in object ",
                     slot.overflow, " is damaged: that has ", bytes.size()));
  }
  outcome.result.assign(reinterpret_cast<const char*>(bytes.data()),
                        slot.length);
  return outcome;
}

// The next number of a slot, given its last one; 0: none yet.
uint64_t NextNumber(uint64_t last, size_t index, size_t window) {
  return last == 0 ? index + 1 : last + window;
}

absl::Status CheckTurn(uint64_t id, uint64_t number, uint64_t last,
                       uint64_t next, size_t window) {
  if (number == next) return absl::OkStatus();
  if (number < next) {
    return MakeError(
        kamino::v1::REASON_SUPERSEDED,
        absl::StrCat("number ", number, " of session ", id,
                     " is over: its slot has come to number ", last));
  }
  return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                   absl::StrCat("number ", number, " of session ", id,
                                " comes too early: with a window of ", window,
                                " its slot takes number ", next, " next"));
}

absl::Status CheckWanted(const kamino::internal::v1::OpenSession& wanted) {
  if (wanted.owner().size() > session_format::kMaxOwnerBytes) {
    return MakeError(
        kamino::v1::REASON_INVALID_ARGUMENT,
        absl::StrCat("the identity of who opens session ", wanted.session_id(),
                     " has ", wanted.owner().size(), " bytes; at most ",
                     session_format::kMaxOwnerBytes));
  }
  if (wanted.session_id() != 0 && wanted.window() > 0 &&
      wanted.window() <= kMaxWindow) {
    return absl::OkStatus();
  }
  return MakeError(
      kamino::v1::REASON_INVALID_ARGUMENT,
      absl::StrCat("no session has the id ", wanted.session_id(),
                   " and a window of ", wanted.window(),
                   "; an id is not 0, and a window 1 to ", kMaxWindow));
}

// An empty name stands for no authentication, or for no owner: everything is
// allowed.
absl::Status CheckSame(uint64_t id, absl::string_view owner,
                       absl::string_view who) {
  if (owner.empty() || who.empty() || owner == who) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("session ", id, " is not of ",
                                                  who,
                                                  ": another identity has "
                                                  "opened it"));
}

}  // namespace

// --- Mutations of a session.

absl::StatusOr<const Sessions::Known*> Sessions::Find(engine::Reader& reader,
                                                      ObjectId root,
                                                      uint64_t id) {
  const auto changed = changed_.find(id);
  if (changed != changed_.end()) {
    return changed->second.slots.empty() ? nullptr : &changed->second;
  }
  const auto cached = cache_.find(id);
  if (cached != cache_.end()) return &cached->second;
  ASSIGN_OR_RETURN(auto session, ReadSession(reader, root, id));
  if (!session.has_value()) return nullptr;
  // The transaction under way has neither opened nor closed it, so its
  // committed state counts.
  Known known{std::move(session->slots), std::move(session->owner)};
  return &cache_.emplace(id, std::move(known)).first->second;
}

absl::Status Sessions::CheckOwner(engine::Reader& reader, ObjectId root,
                                  uint64_t id, const Principal* who) {
  if (who == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Known* const known, Find(reader, root, id));
  if (known == nullptr) return absl::OkStatus();
  return CheckSame(id, known->owner, who->name);
}

absl::StatusOr<Sessions::Place> Sessions::FindPlace(engine::Reader& reader,
                                                    ObjectId root, uint64_t id,
                                                    uint64_t number) {
  ASSIGN_OR_RETURN(const Known* const known, Find(reader, root, id));
  if (known == nullptr) return NotOpen(id);
  const std::vector<ObjectId>& slots = known->slots;
  if (number == 0) {
    return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                     "the numbers of a session's mutations begin with 1");
  }
  const size_t index = (number - 1) % slots.size();
  ASSIGN_OR_RETURN(const SessionSlot slot, ReadSlot(reader, slots, index));
  Place place;
  place.slot = slots[index];
  place.overflow = slot.overflow;
  place.length = slot.length;
  if (number == slot.number) {
    ASSIGN_OR_RETURN(place.taken, ReadOutcome(reader, slot));
    return place;
  }
  RETURN_IF_ERROR(CheckTurn(id, number, slot.number,
                            NextNumber(slot.number, index, slots.size()),
                            slots.size()));
  return place;
}

absl::Status Sessions::Store(engine::Transaction& transaction,
                             const Place& place, uint64_t number,
                             const Outcome& outcome) {
  const absl::string_view result = outcome.result;
  SessionSlot slot = {};
  slot.number = number;
  slot.sequence = outcome.sequence;
  slot.length = static_cast<uint32_t>(result.size());
  slot.kind = static_cast<uint32_t>(outcome.voided ? OutcomeKind::kVoided
                                                   : OutcomeKind::kCommitted);
  absl::string_view within = result;
  if (LongBytes(result.size()) > 0) {
    ASSIGN_OR_RETURN(slot.overflow, transaction.Alloc(slot.length));
    RETURN_IF_ERROR(transaction.Overwrite(
        slot.overflow, 0, AsBytes(result.data(), result.size())));
    within = {};
  }
  if (place.overflow != kNullObject) {
    RETURN_IF_ERROR(transaction.Free(place.overflow));
  }
  // One range, no longer than the content.
  return transaction.OverwriteBoth(place.slot, 0,
                                   AsBytes(&slot, kSlotHeaderBytes),
                                   AsBytes(within.data(), within.size()));
}

absl::StatusOr<std::optional<bool>> Sessions::IsTaken(engine::Reader& reader,
                                                      ObjectId root,
                                                      uint64_t id,
                                                      uint64_t number) {
  ASSIGN_OR_RETURN(const Known* const known, Find(reader, root, id));
  if (known == nullptr || number == 0) return std::optional<bool>();
  const std::vector<ObjectId>& slots = known->slots;
  ASSIGN_OR_RETURN(const SessionSlot slot,
                   ReadSlot(reader, slots, (number - 1) % slots.size()));
  return std::optional<bool>(number <= slot.number);
}

// --- Opening and closing.

absl::StatusOr<uint64_t> Sessions::Open(
    engine::Transaction& transaction, ObjectId root,
    const kamino::internal::v1::OpenSession& wanted, uint64_t sequence) {
  RETURN_IF_ERROR(CheckWanted(wanted));
  const uint64_t id = wanted.session_id();
  ASSIGN_OR_RETURN(const auto open, ReadSession(transaction, root, id));
  if (open.has_value()) {
    RETURN_IF_ERROR(CheckSame(id, open->owner, wanted.owner()));
    if (open->record.epoch == wanted.epoch()) return open->record.opened;
    return MakeError(
        kamino::v1::REASON_SESSION_EXPIRED,
        absl::StrCat("session ", id, " is of recovery epoch ",
                     open->record.epoch, ", which is over; the chain is in ",
                     wanted.epoch(), ": open one of another id"));
  }
  std::vector<ObjectId> slots(wanted.window());
  for (ObjectId& slot : slots) {
    ASSIGN_OR_RETURN(slot, transaction.Alloc(sizeof(SessionSlot)));
  }
  const SessionRecord record{
      .format = wanted.owner().empty() ? session_format::kRecordFormat
                                       : session_format::kOwnedFormat,
      .window = wanted.window(),
      .epoch = wanted.epoch(),
      .opened = sequence,
      .lease_ms = wanted.lease_ms(),
  };
  std::string value(reinterpret_cast<const char*>(&record), sizeof(record));
  value.append(reinterpret_cast<const char*>(slots.data()),
               slots.size() * sizeof(ObjectId));
  value.append(wanted.owner());
  RETURN_IF_ERROR(
      KeyValue(&transaction, root).Put(SessionKey(id), value, sequence));
  changed_[id] = {std::move(slots), wanted.owner()};
  return sequence;
}

absl::Status Sessions::Close(engine::Transaction& transaction, ObjectId root,
                             absl::Span<const uint64_t> ids,
                             uint64_t sequence) {
  bool closed = false;
  for (const uint64_t id : ids) {
    ASSIGN_OR_RETURN(const auto session, ReadSession(transaction, root, id));
    if (!session.has_value()) continue;
    for (size_t i = 0; i < session->slots.size(); ++i) {
      ASSIGN_OR_RETURN(const SessionSlot slot,
                       ReadSlot(transaction, session->slots, i));
      if (slot.overflow != kNullObject) {
        RETURN_IF_ERROR(transaction.Free(slot.overflow));
      }
      RETURN_IF_ERROR(transaction.Free(session->slots[i]));
    }
    RETURN_IF_ERROR(
        KeyValue(&transaction, root).Delete(SessionKey(id), sequence));
    changed_[id] = {};
    closed = true;
  }
  if (closed) return absl::OkStatus();
  return MakeError(kamino::v1::REASON_SESSION_EXPIRED,
                   "none of the sessions to be closed is open");
}

absl::Status Sessions::Visit(engine::Reader& reader, ObjectId root,
                             absl::FunctionRef<void(const Session&)> visit) {
  absl::Status damage;
  const auto visit_one = [&](uint64_t id,
                             absl::string_view value) -> absl::Status {
    ASSIGN_OR_RETURN(auto stored, ParseSession(id, value));
    for (ObjectId slot : stored.slots) reader.Prefetch(slot);
    Session session;
    session.id = id;
    session.window = stored.record.window;
    session.epoch = stored.record.epoch;
    session.opened = stored.record.opened;
    session.lease = absl::Milliseconds(stored.record.lease_ms);
    for (size_t i = 0; i < stored.slots.size(); ++i) {
      ASSIGN_OR_RETURN(const SessionSlot slot,
                       ReadSlot(reader, stored.slots, i));
      session.result_bytes += LongBytes(slot.length);
    }
    session.owner = stored.owner;
    visit(session);
    cache_[id] = {std::move(stored.slots), std::move(stored.owner)};
    return absl::OkStatus();
  };
  absl::Status scanned = KeyValueReader(&reader, root)
                             .Scan("", "", /*limit=*/0,
                                   [&](absl::string_view key, const auto& at) {
                                     damage =
                                         visit_one(SessionIdOf(key), at.value);
                                     return damage.ok();
                                   });
  return scanned.ok() ? damage : scanned;
}

// --- The cache.

void Sessions::Ended(bool committed) {
  for (auto& [id, known] : changed_) {
    if (!committed) break;
    if (known.slots.empty()) {
      cache_.erase(id);
    } else {
      cache_[id] = std::move(known);
    }
  }
  changed_.clear();
}

void Sessions::Forget() {
  cache_.clear();
  changed_.clear();
}

}  // namespace kamino::replica
