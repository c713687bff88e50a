#include <numeric>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "bench/engine/tpcc_schema.h"

namespace kamino::bench::tpcc {
namespace {

constexpr uint32_t kBatch = 4;  // rows and what belongs to them
constexpr int64_t kLoadDate = 1'600'000'000;

// Calls `body(rows, i)` for i of [1, count], a few to a transaction.
template <typename EachBody>
absl::Status InBatches(Transactor transact, uint32_t count, EachBody body) {
  for (uint32_t next = 1; next <= count; next += kBatch) {
    const uint32_t end = std::min(next + kBatch, count + 1);
    const absl::Status done = transact([&](Rows& rows) {
      absl::Status status;
      for (uint32_t i = next; i < end && status.ok(); ++i) {
        status = body(rows, i);
      }
      return status;
    });
    if (!done.ok()) return done;
  }
  return absl::OkStatus();
}

class Loader {
 public:
  Loader(Transactor transact, const TpccScale& scale)
      : transact_(transact), scale_(scale), inputs_(scale, 1) {}

  absl::Status Load() {
    absl::Status done = InBatches(
        transact_, scale_.items,
        [this](Rows& rows, uint32_t item) { return PutItem(rows, item); });
    for (uint32_t w = 1; w <= scale_.warehouses && done.ok(); ++w) {
      done = LoadWarehouse(w);
    }
    return done;
  }

