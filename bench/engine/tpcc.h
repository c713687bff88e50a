// TPC-C (revision 5.11) over B+trees: its nine tables as fixed structs, its
// five transactions, its mix. docs/benchmarks/engine.md says what is reduced.
#ifndef KAMINO_BENCH_ENGINE_TPCC_H_
#define KAMINO_BENCH_ENGINE_TPCC_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "bench/engine/tpcc_schema.h"
#include "bench/engine/workload.h"

namespace kamino::bench::tpcc {

// Roots of the tables' B+trees, by Table: nine tables and two secondary
// indexes.
using Roots = std::array<engine::ObjectId, kTables>;

}  // namespace kamino::bench::tpcc

namespace kamino::bench {

// New-order alone, and the full mix; on 1, 2 and 4 threads, each with its
// own home warehouse.
std::unique_ptr<Suite> MakeTpccSuite(Scale scale);

class TpccDataset : public Dataset {
 public:
  // See tpcc::CheckTables; with no worker at work.
  virtual absl::Status Check() = 0;

  // Roots of the tables' trees.
  virtual const tpcc::Roots& roots() const = 0;
};

std::unique_ptr<TpccDataset> MakeTpccDataset(engine::TransactionalStore* store,
                                             const TpccScale& scale);

// The cell for the mix, or for new-order alone.
Cell TpccCell(bool mix, int threads);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_TPCC_H_
