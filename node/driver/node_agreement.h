// What a node must have in common with the others of its chain.
#ifndef KAMINO_NODE_DRIVER_NODE_AGREEMENT_H_
#define KAMINO_NODE_DRIVER_NODE_AGREEMENT_H_

#include <cstddef>

#include "membership/agreement.h"
#include "node/storage/storage.h"
#include "replica/procedure.h"

namespace kamino::node {

// Without equal rings and messages one node could not take what another has
// admitted, without equal formats not read it, without equal procedures not
// execute it. `max_message` is that of the links, in bytes.
membership::Agreement AgreementOf(const Storage& storage,
                                  const replica::ProcedureRegistry& procedures,
                                  size_t max_message);

// The largest log entry that such a link carries, in bytes.
size_t MaxEntryBytes(size_t max_message);

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_NODE_AGREEMENT_H_
