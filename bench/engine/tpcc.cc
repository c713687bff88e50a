#include "bench/engine/tpcc.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/engine/tpcc_rows.h"
#include "bench/engine/tpcc_terminal.h"

namespace kamino::bench {
namespace {

using engine::Transaction;
using engine::TransactionalStore;
using tpcc::Key;
using tpcc::PartOf;
using tpcc::Rows;

constexpr uint32_t kMaxThreads = 4;
// Per thread and slice, so that there is room for orders.
constexpr uint64_t kMaxTransactions = 5'000;
constexpr uint64_t kMaxQuickTransactions = 500;

// Objects and their parts of pages, in bytes.
constexpr uint64_t kCustomerFootprint = 1536;  // and its row in HISTORY
constexpr uint64_t kOrderFootprint = 3072;     // and its lines
constexpr uint64_t kStockFootprint = 640;
constexpr uint64_t kItemFootprint = 256;

// A terminal whose tables are B+trees of a store.
class TerminalWorker final : public Worker {
 public:
  TerminalWorker(TransactionalStore* store, const tpcc::Roots& roots,
                 tpcc::Terminal terminal)
      : store_(*store), roots_(roots), terminal_(std::move(terminal)) {}

  int Draw() override { return terminal_.Draw(); }
  absl::Status Run() override {
    return terminal_.Run([this](tpcc::Body body) {
      return Transact(store_, &retries_, [&](Transaction& transaction) {
        tpcc::EngineRows rows(&transaction, roots_);
        return body(rows);
      });
    });
  }

 private:
  TransactionalStore& store_;
  const tpcc::Roots& roots_;
  tpcc::Terminal terminal_;
};

class TablesDataset final : public TpccDataset {
 public:
  TablesDataset(TransactionalStore* store, const TpccScale& scale)
      : store_(*store), scale_(scale) {}

  absl::Status Load() override {
    RETURN_IF_ERROR(tpcc::MakeTrees(store_, &roots_));
    return tpcc::LoadTables([this](tpcc::Body body) { return InOne(body); },
                            scale_);
  }

  std::unique_ptr<Worker> MakeWorker(const Cell& cell, int thread,
                                     uint64_t seed) override {
    const auto number = static_cast<uint32_t>(thread);
    const tpcc::HistoryNumbers history{number + 1, &history_[number].next};
    return absl::make_unique<TerminalWorker>(
        &store_, roots_,
        tpcc::Terminal(scale_, /*mix=*/cell.what != 0,
                       number % scale_.warehouses + 1, history, seed));
  }

  // Takes the oldest orders away, delivered or not, until each district has as
  // many as in the beginning; and what was added to HISTORY.
  absl::Status Restore() override {
    for (uint32_t w = 1; w <= scale_.warehouses; ++w) {
      for (uint32_t d = 1; d <= tpcc::kDistricts; ++d) {
        RETURN_IF_ERROR(TrimDistrict(w, d));
      }
    }
    for (uint32_t i = 0; i < kMaxThreads; ++i) {
      for (uint32_t& next = history_[i].next; next > 0; --next) {
        absl::Status gone = InOne([&](Rows& rows) {
          return rows.Delete(tpcc::kHistory, tpcc::HistoryKey(i + 1, next - 1));
        });
        if (!gone.ok()) return gone;
      }
    }
    store_.Quiesce();
    return absl::OkStatus();
  }

  const tpcc::Roots& roots() const override { return roots_; }

  absl::Status Check() override {
    return tpcc::CheckTables([this](tpcc::Body body) { return InOne(body); },
                             scale_);
  }

 private:
  // Alone on its line, for its thread counts in it.
  struct alignas(64) HistoryCount {
    uint32_t next = 0;
  };

  template <typename Body>
  absl::Status InOne(Body body) {
    return Transact(store_, &retries_, [&](Transaction& transaction) {
      tpcc::EngineRows rows(&transaction, roots_);
      return body(rows);
    });
  }

