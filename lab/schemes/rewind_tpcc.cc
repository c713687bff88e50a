// TPC-C's new orders over REWIND (section 5.3), by layout: one tree a table, or
// for what belongs to a district a tree for each.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/engine/tpcc_rows.h"
#include "bench/engine/tpcc_terminal.h"
#include "bench/engine/workload.h"
#include "bench/harness/clock.h"
#include "lab/schemes/part.h"

namespace kamino::bench::schemes {
namespace {

using engine::KeyValue;
using engine::ObjectId;
using engine::Transaction;
using tpcc::Table;

// The paper's scaling factor, and the reduced cardinalities of bench-engine.
constexpr uint32_t kWarehouses = 1;
constexpr uint64_t kBytes = 250u << 20;
constexpr double kNanosAMinute = 60e9;

// The tables that a district has trees of its own of (section 5.3).
constexpr std::array<Table, 3> kOfDistricts = {tpcc::kOrders, tpcc::kOrderLines,
                                               tpcc::kNewOrders};

struct Layout {
  bool by_district = false;
  tpcc::Roots roots{};
  // By table, in kOfDistricts' order, and district.
  std::array<std::array<ObjectId, tpcc::kDistricts>, kOfDistricts.size()>
      districts{};
};

// A key's first two parts, warehouse and district, choose the tree, and the
// rest is the key there.
class LaidOutRows final : public tpcc::Rows {
 public:
  LaidOutRows(Transaction* transaction, const Layout& layout)
      : transaction_(transaction), layout_(layout) {}

  absl::Status Delete(Table table, absl::string_view key) override {
    KeyValue tree = Tree(table, &key);
    return tree.Delete(key, 0);
  }

  absl::Status Scan(Table table, absl::string_view begin, absl::string_view end,
                    uint64_t limit, Visit visit) override {
    if (layout_.by_district && PlaceOf(table) < kOfDistricts.size()) {
      // New orders scan nothing.
      return absl::UnimplementedError("no scan of a district's trees");
    }
    KeyValue tree = Tree(table, &begin);
    return tree.Scan(begin, end, limit,
                     [&visit](absl::string_view key,
                              const engine::KeyValueReader::Entry& entry) {
                       return visit(key, entry.value);
                     });
  }

 private:
  static size_t PlaceOf(Table table) {
    return std::find(kOfDistricts.begin(), kOfDistricts.end(), table) -
           kOfDistricts.begin();
  }

  KeyValue Tree(Table table, absl::string_view* key) const {
    const size_t place = PlaceOf(table);
    if (!layout_.by_district || place == kOfDistricts.size()) {
      return KeyValue(transaction_, layout_.roots[table]);
    }
    const uint32_t district = tpcc::PartOf(*key, 1);
    key->remove_prefix(8);
    return KeyValue(transaction_, layout_.districts[place][district - 1]);
  }

  absl::Status Read(Table table, absl::string_view key,
                    absl::Span<char> row) override {
    KeyValue tree = Tree(table, &key);
    ASSIGN_OR_RETURN(const auto entry, tree.Get(key));
    return Copy(entry.value, row);
  }
  absl::Status Write(Table table, absl::string_view key,
                     absl::string_view row) override {
    KeyValue tree = Tree(table, &key);
    return tree.Put(key, row, 0);
  }
  absl::Status Patch(Table table, absl::string_view key, uint64_t offset,
                     absl::string_view bytes) override {
    KeyValue tree = Tree(table, &key);
    return tree.Patch(key, offset, bytes, 0);
  }

  Transaction* const transaction_;
  const Layout& layout_;
};

// A store with the tables, and a terminal that makes new orders.
class Orders {
 public:
  static absl::StatusOr<std::unique_ptr<Orders>> Make(const Setting& setting,
                                                      const std::string& store,
                                                      const Memory& memory,
                                                      bool by_district) {
    ASSIGN_OR_RETURN(auto opened, Open(setting, store, memory, kBytes));
    const TpccScale scale = setting.quick ? TpccScale{kWarehouses, 1'000, 20}
                                          : TpccScale{kWarehouses, 20'000, 900};
    auto orders = std::make_unique<Orders>(
        absl::StrCat(store, by_district ? ", by district" : ", one tree"),
        std::move(opened), scale);
    if (absl::Status made = orders->Load(by_district); !made.ok()) {
      return Annotate(made, store);
    }
    return orders;
  }

  Orders(std::string name, OpenedStore opened, const TpccScale& scale)
      : name_(std::move(name)),
        opened_(std::move(opened)),
        scale_(scale),
        terminal_(scale, /*mix=*/false, /*home=*/1,
                  tpcc::HistoryNumbers{/*writer=*/1, &history_},
                  /*seed=*/11) {
    // Stores without atomicity can run as well then.
    terminal_.LookForItemsFirst();
  }

  const std::string& name() const { return name_; }

  // New orders in a minute, by the time of so many.
  absl::StatusOr<double> PerMinute(int count) {
    const uint64_t begin = Ticks();
    for (int i = 0; i < count; ++i) {
      terminal_.Draw();
      RETURN_IF_ERROR(
          terminal_.Run([this](tpcc::Body body) { return InOne(body); }));
    }
    opened_.store->Quiesce();
    return count * kNanosAMinute / NanosSince(begin);
  }

 private:
  absl::Status InOne(tpcc::Body body) {
    uint64_t retries = 0;
    return Transact(*opened_.store, &retries, [&](Transaction& transaction) {
      LaidOutRows rows(&transaction, layout_);
      return body(rows);
    });
  }

  absl::Status Load(bool by_district) {
    RETURN_IF_ERROR(tpcc::MakeTrees(*opened_.store, &layout_.roots));
    uint64_t retries = 0;
    RETURN_IF_ERROR(
        Transact(*opened_.store, &retries, [&](Transaction& transaction) {
          for (auto& trees : layout_.districts) {
            for (ObjectId& root : trees) {
              ASSIGN_OR_RETURN(root, engine::BTree::Create(transaction));
            }
          }
          return absl::OkStatus();
        }));
    layout_.by_district = by_district;
    RETURN_IF_ERROR(tpcc::LoadTables(
        [this](tpcc::Body body) { return InOne(body); }, scale_));
    opened_.store->Quiesce();
    return absl::OkStatus();
  }

  const std::string name_;
  OpenedStore opened_;
  const TpccScale scale_;
  Layout layout_;
  uint32_t history_ = 0;
  tpcc::Terminal terminal_;
};

absl::Status TpccOn(Setting& setting, const Memory& memory) {
  const int count = setting.Scaled(2000, 200);
  std::vector<std::unique_ptr<Orders>> all;
  for (const bool by_district : {false, true}) {
    for (const char* name :
         {"unsafe", "unsafe-each", "rewind-1-noforce-optimized",
          "rewind-1-noforce-batch", "rewind-2-noforce-optimized"}) {
      ASSIGN_OR_RETURN(auto orders,
                       Orders::Make(setting, name, memory, by_district));
      all.push_back(std::move(orders));
    }
  }
  const auto measure = [&](int subject) {
    return all[subject]->PerMinute(count);
  };
  ASSIGN_OR_RETURN(const auto rounds, InTurns(static_cast<int>(all.size()),
                                              setting.rounds, measure));
  for (size_t i = 0; i < all.size(); ++i) {
    setting.points->push_back({"rewind-11", all[i]->name(), memory.name,
                               "new orders a minute", 0, rounds[i]});
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RewindTpcc(Setting& setting) {
  for (const Memory& memory : RewindMemories(setting)) {
    RETURN_IF_ERROR(TpccOn(setting, memory));
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench::schemes
