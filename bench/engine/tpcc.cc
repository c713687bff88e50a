#include "bench/engine/tpcc.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/engine/tpcc_schema.h"
#include "bench/engine/tpcc_worker.h"

namespace kamino::bench {
namespace {

using engine::KeyValueReader;
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

class TablesDataset final : public TpccDataset {
 public:
  TablesDataset(TransactionalStore* store, const TpccScale& scale)
      : store_(*store), scale_(scale) {}

  absl::Status Load() override {
    return tpcc::LoadTables(store_, scale_, &roots_);
  }

  std::unique_ptr<Worker> MakeWorker(const Cell& cell, int thread,
                                     uint64_t seed) override {
    const auto number = static_cast<uint32_t>(thread);
    return absl::make_unique<tpcc::TpccWorker>(
        &store_, scale_, roots_, cell.what != 0, number % scale_.warehouses + 1,
        number + 1, &history_[number].next, seed);
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
          return rows.Tree(tpcc::kHistory)
              .Delete(tpcc::HistoryKey(i + 1, next - 1), 0);
        });
        if (!gone.ok()) return gone;
      }
    }
    store_.Quiesce();
    return absl::OkStatus();
  }

  const tpcc::Roots& roots() const override { return roots_; }

  absl::Status Check() override {
    for (uint32_t w = 1; w <= scale_.warehouses; ++w) {
      int64_t districts_ytd = 0;
      for (uint32_t d = 1; d <= tpcc::kDistricts; ++d) {
        absl::Status good = InOne([&](Rows& rows) {
          return CheckDistrict(rows, w, d, &districts_ytd);
        });
        if (!good.ok()) return good;
      }
      absl::Status good = InOne([&](Rows& rows) {
        ASSIGN_OR_RETURN(const auto row, rows.Get<tpcc::Warehouse>(
                                             tpcc::kWarehouses, Key({w})));
        return row.ytd == districts_ytd
                   ? absl::OkStatus()
                   : Violated(1, absl::StrCat("warehouse ", w));
      });
      if (!good.ok()) return good;
    }
    return absl::OkStatus();
  }

 private:
  // Alone on its line, for its thread counts in it.
  struct alignas(64) HistoryCount {
    uint32_t next = 0;
  };

  template <typename Body>
  absl::Status InOne(Body body) {
    return Transact(store_, &retries_, [&](Transaction& transaction) {
      Rows rows(&transaction, roots_);
      return body(rows);
    });
  }

  static absl::Status Violated(int condition, const std::string& where) {
    return absl::DataLossError(absl::StrCat("consistency condition ", condition,
                                            " does not hold for ", where));
  }

  absl::Status TrimDistrict(uint32_t w, uint32_t d) {
    for (;;) {
      bool enough = false;
      absl::Status done = InOne([&](Rows& rows) {
        ASSIGN_OR_RETURN(
            const auto district,
            rows.Get<tpcc::District>(tpcc::kDistrictTable, Key({w, d})));
        uint32_t oldest = 0;
        absl::Status found = rows.Tree(tpcc::kOrders)
                                 .Scan(Key({w, d}), Key({w, d + 1}), 1,
                                       [&](absl::string_view key, const auto&) {
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
    absl::Status gone = rows.Tree(tpcc::kNewOrders).Delete(key, 0);
    if (!gone.ok() && !absl::IsNotFound(gone)) return gone;
    gone = rows.Tree(tpcc::kOrdersByCustomer)
               .Delete(tpcc::OrderOfCustomerKey(w, d, order.customer, o), 0);
    for (uint32_t i = 1; i <= order.lines && gone.ok(); ++i) {
      gone = rows.Tree(tpcc::kOrderLines).Delete(Key({w, d, o, i}), 0);
    }
    return gone.ok() ? rows.Tree(tpcc::kOrders).Delete(key, 0) : gone;
  }

  // Conditions 2 to 4; adds to `*ytd`.
  absl::Status CheckDistrict(Rows& rows, uint32_t w, uint32_t d, int64_t* ytd) {
    const std::string where = absl::StrCat("district ", w, "/", d);
    const std::string begin = Key({w, d}), end = Key({w, d + 1});
    ASSIGN_OR_RETURN(const auto district,
                     rows.Get<tpcc::District>(tpcc::kDistrictTable, begin));
    uint32_t last_order = 0, lines_promised = 0, lines = 0;
    absl::Status done =
        rows.Tree(tpcc::kOrders)
            .Scan(
                begin, end, 0,
                [&](absl::string_view key, const KeyValueReader::Entry& entry) {
                  tpcc::Order order;
                  std::memcpy(&order, entry.value.data(), sizeof(order));
                  last_order = PartOf(key, 2);
                  lines_promised += order.lines;
                  return true;
                });
    uint32_t first_new = 0, last_new = 0, new_orders = 0;
    if (done.ok()) {
      done = rows.Tree(tpcc::kNewOrders)
                 .Scan(begin, end, 0, [&](absl::string_view key, const auto&) {
                   last_new = PartOf(key, 2);
                   if (new_orders++ == 0) first_new = last_new;
                   return true;
                 });
    }
    if (done.ok()) {
      done = rows.Tree(tpcc::kOrderLines)
                 .Scan(begin, end, 0, [&](absl::string_view, const auto&) {
                   ++lines;
                   return true;
                 });
    }
    if (!done.ok()) return done;
    if (district.next_order - 1 != last_order) return Violated(2, where);
    if (new_orders > 0 && last_new != last_order) return Violated(2, where);
    if (new_orders > 0 && last_new - first_new + 1 != new_orders) {
      return Violated(3, where);
    }
    if (lines != lines_promised) return Violated(4, where);
    *ytd += district.ytd;
    return absl::OkStatus();
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