 private:
  absl::Status PutItem(Rows& rows, uint32_t number) {
    Item item{};
    item.image = static_cast<uint32_t>(inputs_.random().Between(1, 10'000));
    inputs_.FillRandom(&item.name, 14);
    item.price = static_cast<int64_t>(inputs_.random().Between(100, 10'000));
    inputs_.FillData(&item.data);
    return rows.Put(kItems, Key({number}), item);
  }

  absl::Status LoadWarehouse(uint32_t w) {
    absl::Status done =
        InBatches(transact_, 1, [this, w](Rows& rows, uint32_t) {
          Warehouse warehouse{};
          inputs_.FillRandom(&warehouse.name, 6);
          inputs_.FillAddress(&warehouse.address);
          warehouse.tax =
              static_cast<uint32_t>(inputs_.random().Between(0, 2000));
          warehouse.ytd = 300'000'00;
          return rows.Put(kWarehouses, Key({w}), warehouse);
        });
    if (done.ok()) {
      done = InBatches(transact_, scale_.items,
                       [this, w](Rows& rows, uint32_t item) {
                         return PutStock(rows, w, item);
                       });
    }
    for (uint32_t d = 1; d <= kDistricts && done.ok(); ++d) {
      done = LoadDistrict(w, d);
    }
    return done;
  }

  absl::Status PutStock(Rows& rows, uint32_t w, uint32_t item) {
    Stock stock{};
    stock.level.quantity =
        static_cast<int32_t>(inputs_.random().Between(10, 100));
    for (auto& info : stock.district_info) inputs_.FillRandom(&info, 24);
    inputs_.FillData(&stock.data);
    return rows.Put(kStocks, Key({w, item}), stock);
  }

  absl::Status LoadDistrict(uint32_t w, uint32_t d) {
    absl::Status done = InBatches(transact_, 1, [&](Rows& rows, uint32_t) {
      District district{};
      inputs_.FillRandom(&district.name, 6);
      inputs_.FillAddress(&district.address);
      district.tax = static_cast<uint32_t>(inputs_.random().Between(0, 2000));
      district.ytd = 30'000'00;
      district.next_order = scale_.customers + 1;
      return rows.Put(kDistrictTable, Key({w, d}), district);
    });
    if (!done.ok()) return done;
    done = InBatches(transact_, scale_.customers, [&](Rows& rows, uint32_t c) {
      return PutCustomer(rows, w, d, c);
    });
    if (!done.ok()) return done;
    // Every customer has one order, in random order.
    std::vector<uint32_t> customers(scale_.customers);
    std::iota(customers.begin(), customers.end(), 1);
    for (size_t i = customers.size(); i > 1; --i) {
      std::swap(customers[i - 1], customers[inputs_.random().Below(i)]);
    }
    return InBatches(transact_, scale_.customers, [&](Rows& rows, uint32_t o) {
      return PutOrder(rows, w, d, o, customers[o - 1]);
    });
  }

  absl::Status PutCustomer(Rows& rows, uint32_t w, uint32_t d, uint32_t c) {
    Customer customer{};
    const std::string last =
        c <= inputs_.Names() ? Inputs::LastName(c - 1) : inputs_.LastName();
    inputs_.FillRandom(&customer.first, 8);
    inputs_.Fill(&customer.middle, "OE");
    inputs_.Fill(&customer.last, last);
    inputs_.FillAddress(&customer.address);
    inputs_.FillRandom(&customer.phone, 16);
    customer.since = kLoadDate;
    inputs_.Fill(&customer.credit,
                 inputs_.random().Below(10) == 0 ? "BC" : "GC");
    customer.credit_limit = 50'000'00;
    customer.discount =
        static_cast<uint32_t>(inputs_.random().Between(0, 5000));
    customer.account = {-10'00, 10'00, 1, 0};
    inputs_.FillRandom(&customer.data, 300);
    absl::Status put = rows.Put(kCustomers, Key({w, d, c}), customer);
    if (put.ok()) {
      put = rows.PutKey(kCustomersByName,
                        NameKey(w, d, last, View(customer.first), c));
    }
    if (!put.ok()) return put;
    History history{c, d, w, d, w, kLoadDate, 10'00, {}};
    inputs_.FillRandom(&history.data, 12);
    return rows.Put(kHistory, HistoryKey(0, history_++), history);
  }

  absl::Status PutOrder(Rows& rows, uint32_t w, uint32_t d, uint32_t o,
                        uint32_t customer) {
    // The last three of ten are not delivered yet.
    const bool fresh = o > scale_.customers - scale_.customers * 3 / 10;
    Random& random = inputs_.random();
    Order order{};
    order.customer = customer;
    order.carrier = fresh ? 0 : static_cast<uint32_t>(random.Between(1, 10));
    order.entered = kLoadDate;
    order.lines = static_cast<uint32_t>(random.Between(5, kMaxLines));
    order.all_local = 1;
    absl::Status put = rows.Put(kOrders, Key({w, d, o}), order);
    if (put.ok()) {
      put =
          rows.PutKey(kOrdersByCustomer, OrderOfCustomerKey(w, d, customer, o));
    }
    if (put.ok() && fresh) put = rows.PutKey(kNewOrders, Key({w, d, o}));
    for (uint32_t i = 1; i <= order.lines && put.ok(); ++i) {
      OrderLine line{};
      line.item = static_cast<uint32_t>(random.Between(1, scale_.items));
      line.supplier = w;
      line.delivered = fresh ? 0 : kLoadDate;
      line.quantity = 5;
      line.amount =
          fresh ? static_cast<int64_t>(random.Between(1, 9999'99)) : 0;
      inputs_.FillRandom(&line.district_info, 24);
      put = rows.Put(kOrderLines, Key({w, d, o, i}), line);
    }
    return put;
  }

  const Transactor transact_;
  const TpccScale scale_;
  Inputs inputs_;
  uint32_t history_ = 0;
};

}  // namespace

std::string Inputs::LastName(uint32_t number) {
  static constexpr const char* kSyllables[] = {
      "BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
      "ESE", "ANTI",  "CALLY", "ATION", "EING"};
  return absl::StrCat(kSyllables[number / 100 % 10],
                      kSyllables[number / 10 % 10], kSyllables[number % 10]);
}

std::string Inputs::String(uint32_t low, uint32_t high) {
  static constexpr char kLetters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::string text(random_.Between(low, high), ' ');
  for (char& c : text) c = kLetters[random_.Below(sizeof(kLetters) - 1)];
  return text;
}

void Inputs::FillAddress(Address* address) {
  FillRandom(&address->street_1, 10);
  FillRandom(&address->street_2, 10);
  FillRandom(&address->city, 10);
  FillRandom(&address->state, 2);
  Fill(&address->zip, absl::StrCat(random_.Between(1000, 9999), "11111"));
}

void Inputs::FillData(Text<50>* data) {
  std::string text = String(26, 50);
  if (random_.Below(10) == 0) {
    text.replace(random_.Below(text.size() - 8), 8, "ORIGINAL");
  }
  Fill(data, text);
}

uint32_t Inputs::Mask(uint32_t count, uint32_t standard_count,
                      uint32_t standard_mask) {
  const uint64_t wanted = uint64_t{standard_mask} * count / standard_count;
  uint32_t mask = 1;
  while (mask < wanted) mask = mask * 2 + 1;
  return mask;
}

absl::Status LoadTables(Transactor transact, const TpccScale& scale) {
  return Loader(transact, scale).Load();
}

}  // namespace kamino::bench::tpcc
