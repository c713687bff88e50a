// TPC-C's terminals as a closed load: its transactions over a subject's
// objects, whose transactions are optimistic. Each terminal is a thread, which
// waits.
#ifndef KAMINO_BENCH_SERVICE_TERMINALS_H_
#define KAMINO_BENCH_SERVICE_TERMINALS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "bench/engine/tpcc_schema.h"
#include "bench/service/load.h"
#include "bench/service/subject.h"

namespace kamino::bench::service {

// A row is an object: its key is the table's letter and the row's own key.
absl::Status LoadTpcc(Subject* subject, const TpccScale& scale);
// See tpcc::CheckTables; while no terminal is at work.
absl::Status CheckTpcc(Subject* subject, const TpccScale& scale);

// Runs `terminals` terminals, with all home warehouses in turn. `seed`: rows of
// HISTORY are new where it is. A terminal with a failed transaction ends.
Outcome RunTerminals(Subject* subject, const TpccScale& scale, int terminals,
                     uint64_t seed, const Window& window);

}  // namespace kamino::bench::service

#endif  // KAMINO_BENCH_SERVICE_TERMINALS_H_
