#include "replica/state/state_check.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/state/session_format.h"
#include "replica/state/state_format.h"

namespace kamino::replica {
namespace {

using engine::CheckedBlocks;
using engine::CheckedRecord;
using engine::Finding;
using engine::kNullObject;
using engine::ObjectId;
using session_format::OutcomeKind;
using session_format::SessionRecord;
using session_format::SessionSlot;
using state_format::EvictionHorizon;
using state_format::kClientKeyBytes;
using state_format::kStateMagic;
using state_format::RefusedRequests;
using state_format::StateRoot;

class StateCheck {
 public:
  StateCheck(CheckedBlocks* blocks, const Finding& found)
      : blocks_(blocks), found_(found) {}

  CheckedState Check(ObjectId id,
                     const std::function<void(const CheckedRecord&)>& visit) {
    CheckedState state;
    StateRoot root = {};
    if (!Take(id, id, "the root object", &root)) return state;
    if (root.magic == 0)
      return state;  // the chain's first mutation is not there
    if (root.magic != kStateMagic) {
      found_(id,
             "the root object is not that of a chain's state, or of another "
             "version");
      return state;
    }
    state.formatted = true;
    state.restoring = root.restoring != 0;
    if (root.restoring > 1) {
      found_(id, absl::StrCat("the root object has restoring = ",
                              root.restoring, "; it must be 0 or 1"));
    }
    EvictionHorizon horizon = {};
    Take(root.horizon, id, "the horizon of dropped outcomes", &horizon);
    RefusedRequests refused = {};
    Take(root.refused, id, "the list of refused requests", &refused);
    state.objects = CheckTree(blocks_, root.objects_root, found_, visit);
    state.clients = CheckTree(blocks_, root.clients_root, found_,
                              [this](const CheckedRecord& client) {
                                CheckOutcome(client.key, client.value);
                              });
    state.sessions = CheckTree(blocks_, root.sessions_root, found_,
                               [this](const CheckedRecord& session) {
                                 CheckSession(session.key, session.value);
                               });
    return state;
  }

 private:
  template <typename T>
  bool Take(ObjectId id, ObjectId from, absl::string_view name, T* to) {
    auto bytes = blocks_->Reach(id);
    if (!bytes.ok()) {
      found_(from, absl::StrCat(name, ", object ", id, ": ",
                                bytes.status().message()));
      return false;
    }
    if (bytes->size() < sizeof(T)) {
      found_(id, absl::StrCat(name, " has ", bytes->size(), " bytes, not ",
                              sizeof(T)));
      return false;
    }
    std::memcpy(to, bytes->data(), sizeof(T));
    return true;
  }

  uint64_t OffsetOf(absl::string_view value) const {
    return blocks_->OffsetOf(value.data());
  }

  void CheckOutcome(absl::string_view key, absl::string_view value) {
    kamino::internal::v1::StoredOutcome outcome;
    if (key.size() != kClientKeyBytes) {
      return found_(OffsetOf(value),
                    absl::StrCat("a client's key has ", key.size(), " bytes"));
    }
    if (!outcome.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
        outcome.number() == 0 || outcome.sequence() == 0) {
      found_(OffsetOf(value),
             absl::StrCat("the stored outcome of client ",
                          absl::BytesToHexString(key), " is damaged"));
    }
  }

  void CheckSession(absl::string_view key, absl::string_view value) {
    SessionRecord record = {};
    if (value.size() >= sizeof(record)) {
      std::memcpy(&record, value.data(), sizeof(record));
    }
    const size_t slots = size_t{record.window} * sizeof(ObjectId);
    if (key.size() != session_format::kSessionKeyBytes || record.window == 0 ||
        record.window > session_format::kMaxWindow ||
        value.size() < sizeof(record) + slots) {
      return found_(OffsetOf(value),
                    absl::StrCat("the record of session ",
                                 absl::BytesToHexString(key), " is damaged"));
    }
    for (uint32_t i = 0; i < record.window; ++i) {
      ObjectId slot = kNullObject;
      std::memcpy(&slot, value.data() + sizeof(record) + i * sizeof(ObjectId),
                  sizeof(slot));
      CheckSlot(
          absl::StrCat("slot ", i, " of session ", absl::BytesToHexString(key)),
          slot, OffsetOf(value), i, record.window);
    }
  }

  void CheckSlot(const std::string& name, ObjectId id, uint64_t from,
                 uint32_t index, uint32_t window) {
    SessionSlot slot = {};
    if (!Take(id, from, name, &slot)) return;
    const bool used = slot.kind != static_cast<uint32_t>(OutcomeKind::kNone);
    const bool is_long = slot.length > session_format::kInlineBytes;
    const bool sound =
        slot.kind <= static_cast<uint32_t>(OutcomeKind::kVoided) &&
        (used ? slot.number != 0 && (slot.number - 1) % window == index &&
                    slot.sequence != 0
              : slot.number == 0 && slot.length == 0) &&
        is_long == (slot.overflow != kNullObject);
    if (!sound) found_(id, absl::StrCat(name, " is damaged"));
    if (slot.overflow == kNullObject) return;
    auto bytes = blocks_->Reach(slot.overflow);
    if (!bytes.ok()) {
      found_(id, absl::StrCat("the result in ", name, ": ",
                              bytes.status().message()));
    } else if (bytes->size() < slot.length) {
      found_(id, absl::StrCat("the result in ", name, " has ", slot.length,
                              " bytes, more than object ", slot.overflow));
    }
  }

  CheckedBlocks* const blocks_;
  const Finding& found_;
};

}  // namespace

CheckedState CheckState(
    CheckedBlocks* blocks, ObjectId root, const Finding& found,
    const std::function<void(const CheckedRecord&)>& visit) {
  return StateCheck(blocks, found).Check(root, visit);
}

}  // namespace kamino::replica
