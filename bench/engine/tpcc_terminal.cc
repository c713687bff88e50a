#include "bench/engine/tpcc_terminal.h"

#include <algorithm>
#include <vector>

#include "base/status_macros.h"

namespace kamino::bench::tpcc {
namespace {

constexpr uint32_t kLastOrders = 20;  // that stock-level looks at

// The end of a transaction that is to be rolled back (clause 2.4.1.4).
absl::Status UnusedItem() { return absl::CancelledError("unused item"); }

}  // namespace

// --- Inputs.

int Terminal::Draw() {
  ++now_;
  request_.district = static_cast<uint32_t>(random().Between(1, kDistricts));
  request_.customer_warehouse = home_;
  request_.customer_district = request_.district;
  const uint64_t card = mix_ ? random().Below(100) : 0;
  if (card < 45) {
    kind_ = kNewOrder;
    DrawNewOrder();
  } else if (card < 88) {
    kind_ = kPayment;
    DrawPayment();
  } else if (card < 92) {
    kind_ = kOrderStatus;
    DrawCustomerOrName();
  } else if (card < 96) {
    kind_ = kDelivery;
    request_.carrier = static_cast<uint32_t>(random().Between(1, 10));
  } else {
    kind_ = kStockLevel;
    request_.threshold = static_cast<int32_t>(random().Between(10, 20));
  }
  return kind_;
}

void Terminal::DrawNewOrder() {
  request_.customer = inputs_.Customer();
  request_.line_count = static_cast<uint32_t>(random().Between(5, kMaxLines));
  request_.unused_item = random().Below(100) == 0;
  for (uint32_t i = 0; i < request_.line_count; ++i) {
    const bool remote = random().Below(100) == 0;
    request_.lines[i] = {inputs_.Item(), remote ? OtherWarehouse() : home_,
                         static_cast<uint32_t>(random().Between(1, 10))};
  }
  if (request_.unused_item) {
    request_.lines[request_.line_count - 1].item = scale_.items + 1;
  }
}

void Terminal::DrawPayment() {
  if (random().Below(100) < 15) {
    request_.customer_warehouse = OtherWarehouse();
    request_.customer_district =
        static_cast<uint32_t>(random().Between(1, kDistricts));
  }
  DrawCustomerOrName();
  request_.amount = static_cast<int64_t>(random().Between(1'00, 5000'00));
}

void Terminal::DrawCustomerOrName() {
  if (random().Below(100) < 60) {
    request_.customer = 0;
    request_.last = inputs_.LastName();
  } else {
    request_.customer = inputs_.Customer();
  }
}

uint32_t Terminal::OtherWarehouse() {
  if (scale_.warehouses == 1) return home_;
  const auto other =
      static_cast<uint32_t>(random().Between(1, scale_.warehouses - 1));
  return other < home_ ? other : other + 1;
}

// --- Transactions.

absl::Status Terminal::Run(Transactor transact) {
  if (kind_ == kDelivery) {
    // Clause 2.7.4: an order of each district, each in a transaction.
    for (uint32_t district = 1; district <= kDistricts; ++district) {
      const absl::Status done =
          transact([&](Rows& rows) { return Deliver(rows, district); });
      if (!done.ok()) return done;
    }
    return absl::OkStatus();
  }
  const absl::Status done = transact([this](Rows& rows) {
    switch (kind_) {
      case kNewOrder:
        return NewOrder(rows);
      case kPayment:
        return Payment(rows);
      case kOrderStatus:
        return OrderStatus(rows);
      default:
        return StockLevel(rows);
    }
  });
  if (absl::IsCancelled(done)) return absl::OkStatus();
  if (done.ok() && kind_ == kPayment) ++*history_.next;
  return done;
}

absl::Status Terminal::NewOrder(Rows& rows) {
  const uint32_t d = request_.district;
  ExpectLines(rows);
  if (items_first_) RETURN_IF_ERROR(LookForItems(rows));
  RETURN_IF_ERROR((rows.Get<Warehouse>(kWarehouses, Key({home_}))).status());
  const std::string district_key = Key({home_, d});
  ASSIGN_OR_RETURN(auto district,
                   rows.Get<District>(kDistrictTable, district_key));
  const uint32_t o = district.next_order++;
  absl::Status done =
      rows.Update(kDistrictTable, district_key, district, district.next_order);
  if (!done.ok()) return done;
  const auto customer =
      rows.Get<Customer>(kCustomers, Key({home_, d, request_.customer}));
  if (!customer.ok()) return customer.status();

  Order order{};
  order.customer = request_.customer;
  order.entered = now_;
  order.lines = request_.line_count;
  order.all_local = 1;
  for (uint32_t i = 0; i < request_.line_count; ++i) {
    if (request_.lines[i].supplier != home_) order.all_local = 0;
  }
  done = rows.Put(kOrders, Key({home_, d, o}), order);
  if (done.ok()) done = rows.PutKey(kNewOrders, Key({home_, d, o}));
  if (done.ok()) {
    done = rows.PutKey(kOrdersByCustomer,
                       OrderOfCustomerKey(home_, d, order.customer, o));
  }
  for (uint32_t i = 0; i < request_.line_count && done.ok(); ++i) {
    done = PutLine(rows, o, i + 1, request_.lines[i]);
  }
  return done;
}

void Terminal::ExpectLines(Rows& rows) const {
  std::vector<std::string> items, stocks;
  for (uint32_t i = 0; i < request_.line_count; ++i) {
    const Line& line = request_.lines[i];
    items.push_back(Key({line.item}));
    stocks.push_back(Key({line.supplier, line.item}));
  }
  rows.Expect(kItems, items);
  rows.Expect(kStocks, stocks);
}

absl::Status Terminal::LookForItems(Rows& rows) const {
  for (uint32_t i = 0; i < request_.line_count; ++i) {
    const auto item = rows.Get<Item>(kItems, Key({request_.lines[i].item}));
    if (absl::IsNotFound(item.status())) return UnusedItem();
    if (!item.ok()) return item.status();
  }
  return absl::OkStatus();
}

absl::Status Terminal::PutLine(Rows& rows, uint32_t order, uint32_t number,
                               const Line& line) {
  const auto item = rows.Get<Item>(kItems, Key({line.item}));
  if (absl::IsNotFound(item.status())) return UnusedItem();
  if (!item.ok()) return item.status();
  const std::string stock_key = Key({line.supplier, line.item});
  ASSIGN_OR_RETURN(auto stock, rows.Get<Stock>(kStocks, stock_key));
  Stock::Level& level = stock.level;
  const auto quantity = static_cast<int32_t>(line.quantity);
  level.quantity -= quantity;
  if (level.quantity < 10) level.quantity += 91;
  level.ytd += quantity;
  ++level.orders;
  if (line.supplier != home_) ++level.remote_orders;
  RETURN_IF_ERROR(rows.Update(kStocks, stock_key, stock, level));

  OrderLine row{};
  row.item = line.item;
  row.supplier = line.supplier;
  row.quantity = line.quantity;
  row.amount = quantity * item->price;
  row.district_info = stock.district_info[request_.district - 1];
  return rows.Put(kOrderLines, Key({home_, request_.district, order, number}),
                  row);
}

absl::StatusOr<uint32_t> Terminal::FindCustomer(Rows& rows) {
  if (request_.customer != 0) return request_.customer;
  const uint32_t w = request_.customer_warehouse;
  const uint32_t d = request_.customer_district;
  // All of that name in the order of their first names: the one in the middle
  // (clause 2.5.2.2).
  std::string begin = absl::StrCat(Key({w, d}), request_.last);
  std::string end = begin;
  begin.push_back('\0');
  end.push_back('\1');
  std::vector<uint32_t> found;
  absl::Status scanned =
      rows.Scan(kCustomersByName, begin, end, 0,
                [&](absl::string_view key, absl::string_view) {
                  key.remove_prefix(key.size() - 4);
                  found.push_back(PartOf(key, 0));
                  return true;
                });
  if (!scanned.ok()) return scanned;
  if (found.empty()) return absl::DataLossError("a customer is missing");
  return found[(found.size() - 1) / 2];
}

absl::Status Terminal::Payment(Rows& rows) {
  const std::string warehouse_key = Key({home_});
  ASSIGN_OR_RETURN(auto warehouse,
                   rows.Get<Warehouse>(kWarehouses, warehouse_key));
  warehouse.ytd += request_.amount;
  absl::Status done =
      rows.Update(kWarehouses, warehouse_key, warehouse, warehouse.ytd);
  if (!done.ok()) return done;
  const std::string district_key = Key({home_, request_.district});
  auto district = rows.Get<District>(kDistrictTable, district_key);
  if (!district.ok()) return district.status();
  district->ytd += request_.amount;
  done = rows.Update(kDistrictTable, district_key, *district, district->ytd);
  if (!done.ok()) return done;

  ASSIGN_OR_RETURN(const auto number, FindCustomer(rows));
  const std::string customer_key =
      Key({request_.customer_warehouse, request_.customer_district, number});
  ASSIGN_OR_RETURN(auto customer, rows.Get<Customer>(kCustomers, customer_key));
  Customer::Account& account = customer.account;
  account.balance -= request_.amount;
  account.ytd_payment += request_.amount;
  ++account.payments;
  done = rows.Update(kCustomers, customer_key, customer, account);
  if (done.ok() && View(customer.credit) == "BC") {
    const std::string data =
        absl::StrCat(number, " ", request_.customer_district, " ",
                     request_.customer_warehouse, " ", request_.district, " ",
                     home_, " ", request_.amount, " ", View(customer.data));
    inputs_.Fill(&customer.data, data);
    done = rows.Update(kCustomers, customer_key, customer, customer.data);
  }
  if (!done.ok()) return done;
  History history{number,
                  request_.customer_district,
                  request_.customer_warehouse,
                  request_.district,
                  home_,
                  now_,
                  request_.amount,
                  {}};
  inputs_.Fill(&history.data, absl::StrCat(View(warehouse.name), "    ",
                                           View(district->name)));
  return rows.Put(kHistory, HistoryKey(history_.writer, *history_.next),
                  history);
}

absl::Status Terminal::OrderStatus(Rows& rows) {
  const uint32_t d = request_.district;
  ASSIGN_OR_RETURN(const auto number, FindCustomer(rows));
  RETURN_IF_ERROR(
      (rows.Get<Customer>(kCustomers, Key({home_, d, number}))).status());
  uint32_t o = 0;
  absl::Status done = rows.Scan(kOrdersByCustomer, Key({home_, d, number}),
                                Key({home_, d, number + 1}), 1,
                                [&o](absl::string_view key, absl::string_view) {
                                  o = ~PartOf(key, 3);
                                  return false;
                                });
  // Its orders may be among those that the bench has removed since.
  if (!done.ok() || o == 0) return done;
  RETURN_IF_ERROR((rows.Get<Order>(kOrders, Key({home_, d, o}))).status());
  int64_t amount = 0;
  return rows.Scan(kOrderLines, Key({home_, d, o}), Key({home_, d, o + 1}), 0,
                   [&](absl::string_view, absl::string_view row) {
                     OrderLine line;
                     std::memcpy(&line, row.data(), sizeof(line));
                     amount += line.amount;
                     return true;
                   });
}

absl::Status Terminal::Deliver(Rows& rows, uint32_t d) {
  uint32_t o = 0;
  absl::Status done =
      rows.Scan(kNewOrders, Key({home_, d}), Key({home_, d + 1}), 1,
                [&o](absl::string_view key, absl::string_view) {
                  o = PartOf(key, 2);
                  return false;
                });
  if (!done.ok() || o == 0) return done;
  const std::string order_key = Key({home_, d, o});
  done = rows.Delete(kNewOrders, order_key);
  if (!done.ok()) return done;
  ASSIGN_OR_RETURN(auto order, rows.Get<Order>(kOrders, order_key));
  order.carrier = request_.carrier;
  done = rows.Update(kOrders, order_key, order, order.carrier);
  int64_t amount = 0;
  for (uint32_t i = 1; i <= order.lines && done.ok(); ++i) {
    const std::string line_key = Key({home_, d, o, i});
    ASSIGN_OR_RETURN(auto line, rows.Get<OrderLine>(kOrderLines, line_key));
    amount += line.amount;
    line.delivered = now_;
    done = rows.Update(kOrderLines, line_key, line, line.delivered);
  }
  if (!done.ok()) return done;
  const std::string customer_key = Key({home_, d, order.customer});
  ASSIGN_OR_RETURN(auto customer, rows.Get<Customer>(kCustomers, customer_key));
  customer.account.balance += amount;
  ++customer.account.deliveries;
  return rows.Update(kCustomers, customer_key, customer, customer.account);
}

absl::Status Terminal::StockLevel(Rows& rows) {
  const uint32_t d = request_.district;
  ASSIGN_OR_RETURN(const auto district,
                   rows.Get<District>(kDistrictTable, Key({home_, d})));
  const uint32_t next = district.next_order;
  const uint32_t first = next > kLastOrders ? next - kLastOrders : 1;
  std::vector<uint32_t> items;
  absl::Status done =
      rows.Scan(kOrderLines, Key({home_, d, first}), Key({home_, d, next}), 0,
                [&](absl::string_view, absl::string_view row) {
                  OrderLine line;
                  std::memcpy(&line, row.data(), sizeof(line));
                  items.push_back(line.item);
                  return true;
                });
  if (!done.ok()) return done;
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  uint32_t low = 0;
  for (uint32_t item : items) {
    ASSIGN_OR_RETURN(const auto stock,
                     rows.Get<Stock>(kStocks, Key({home_, item})));
    if (stock.level.quantity < request_.threshold) ++low;
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench::tpcc
