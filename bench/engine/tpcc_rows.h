// TPC-C's tables as B+trees of a store, one each.
#ifndef KAMINO_BENCH_ENGINE_TPCC_ROWS_H_
#define KAMINO_BENCH_ENGINE_TPCC_ROWS_H_

#include "bench/engine/tpcc.h"
#include "engine/index/key_value.h"

namespace kamino::bench::tpcc {

class EngineRows final : public Rows {
 public:
  EngineRows(engine::Transaction* transaction, const Roots& roots)
      : transaction_(transaction), roots_(roots) {}

  absl::Status Delete(Table table, absl::string_view key) override {
    return Tree(table).Delete(key, 0);
  }

  absl::Status Scan(Table table, absl::string_view begin, absl::string_view end,
                    uint64_t limit, Visit visit) override {
    return Tree(table).Scan(
        begin, end, limit,
        [&visit](absl::string_view key,
                 const engine::KeyValueReader::Entry& entry) {
          return visit(key, entry.value);
        });
  }

 private:
  engine::KeyValue Tree(Table table) {
    return engine::KeyValue(transaction_, roots_[table]);
  }

  absl::Status Read(Table table, absl::string_view key,
                    absl::Span<char> row) override {
    ASSIGN_OR_RETURN(const auto entry, Tree(table).Get(key));
    return Copy(entry.value, row);
  }
  absl::Status Write(Table table, absl::string_view key,
                     absl::string_view row) override {
    return Tree(table).Put(key, row, 0);
  }
  absl::Status Patch(Table table, absl::string_view key, uint64_t offset,
                     absl::string_view bytes) override {
    return Tree(table).Patch(key, offset, bytes, 0);
  }

  engine::Transaction* const transaction_;
  const Roots& roots_;
};

// An empty tree for each table.
inline absl::Status MakeTrees(engine::TransactionalStore& store, Roots* roots) {
  uint64_t retries = 0;
  return Transact(store, &retries, [&](engine::Transaction& transaction) {
    for (engine::ObjectId& root : *roots) {
      ASSIGN_OR_RETURN(root, engine::BTree::Create(transaction));
    }
    return absl::OkStatus();
  });
}

}  // namespace kamino::bench::tpcc

#endif  // KAMINO_BENCH_ENGINE_TPCC_ROWS_H_
