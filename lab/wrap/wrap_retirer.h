// Retires the wraps of a WrapStore, for programs: until then the log fills, and
// transactions that find no room in it have to do so themselves. Wraps that
// close within its period share the drains of their retirement.
#ifndef KAMINO_LAB_WRAP_WRAP_RETIRER_H_
#define KAMINO_LAB_WRAP_WRAP_RETIRER_H_

#include "engine/baselines/background_worker.h"
#include "lab/wrap/wrap_store.h"

namespace kamino::engine {

using WrapRetirer = StoreWorker<WrapStore>;

}  // namespace kamino::engine

#endif  // KAMINO_LAB_WRAP_WRAP_RETIRER_H_
