// Records in the linked list: each in a node of its own, or many in a bucket
// (section 3.3).
//
// Invariants:
//   1. A record is durable before its cell is. Form batch: it need not be, for
//      cells do not count before the bucket's index says so.
//   2. Form batch: the index is durable when Append returns. So no store that
//      its records are to roll back can come before them (the paper leaves
//      that drain out).
//   3. A bucket's cells are durably 0 before it is in the list.
#ifndef KAMINO_LAB_REWIND_RECORD_LIST_H_
#define KAMINO_LAB_REWIND_RECORD_LIST_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/pmem/region.h"
#include "lab/rewind/checked_words.h"
#include "lab/rewind/linked_list.h"
#include "lab/rewind/log_space.h"
#include "lab/rewind/record_index.h"
#include "lab/rewind/rewind_options.h"

namespace kamino::engine {

// How a list takes records.
struct ListShape {
  LogForm form = LogForm::kBatch;
  size_t bucket = 1;  // cells
  size_t group = 1;   // records that share drains, of form batch
};

class RecordList final : public RecordIndex {
 public:
  // `state` and `space` must outlive this. A bucket has a cell at least, and a
  // group a record.
  RecordList(const CheckedWords& words, rewind_format::ListState* state,
             LogSpace* space, const ListShape& shape);

  bool Reserve(size_t records) override;
  void Unreserve(size_t records) override;
  void Append(absl::Span<Indexed> records, bool in_order) override;
  void Remove(absl::Span<const Indexed> records) override;
  absl::Status Finish() override { return list_.Finish(); }
  absl::StatusOr<std::vector<uint64_t>> Scan() const override;
  void Empty() override { list_.Empty(); }

  // Units of a bucket, with its node.
  static size_t UnitsOf(size_t bucket);

 private:
  using Bucket = rewind_format::Bucket;

  struct Filling {
    uint64_t node;  // whose element it is
    size_t used;    // cells, cleared or not
    size_t live;    // cells
  };
  struct Spare {
    uint64_t node;
    uint64_t bucket;
  };

  Bucket* At(uint64_t bucket) const;
  uint64_t* CellAt(uint64_t place) const;
  size_t Room() const;
  bool TakeSpare();
  // Makes it durably empty, but for a drain.
  void CreateBucket(uint64_t bucket);
  void GiveSpares();
  // The last bucket, which has room.
  std::map<uint64_t, Filling>::iterator Tail();
  void PutIndex(uint64_t bucket, size_t cells);
  void RemoveNodes(absl::Span<const Indexed> records);
  void LeaveBucket(uint64_t place);
  // A bucket of a list that may be damaged.
  struct Found {
    uint64_t cells;
    uint64_t counted;  // of them
  };
  absl::StatusOr<Found> ReadBucket(uint64_t bucket) const;

  const CheckedWords words_;
  Region* const region_;
  LogSpace* const space_;
  const LogForm form_;
  const size_t bucket_;
  const size_t group_;
  LinkedList list_;

  size_t reserved_ = 0;
  std::vector<Spare> spares_;            // of simple: nodes alone
  std::map<uint64_t, Filling> buckets_;  // by offset
  uint64_t tail_ = 0;                    // 0: none
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_RECORD_LIST_H_
