// Restores a backup's objects into a chain by mutations of the head's own. The
// first one requires a chain without objects and marks it, so that clients
// cannot read or write until the last one. Meanwhile a restore may be started
// again, from the same backup, or given up. docs/operate/backup.md.
//
// Objects keep their versions, which are mutation numbers of another chain. So
// that this chain never gives such a number to something else, its numbers
// continue above all of them: the head skips the ones between
// (Mutation::skipped). The clients' numbers of the other chain are lower, and
// the chain claims nothing about them: outcomes count as dropped, and no range
// as unchanged.
//
// Deterministic, like the state machine it belongs to.
#ifndef KAMINO_REPLICA_STATE_RESTORE_H_
#define KAMINO_REPLICA_STATE_RESTORE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/index/key_value.h"
#include "engine/index/version_summary.h"
#include "engine/transaction.h"
#include "replica/log/log_entry.h"
#include "replica/state/state_format.h"

namespace kamino::replica {

// Arguments: those of operation.proto. Submitted by the head, not by a client.
inline constexpr char kBeginRestoreFunction[] = "kamino.begin_restore";
inline constexpr char kRestoreFunction[] = "kamino.restore";
inline constexpr char kFinishRestoreFunction[] = "kamino.finish_restore";
inline constexpr char kGiveUpRestoreFunction[] = "kamino.give_up_restore";

// Limit of one kamino.restore: more may not fit a transaction. A single object
// may have more bytes.
inline constexpr size_t kMaxRestoredObjects = 256;
inline constexpr size_t kMaxRestoredBytes = 512u << 10;
// Limit of one kamino.give_up_restore.
inline constexpr uint32_t kMaxGivenUp = 256;

// REASON_INVALID_ARGUMENT: a chain whose numbers continue above `base` may run
// out of them. Checked before a restore is submitted; mutations in the log are
// executed regardless.
absl::Status CheckRestoreBase(uint64_t base);

bool IsOfRestore(absl::string_view function);

// The error for clients meanwhile.
absl::Status BeingRestored();

class Restore {
 public:
  // `root`: the heap's. All must outlive this; `summary` is that of the
  // objects.
  Restore(engine::Transaction* transaction, engine::ObjectId root,
          engine::VersionSummary* summary)
      : transaction_(transaction), root_(root), summary_(summary) {}

  struct Step {
    std::string result;
    bool repeated = false;  // done before; nothing was changed
  };
  // One of the functions above. Errors, beside the transaction's:
  // REASON_NOT_EMPTY, REASON_RESTORING: the chain has objects, or another
  // backup's are being restored, or none; REASON_INVALID_ARGUMENT.
  absl::StatusOr<Step> Execute(const MutationView& mutation, uint64_t sequence);

 private:
  absl::StatusOr<Step> Begin(absl::string_view arguments, uint64_t sequence);
  absl::StatusOr<Step> Put(absl::string_view arguments, uint64_t sequence);
  absl::StatusOr<Step> Finish(absl::string_view arguments);
  absl::StatusOr<Step> GiveUp(absl::string_view arguments, uint64_t sequence);

  absl::Status ReadRoot();
  // Not OK: another backup or none is being restored.
  absl::Status CheckUnderWay(absl::string_view backup_id) const;
  bool IsOf(absl::string_view backup_id) const;
  absl::Status Mark(bool restoring, absl::string_view backup_id);
  absl::Status RaiseHorizon(uint64_t base);
  engine::KeyValue Objects() const {
    return engine::KeyValue(transaction_, state_.objects_root, summary_);
  }

  engine::Transaction* const transaction_;
  const engine::ObjectId root_;
  engine::VersionSummary* const summary_;
  state_format::StateRoot state_ = {};
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_RESTORE_H_
