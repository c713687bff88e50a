#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/engine/tpcc_schema.h"

namespace kamino::bench::tpcc {
namespace {

absl::Status Violated(int condition, const std::string& where) {
  return absl::DataLossError(absl::StrCat("consistency condition ", condition,
                                          " does not hold for ", where));
}

// Conditions 2 to 4; adds to `*ytd`.
absl::Status CheckDistrict(Rows& rows, uint32_t w, uint32_t d, int64_t* ytd) {
  const std::string where = absl::StrCat("district ", w, "/", d);
  const std::string begin = Key({w, d}), end = Key({w, d + 1});
  ASSIGN_OR_RETURN(const auto district,
                   rows.Get<District>(kDistrictTable, begin));
  uint32_t last_order = 0, lines_promised = 0, lines = 0;
  absl::Status done =
      rows.Scan(kOrders, begin, end, 0,
                [&](absl::string_view key, absl::string_view row) {
                  Order order;
                  std::memcpy(&order, row.data(), sizeof(order));
                  last_order = PartOf(key, 2);
                  lines_promised += order.lines;
                  return true;
                });
  uint32_t first_new = 0, last_new = 0, new_orders = 0;
  if (done.ok()) {
    done = rows.Scan(kNewOrders, begin, end, 0,
                     [&](absl::string_view key, absl::string_view) {
                       last_new = PartOf(key, 2);
                       if (new_orders++ == 0) first_new = last_new;
                       return true;
                     });
  }
  if (done.ok()) {
    done = rows.Scan(kOrderLines, begin, end, 0,
                     [&](absl::string_view, absl::string_view) {
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

}  // namespace

absl::Status CheckTables(Transactor transact, const TpccScale& scale) {
  for (uint32_t w = 1; w <= scale.warehouses; ++w) {
    int64_t districts_ytd = 0;
    int64_t ytd = 0;
    for (uint32_t d = 1; d <= kDistricts; ++d) {
      const absl::Status good = transact([&](Rows& rows) {
        ytd = 0;  // it may be run again
        return CheckDistrict(rows, w, d, &ytd);
      });
      if (!good.ok()) return good;
      districts_ytd += ytd;
    }
    const absl::Status good = transact([&](Rows& rows) {
      ASSIGN_OR_RETURN(const auto row,
                       rows.Get<Warehouse>(kWarehouses, Key({w})));
      return row.ytd == districts_ytd
                 ? absl::OkStatus()
                 : Violated(1, absl::StrCat("warehouse ", w));
    });
    if (!good.ok()) return good;
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench::tpcc
