// The rows and keys of TPC-C's tables (clause 1.3). Money is in cents, rates in
// ten-thousandths; text is padded with 0.
#ifndef KAMINO_BENCH_ENGINE_TPCC_SCHEMA_H_
#define KAMINO_BENCH_ENGINE_TPCC_SCHEMA_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bench/engine/tpcc.h"
#include "engine/index/key_value.h"

namespace kamino::bench::tpcc {

inline constexpr uint32_t kDistricts = 10;  // of a warehouse
inline constexpr uint32_t kMaxLines = 15;   // of an order

template <size_t kLength>
using Text = std::array<char, kLength>;

struct Address {
  Text<20> street_1, street_2, city;
  Text<2> state;
  Text<9> zip;
};

struct Warehouse {
  Text<10> name;
  Address address;
  uint32_t tax;
  int64_t ytd;
};

struct District {
  Text<10> name;
  Address address;
  uint32_t tax;
  uint32_t next_order;
  int64_t ytd;
};

struct Customer {
  Text<16> first;
  Text<2> middle;
  Text<16> last;
  Address address;
  Text<16> phone;
  int64_t since;
  Text<2> credit;  // "GC" or "BC"
  int64_t credit_limit;
  uint32_t discount;
  // What changes together is stored together.
  struct Account {
    int64_t balance;
    int64_t ytd_payment;
    uint32_t payments;
    uint32_t deliveries;
  } account;
  Text<500> data;
};

struct History {
  uint32_t customer, customer_district, customer_warehouse;
  uint32_t district, warehouse;
  int64_t date;
  int64_t amount;
  Text<24> data;
};

struct Order {
  uint32_t customer;
  uint32_t carrier;  // 0: not delivered yet
  int64_t entered;
  uint32_t lines;
  uint32_t all_local;
};

struct OrderLine {
  uint32_t item;
  uint32_t supplier;  // warehouse
  int64_t delivered;  // 0: not yet
  uint32_t quantity;
  int64_t amount;
  Text<24> district_info;
};

struct Item {
  uint32_t image;
  Text<24> name;
  int64_t price;
  Text<50> data;
};

struct Stock {
  struct Level {
    int64_t ytd;
    int32_t quantity;
    uint32_t orders;
    uint32_t remote_orders;
  } level;
  std::array<Text<24>, kDistricts> district_info;
  Text<50> data;
};

// One B+tree each. NEW-ORDER's rows are keys without a value; so are those of
// the two secondary indexes that clause 1.4 allows.
enum Table {
  kWarehouses,
  kDistrictTable,
  kCustomers,
  kCustomersByName,
  kHistory,
  kNewOrders,
  kOrders,
  kOrdersByCustomer,
  kOrderLines,
  kItems,
  kStocks,
  kTables,
};
using Roots = std::array<engine::ObjectId, kTables>;
static_assert(kTables == kTpccTables);

// Big-endian, so that keys are in the order of their numbers.
inline std::string Key(std::initializer_list<uint32_t> parts) {
  std::string key;
  for (uint32_t part : parts) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      key.push_back(static_cast<char>(part >> shift));
    }
  }
  return key;
}

// The part at `index` of a key that Key made.
inline uint32_t PartOf(absl::string_view key, size_t index) {
  uint32_t part = 0;
  for (size_t i = 4 * index; i < 4 * index + 4; ++i) {
    part = part << 8 | static_cast<uint8_t>(key[i]);
  }
  return part;
}

inline std::string NameKey(uint32_t warehouse, uint32_t district,
                           absl::string_view last, absl::string_view first,
                           uint32_t customer) {
  std::string key = Key({warehouse, district});
  // Names end with a 0 so that a longer one does not come between.
  absl::StrAppend(&key, last, absl::string_view("\0", 1), first,
                  absl::string_view("\0", 1), Key({customer}));
  return key;
}

// A customer's latest order comes first.
inline std::string OrderOfCustomerKey(uint32_t warehouse, uint32_t district,
                                      uint32_t customer, uint32_t order) {
  return Key({warehouse, district, customer, ~order});
}

// HISTORY has no primary key; rows are numbered by who adds them, the load
// being 0.
inline std::string HistoryKey(uint32_t writer, uint32_t number) {
  return Key({writer, number});
}

// Typed access to the tables within a transaction.
class Rows {
 public:
  Rows(engine::Transaction* transaction, const Roots& roots)
      : transaction_(transaction), roots_(roots) {}

