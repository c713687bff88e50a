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

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "bench/engine/distribution.h"

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

}  // namespace kamino::bench

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
  // Fields that change together are stored together.
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

// NEW-ORDER's rows are keys without a value; so are those of
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

// HISTORY has no primary key; a row's number names its writer, the load being
// 0.
inline std::string HistoryKey(uint32_t writer, uint32_t number) {
  return Key({writer, number});
}

// Access to the tables within a transaction, which a subclass says how to do.
// Errors of its methods end the transaction. kNotFound: no such row.
class Rows {
 public:
  using Visit =
      absl::FunctionRef<bool(absl::string_view key, absl::string_view row)>;

  virtual ~Rows() = default;

  virtual absl::Status Delete(Table table, absl::string_view key) = 0;
  // Rows of [begin, end) in the order of their keys, at most `limit` (0: all),
  // until `visit` returns false.
  virtual absl::Status Scan(Table table, absl::string_view begin,
                            absl::string_view end, uint64_t limit,
                            Visit visit) = 0;
  // These are going to be read.
  virtual void Expect(Table, absl::Span<const std::string>) {}

  template <typename Row>
  absl::StatusOr<Row> Get(Table table, absl::string_view key) {
    Row row;
    RETURN_IF_ERROR(
        Read(table, key, {reinterpret_cast<char*>(&row), sizeof(row)}));
    return row;
  }

  template <typename Row>
  absl::Status Put(Table table, absl::string_view key, const Row& row) {
    return Write(table, key,
                 {reinterpret_cast<const char*>(&row), sizeof(row)});
  }

  absl::Status PutKey(Table table, absl::string_view key) {
    return Write(table, key, "");
  }

  // Stores `field`, a part of `row`, to the table's row.
  template <typename Row, typename Field>
  absl::Status Update(Table table, absl::string_view key, const Row& row,
                      const Field& field) {
    const char* const bytes = reinterpret_cast<const char*>(&field);
    const auto offset =
        static_cast<uint64_t>(bytes - reinterpret_cast<const char*>(&row));
    return Patch(table, key, offset, {bytes, sizeof(field)});
  }

 protected:
  // kDataLoss: the row is not of that size.
  static absl::Status Copy(absl::string_view from, absl::Span<char> row) {
    if (from.size() != row.size()) {
      return absl::DataLossError("a row is not of its table's size");
    }
    std::memcpy(row.data(), from.data(), row.size());
    return absl::OkStatus();
  }

 private:
  virtual absl::Status Read(Table table, absl::string_view key,
                            absl::Span<char> row) = 0;
  virtual absl::Status Write(Table table, absl::string_view key,
                             absl::string_view row) = 0;
  virtual absl::Status Patch(Table table, absl::string_view key,
                             uint64_t offset, absl::string_view bytes) = 0;
};

// Runs a body in a transaction of its own until it commits, again when it met
// another. An error of the body ends it without effect.
using Body = absl::FunctionRef<absl::Status(Rows& rows)>;
using Transactor = absl::FunctionRef<absl::Status(Body body)>;

// Draws the contents of the tables and the inputs (clauses 2.1.6 and 4.3).
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

  // The last name of a customer that exists.
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
absl::Status LoadTables(Transactor transact, const TpccScale& scale);

// Consistency conditions 1 to 4 (clause 3.3.2), with no terminal at work.
// kDataLoss says which one is violated, and where.
absl::Status CheckTables(Transactor transact, const TpccScale& scale);

}  // namespace kamino::bench::tpcc

#endif  // KAMINO_BENCH_ENGINE_TPCC_SCHEMA_H_
