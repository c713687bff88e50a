// A B+tree of small records that stays as large as it is: REWIND's (section
// 5.2) and WrAP's (section 4).
#ifndef KAMINO_LAB_SCHEMES_SMALL_TREE_H_
#define KAMINO_LAB_SCHEMES_SMALL_TREE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/engine/distribution.h"
#include "engine/index/key_value.h"
#include "lab/schemes/part.h"

namespace kamino::bench::schemes {

inline constexpr uint32_t kSmallRecordBytes = 32;

// For one thread.
class SmallTree {
 public:
  // A store with a tree of so many records in it.
  static absl::StatusOr<std::unique_ptr<SmallTree>> Make(
      const Setting& setting, const std::string& store, const Memory& memory,
      uint64_t records);

  engine::TransactionalStore& store() { return *opened_.store; }
  OpenedStore& opened() { return opened_; }
  const std::string& name() const { return name_; }

  // A look-up of a random record, an insert of a new one, a deletion of the
  // oldest that was inserted; as part of a transaction that commits.
  absl::Status LookUp(engine::Transaction& transaction, Random& random);
  absl::Status Insert(engine::Transaction& transaction);
  absl::Status Delete(engine::Transaction& transaction);
  // Inserted ones that are there.
  size_t inserted() const { return inserted_.size(); }

  // One transaction of `operations`, of which the part `updates` alternates
  // between inserts and deletes.
  absl::Status Operate(int operations, double updates, Random& random);

  // The inserted ones go.
  absl::Status Restore();

 private:
  SmallTree(std::string name, OpenedStore opened, uint64_t records)
      : name_(std::move(name)), opened_(std::move(opened)), records_(records) {}

  absl::Status Load();

  const std::string name_;
  OpenedStore opened_;
  const uint64_t records_;
  engine::ObjectId root_ = engine::kNullObject;
  uint64_t next_ = 0;
  std::deque<uint64_t> inserted_;
};

}  // namespace kamino::bench::schemes

#endif  // KAMINO_LAB_SCHEMES_SMALL_TREE_H_