  absl::Status TrimDistrict(uint32_t w, uint32_t d) {
    for (;;) {
      bool enough = false;
      absl::Status done = InOne([&](Rows& rows) {
        ASSIGN_OR_RETURN(
            const auto district,
            rows.Get<tpcc::District>(tpcc::kDistrictTable, Key({w, d})));
        uint32_t oldest = 0;
        absl::Status found =
            rows.Scan(tpcc::kOrders, Key({w, d}), Key({w, d + 1}), 1,
                      [&](absl::string_view key, absl::string_view) {
                        oldest = PartOf(key, 2);
                        return false;
                      });
        if (!found.ok()) return found;
        enough = district.next_order - oldest <= scale_.customers;
        return enough ? absl::OkStatus() : RemoveOrder(rows, w, d, oldest);
      });
      if (!done.ok() || enough) return done;
    }
  }

  absl::Status RemoveOrder(Rows& rows, uint32_t w, uint32_t d, uint32_t o) {
    const std::string key = Key({w, d, o});
    ASSIGN_OR_RETURN(const auto order,
                     rows.Get<tpcc::Order>(tpcc::kOrders, key));
    absl::Status gone = rows.Delete(tpcc::kNewOrders, key);
    if (!gone.ok() && !absl::IsNotFound(gone)) return gone;
    gone = rows.Delete(tpcc::kOrdersByCustomer,
                       tpcc::OrderOfCustomerKey(w, d, order.customer, o));
    for (uint32_t i = 1; i <= order.lines && gone.ok(); ++i) {
      gone = rows.Delete(tpcc::kOrderLines, Key({w, d, o, i}));
    }
    return gone.ok() ? rows.Delete(tpcc::kOrders, key) : gone;
  }

  TransactionalStore& store_;
  const TpccScale scale_;
  tpcc::Roots roots_{};
  std::array<HistoryCount, kMaxThreads> history_;
  uint64_t retries_ = 0;
};

TpccScale ScaleOf(Scale scale) {
  switch (scale) {
    case Scale::kFull:
      return {kMaxThreads, 20'000, 900};
    case Scale::kQuick:
      return {kMaxThreads, 2'000, 60};
    case Scale::kCount:
      break;
  }
  return {kMaxThreads, 1'000, 60};
}

class TpccSuite final : public Suite {
 public:
  explicit TpccSuite(Scale scale)
      : scale_(ScaleOf(scale)),
        max_transactions_(scale == Scale::kFull ? kMaxTransactions
                                                : kMaxQuickTransactions) {}

  std::string name() const override { return "tpcc"; }

  std::vector<std::string> kinds() const override {
    return {"new-order", "payment", "order-status", "delivery", "stock-level"};
  }

  std::vector<Cell> Cells() const override {
    std::vector<Cell> cells;
    for (bool mix : {false, true}) {
      for (int threads : {1, 2, 4}) cells.push_back(TpccCell(mix, threads));
    }
    return cells;
  }

  uint64_t Bytes() const override {
    const uint64_t customers =
        uint64_t{tpcc::kDistricts} * scale_.customers * scale_.warehouses;
    return customers * (kCustomerFootprint + kOrderFootprint) +
           kMaxThreads * max_transactions_ * kOrderFootprint +
           uint64_t{scale_.warehouses} * scale_.items * kStockFootprint +
           scale_.items * kItemFootprint;
  }

  uint64_t MaxTransactions() const override { return max_transactions_; }
  uint64_t CountedTransactions() const override { return 400; }

  std::unique_ptr<Dataset> MakeDataset(
      TransactionalStore* store) const override {
    return MakeTpccDataset(store, scale_);
  }

 private:
  const TpccScale scale_;
  const uint64_t max_transactions_;
};

}  // namespace

std::unique_ptr<Suite> MakeTpccSuite(Scale scale) {
  return absl::make_unique<TpccSuite>(scale);
}

std::unique_ptr<TpccDataset> MakeTpccDataset(TransactionalStore* store,
                                             const TpccScale& scale) {
  return absl::make_unique<TablesDataset>(store, scale);
}

Cell TpccCell(bool mix, int threads) {
  Cell cell;
  cell.workload = mix ? "tpcc-mix" : "tpcc-new-order";
  cell.distribution = "nurand";
  cell.threads = threads;
  cell.what = mix ? 1 : 0;
  cell.rolls_back = true;
  return cell;
}

}  // namespace kamino::bench
