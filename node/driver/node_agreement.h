// Features that a node must share with the others of its chain.
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

// The features that a node with that storage supports. Nodes need equal rings
// and message limits to take entries that another node has admitted, and a
// common format to read them. If all keep undo copies, one with less room could
// not execute every entry. A finalization puts a procedure in force if all
// members have it, and takes it out of force if all withdraw it. `max_message`
// is that of the links, in bytes.
membership::Agreement AgreementOf(const Storage& storage,
                                  const replica::ProcedureRegistry& procedures,
                                  size_t max_message);

// REASON_UNKNOWN_PROCEDURE for a procedure that is not in force: some member of
// `view` does not have it, it is not finalized, or the members' release
// withdrew it. The caller checks its name.
absl::Status CheckInForce(const membership::View& view,
                          absl::string_view function);

// The largest log entry that such a link carries, in bytes.
size_t MaxEntryBytes(size_t max_message);

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_NODE_AGREEMENT_H_