  engine::KeyValue Tree(Table table) {
    return engine::KeyValue(transaction_, roots_[table]);
  }

  template <typename Row>
  absl::StatusOr<Row> Get(Table table, absl::string_view key) {
    auto entry = Tree(table).Get(key);
    if (!entry.ok()) return entry.status();
    if (entry->value.size() != sizeof(Row)) {
      return absl::DataLossError("a row is not of its table's size");
    }
    Row row;
    std::memcpy(&row, entry->value.data(), sizeof(row));
    return row;
  }

  template <typename Row>
  absl::Status Put(Table table, absl::string_view key, const Row& row) {
    return Tree(table).Put(
        key, {reinterpret_cast<const char*>(&row), sizeof(row)}, 0);
  }

  absl::Status PutKey(Table table, absl::string_view key) {
    return Tree(table).Put(key, "", 0);
  }

  // Stores `field`, a part of `row`, to the table's row.
  template <typename Row, typename Field>
  absl::Status Update(Table table, absl::string_view key, const Row& row,
                      const Field& field) {
    const char* const bytes = reinterpret_cast<const char*>(&field);
    const auto offset =
        static_cast<uint64_t>(bytes - reinterpret_cast<const char*>(&row));
    return Tree(table).Patch(key, offset, {bytes, sizeof(field)}, 0);
  }

 private:
  engine::Transaction* const transaction_;
  const Roots& roots_;
};

// What fills the tables and draws the inputs (clauses 2.1.6 and 4.3).
class Inputs {
 public:
  Inputs(const TpccScale& scale, uint64_t seed)
      : scale_(scale), random_(seed) {}

  Random& random() { return random_; }

  // The standard's 1,023 of 3,000 and 8,191 of 100,000, in proportion where
  // there are fewer. From 1.
  uint32_t Customer() {
    return NonUniform(Mask(scale_.customers, 3000, 1023), kCustomerConstant, 1,
                      scale_.customers);
  }
  uint32_t Item() {
    return NonUniform(Mask(scale_.items, 100'000, 8191), kItemConstant, 1,
                      scale_.items);
  }

  // Of a customer that exists.
  std::string LastName() {
    return LastName(
        NonUniform(Mask(Names(), 1000, 255), kNameConstant, 0, Names() - 1));
  }
  // Three customers share a name on average, as the standard's do.
  uint32_t Names() const {
    return std::max<uint32_t>(std::min(scale_.customers / 3, 1000u), 1);
  }
  // Number 0 to 999 in syllables (clause 4.3.2.3).
  static std::string LastName(uint32_t number);

  // `low` to `high` letters or digits.
  std::string String(uint32_t low, uint32_t high);
  template <size_t kLength>
  void Fill(Text<kLength>* text, absl::string_view from) {
    text->fill(0);
    std::memcpy(text->data(), from.data(), std::min(from.size(), kLength));
  }
  template <size_t kLength>
  void FillRandom(Text<kLength>* text, uint32_t low) {
    Fill(text, String(low, kLength));
  }
  void FillAddress(Address* address);
  // One in ten contains "ORIGINAL" (clause 4.3.3.1).
  void FillData(Text<50>* data);

 private:
  // C of clause 2.1.6.1: any number, the same for the whole run.
  static constexpr uint32_t kNameConstant = 123;
  static constexpr uint32_t kCustomerConstant = 259;
  static constexpr uint32_t kItemConstant = 7911;

  static uint32_t Mask(uint32_t count, uint32_t standard_count,
                       uint32_t standard_mask);
  uint32_t NonUniform(uint32_t mask, uint32_t constant, uint32_t low,
                      uint32_t high) {
    const uint64_t a = random_.Between(0, mask);
    const uint64_t b = random_.Between(low, high);
    return static_cast<uint32_t>(((a | b) + constant) % (high - low + 1) + low);
  }

  const TpccScale scale_;
  Random random_;
};

template <size_t kLength>
absl::string_view View(const Text<kLength>& text) {
  return {text.data(), strnlen(text.data(), kLength)};
}

// Fills the tables (clause 4.3.3).
absl::Status LoadTables(engine::TransactionalStore& store,
                        const TpccScale& scale, Roots* roots);

}  // namespace kamino::bench::tpcc

#endif  // KAMINO_BENCH_ENGINE_TPCC_SCHEMA_H_
