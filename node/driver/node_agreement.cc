#include "node/driver/node_agreement.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/heap/heap_format.h"
#include "replica/builtins.h"
#include "replica/errors.h"
#include "replica/log/log_entry_format.h"
#include "replica/log/ring_format.h"
#include "replica/state/restore.h"
#include "replica/state/session_format.h"
#include "replica/state/snapshot_format.h"
#include "replica/state/state_format.h"

namespace kamino::node {
namespace {

// In front of a log entry: replica/link/chain_frame.h, with an Append in it.
constexpr size_t kEnvelopeBytes = 256;

constexpr absl::string_view kProcedure = "procedure ";

membership::Range Exactly(uint64_t value) { return {value, value}; }

}  // namespace

membership::Agreement AgreementOf(const Storage& storage,
                                  const replica::ProcedureRegistry& procedures,
                                  size_t max_message) {
  membership::Agreement agreement;
  agreement["ring size in KiB (--ring_mb)"] =
      Exactly(storage.ring_bytes() >> 10);
  agreement["largest message"] = Exactly(max_message);
  agreement["heap format"] = Exactly(engine::heap_format::kHeapVersion);
  agreement["ring format"] = Exactly(replica::ring_format::kRingVersion);
  agreement["log entry format"] =
      Exactly(replica::log_entry_format::kEntryVersion);
  agreement["state format"] = Exactly(replica::state_format::kStateVersion);
  agreement[replica::session_format::kOwnersTerm] = {0, 1};
  agreement[replica::log_entry_format::kSkippedTerm] = {0, 1};
  agreement["snapshot format"] = Exactly(replica::snapshot_format::kVersion);
  agreement["built-in functions' version"] = Exactly(replica::kBuiltinsVersion);
  agreement[std::string(membership::kChainModeTerm)] =
      Exactly(static_cast<uint64_t>(storage.options().mode));
  if (RollsBackAlone(storage.options().mode)) {
    const UndoCopyKind kind = storage.options().undo_copy;
    agreement[std::string(membership::kUndoCopyTerm)] =
        Exactly(static_cast<uint64_t>(kind));
    // The other kinds have room for any entry: it depends on the sizes of heap
    // and ring, which are equal.
    if (kind == UndoCopyKind::kDynamic) {
      agreement["undo copy size in KiB (--alpha)"] =
          Exactly(storage.undo_copy_bytes() >> 10);
    }
  }
  for (const std::string& name : procedures.Names()) {
    if (replica::IsBuiltin(name)) continue;  // one version for all
    agreement[absl::StrCat(kProcedure, name)] = {0, 1,
                                                 procedures.IsWithdrawn(name)};
  }
  return agreement;
}

absl::Status CheckInForce(const membership::View& view,
                          absl::string_view function) {
  if (function == replica::kBeginRestoreFunction) {
    const auto term =
        view.in_force.find(replica::log_entry_format::kSkippedTerm);
    if (term != view.in_force.end() && term->second > 0) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(
        "nodes of this cluster run, or ran, a release that cannot restore "
        "backups; once all nodes run this release, run kamino admin finalize");
  }
  if (replica::IsBuiltin(function)) return absl::OkStatus();
  const std::string name = absl::StrCat(kProcedure, function);
  const auto found = view.in_force.find(name);
  if (found == view.in_force.end() || found->second > 0) {
    return absl::OkStatus();
  }
  bool withdrawn = true;
  for (const membership::Member& member : view.members) {
    const auto range = member.agreement.find(name);
    if (range == member.agreement.end()) {
      return replica::MakeError(
          kamino::v1::REASON_UNKNOWN_PROCEDURE,
          absl::StrCat("procedure ", function, " is not in force, as node ",
                       member.node_id, " does not have it"));
    }
    withdrawn &= range->second.withdrawn;
  }
  if (withdrawn) {
    return replica::MakeError(
        kamino::v1::REASON_UNKNOWN_PROCEDURE,
        absl::StrCat("procedure ", function,
                     " was withdrawn: this release of the nodes no longer "
                     "offers it"));
  }
  return replica::MakeError(
      kamino::v1::REASON_UNKNOWN_PROCEDURE,
      absl::StrCat("procedure ", function,
                   " is not in force, though all nodes have it: kamino admin "
                   "finalize"));
}

size_t MaxEntryBytes(size_t max_message) {
  return max_message > kEnvelopeBytes ? max_message - kEnvelopeBytes : 1;
}

}  // namespace kamino::node
