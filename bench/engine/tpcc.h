// TPC-C (revision 5.11) over B+trees: its nine tables as fixed structs, its
// five transactions, its mix. docs/bench_engine.md says what is reduced.
#ifndef KAMINO_BENCH_ENGINE_TPCC_H_
#define KAMINO_BENCH_ENGINE_TPCC_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "bench/engine/workload.h"

namespace kamino::bench {

// Cardinalities, for each warehouse but for the items, which all share.
struct TpccScale {
  uint32_t warehouses = 1;
  uint32_t items = 0;      // and stock of each, per warehouse; 100,000
  uint32_t customers = 0;  // per district, and as many orders; 3,000
};

// Kinds of transactions, in the order of Suite::kinds().
enum TpccKind {
  kNewOrder,
  kPayment,
  kOrderStatus,
  kDelivery,
  kStockLevel,
  kTpccKinds,
};

// Nine tables and two secondary indexes.
inline constexpr size_t kTpccTables = 11;

// New-order alone, and the full mix; on 1, 2 and 4 threads, each with its
// own home warehouse.
std::unique_ptr<Suite> MakeTpccSuite(Scale scale);

class TpccDataset : public Dataset {
 public:
  // Consistency conditions 1 to 4 (clause 3.3.2), with no worker at work.
  // kDataLoss says which one is violated, and where.
  virtual absl::Status Check() = 0;

  // Of the tables' trees, by tpcc::Table.
  virtual const std::array<engine::ObjectId, kTpccTables>& roots() const = 0;
};

std::unique_ptr<TpccDataset> MakeTpccDataset(engine::TransactionalStore* store,
                                             const TpccScale& scale);

// The cell for the mix, or for new-order alone.
Cell TpccCell(bool mix, int threads);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_TPCC_H_
