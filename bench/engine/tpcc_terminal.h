// One terminal of TPC-C, without its keying and thinking times.
#ifndef KAMINO_BENCH_ENGINE_TPCC_TERMINAL_H_
#define KAMINO_BENCH_ENGINE_TPCC_TERMINAL_H_

#include <array>
#include <cstdint>
#include <string>

#include "bench/engine/tpcc_schema.h"

namespace kamino::bench::tpcc {

// The keys of the rows that a terminal adds to HISTORY.
struct HistoryNumbers {
  uint32_t writer = 0;       // no two terminals have the same one
  uint32_t* next = nullptr;  // number of the writer's next row
};

// Not thread-safe.
class Terminal {
 public:
  // `home` is the terminal's warehouse. `*history.next` must outlive this.
  Terminal(const TpccScale& scale, bool mix, uint32_t home,
           const HistoryNumbers& history, uint64_t seed)
      : scale_(scale),
        mix_(mix),
        home_(home),
        history_(history),
        inputs_(scale, seed) {}

  // From now on new orders look for all of their items before they store
  // anything, so that one that fails has nothing to roll back.
  void LookForItemsFirst() { items_first_ = true; }

  // The kind of the transaction to come.
  int Draw();
  // Carries out what was drawn. One that is to be rolled back was, and is no
  // error.
  absl::Status Run(Transactor transact);

 private:
  struct Line {
    uint32_t item;
    uint32_t supplier;
    uint32_t quantity;
  };
  // Inputs of the transaction to come (clauses 2.4.1 to 2.8.1); which of them
  // count depends on its kind.
  struct Request {
    uint32_t district = 0;
    uint32_t customer_warehouse = 0;
    uint32_t customer_district = 0;
    uint32_t customer = 0;  // 0: by name
    std::string last;
    uint32_t line_count = 0;
    std::array<Line, kMaxLines> lines;
    bool unused_item = false;  // to be rolled back
    int64_t amount = 0;
    uint32_t carrier = 0;
    int32_t threshold = 0;
  };

  Random& random() { return inputs_.random(); }
  void DrawNewOrder();
  void DrawPayment();
  void DrawCustomerOrName();
  uint32_t OtherWarehouse();

  absl::Status NewOrder(Rows& rows);
  void ExpectLines(Rows& rows) const;
  absl::Status LookForItems(Rows& rows) const;
  absl::Status PutLine(Rows& rows, uint32_t order, uint32_t number,
                       const Line& line);
  absl::Status Payment(Rows& rows);
  absl::Status OrderStatus(Rows& rows);
  absl::Status Deliver(Rows& rows, uint32_t district);
  absl::Status StockLevel(Rows& rows);

  // The number of the request's customer.
  absl::StatusOr<uint32_t> FindCustomer(Rows& rows);

  const TpccScale scale_;
  const bool mix_;
  const uint32_t home_;
  const HistoryNumbers history_;
  Inputs inputs_;
  bool items_first_ = false;

  int kind_ = kNewOrder;
  Request request_;
  int64_t now_ = 0;  // a date that only has to move on
};

}  // namespace kamino::bench::tpcc

#endif  // KAMINO_BENCH_ENGINE_TPCC_TERMINAL_H_
