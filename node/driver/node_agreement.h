// What a node must have in common with the others of its chain.
#ifndef KAMINO_NODE_DRIVER_NODE_AGREEMENT_H_
#define KAMINO_NODE_DRIVER_NODE_AGREEMENT_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "membership/agreement.h"
#include "membership/view.h"
#include "node/storage/storage.h"
#include "replica/procedure.h"

namespace kamino::node {

// What a node with that storage can work with. Without equal rings and messages
// one node could not take what another has admitted, without a format that both
// know not read it. Where all keep undo copies, one with less room could not
// execute what another has. A procedure is in force once all members have it
// and that is finalized.
// `max_message` is that of the links, in bytes.
membership::Agreement AgreementOf(const Storage& storage,
                                  const replica::ProcedureRegistry& procedures,
                                  size_t max_message);

// REASON_UNKNOWN_PROCEDURE for a procedure that is not in force, as a member of
// `view` does not have it, or nobody has finalized it; its name is the caller's
// to check.
absl::Status CheckInForce(const membership::View& view,
                          absl::string_view function);

// The largest log entry that such a link carries, in bytes.
size_t MaxEntryBytes(size_t max_message);

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_NODE_AGREEMENT_H_
