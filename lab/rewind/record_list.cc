#include "lab/rewind/record_list.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "lab/explore.h"
#include "lab/rewind/rewind_format.h"

namespace kamino::engine {

using rewind_format::kUnitBytes;

namespace {

constexpr size_t kCellBytes = sizeof(uint64_t);

size_t BucketBytes(size_t cells) {
  return sizeof(rewind_format::Bucket) + cells * kCellBytes;
}

size_t UnitsFor(size_t bytes) { return (bytes + kUnitBytes - 1) / kUnitBytes; }

}  // namespace

RecordList::RecordList(const CheckedWords& words,
                       rewind_format::ListState* state, LogSpace* space,
                       const ListShape& shape)
    : words_(words),
      region_(words.region()),
      space_(space),
      form_(shape.form),
      bucket_(shape.bucket),
      group_(shape.group),
      list_(words, state, space) {
  CHECK(bucket_ > 0 && group_ > 0);
}

size_t RecordList::UnitsOf(size_t bucket) {
  return 1 + UnitsFor(BucketBytes(bucket));
}

RecordList::Bucket* RecordList::At(uint64_t bucket) const {
  return reinterpret_cast<Bucket*>(words_.At(bucket));
}

uint64_t* RecordList::CellAt(uint64_t place) const {
  return words_.WordAt(place);
}

// --- Space.

size_t RecordList::Room() const {
  if (form_ == LogForm::kSimple) return spares_.size();
  size_t room = spares_.size() * bucket_;
  if (tail_ == 0) return room;
  const Filling& tail = buckets_.at(tail_);
  const bool begins_again = tail.used == bucket_ && tail.live == 0;
  return room + (begins_again ? bucket_ : bucket_ - tail.used);
}

bool RecordList::TakeSpare() {
  const auto node = space_->Take(1);
  if (!node.has_value()) return false;
  Spare spare{*node, 0};
  if (form_ != LogForm::kSimple) {
    const auto bucket = space_->Take(UnitsFor(BucketBytes(bucket_)));
    if (!bucket.has_value()) {
      space_->Give(*node, 1);
      return false;
    }
    spare.bucket = *bucket;
  }
  spares_.push_back(spare);
  return true;
}

void RecordList::GiveSpares() {
  const size_t each = form_ == LogForm::kSimple ? 1 : bucket_;
  while (!spares_.empty() && Room() - each >= reserved_) {
    space_->Give(spares_.back().node, 1);
    if (form_ != LogForm::kSimple) {
      space_->Give(spares_.back().bucket, UnitsFor(BucketBytes(bucket_)));
    }
    spares_.pop_back();
  }
}

bool RecordList::Reserve(size_t records) {
  reserved_ += records;
  while (Room() < reserved_) {
    if (TakeSpare()) continue;
    Unreserve(records);
    return false;
  }
  return true;
}

void RecordList::Unreserve(size_t records) {
  CHECK_GE(reserved_, records);
  reserved_ -= records;
  GiveSpares();
}

// --- Appending.

// Form batch: so many of the bucket's cells count.
void RecordList::PutIndex(uint64_t bucket, size_t cells) {
  words_.Store(&At(bucket)->index, cells);
  words_.Flush(&At(bucket)->index);
}

void RecordList::CreateBucket(uint64_t bucket) {
  *At(bucket) = Bucket{};
  words_.Store(&At(bucket)->cells, bucket_);
  words_.Store(&At(bucket)->index, 0);
  uint64_t* const cells = CellAt(bucket + sizeof(Bucket));
  for (size_t i = 0; i < bucket_; ++i) words_.Store(&cells[i], 0);
  region_->Flush(At(bucket), BucketBytes(bucket_));
}

std::map<uint64_t, RecordList::Filling>::iterator RecordList::Tail() {
  if (tail_ != 0) {
    const auto tail = buckets_.find(tail_);
    if (tail->second.used < bucket_) return tail;
    // All of its cells are durably 0: it begins again.
    if (tail->second.live == 0) {
      Reached(LabBranch::kRewindBucketAgain);
      if (form_ == LogForm::kBatch) {
        PutIndex(tail_, 0);
        region_->Drain();
      }
      tail->second.used = 0;
      return tail;
    }
  }
  CHECK(!spares_.empty()) << "a record that no space is reserved for";
  const Spare spare = spares_.back();
  spares_.pop_back();
  CreateBucket(spare.bucket);
  list_.Append(spare.node, spare.bucket);
  tail_ = spare.bucket;
  return buckets_.emplace(tail_, Filling{spare.node, 0, 0}).first;
}

void RecordList::Append(absl::Span<Indexed> records, bool in_order) {
  if (records.empty()) return;
  CHECK_GE(reserved_, records.size());
  reserved_ -= records.size();
  if (form_ == LogForm::kSimple) {
    for (Indexed& record : records) {
      record.place = spares_.back().node;
      spares_.pop_back();
      list_.Append(record.place, record.record);
    }
    return;
  }
  if (form_ == LogForm::kOptimized) region_->Drain();
  for (size_t done = 0; done < records.size();) {
    const auto tail = Tail();
    Filling& filling = tail->second;
    size_t now = std::min(records.size() - done, bucket_ - filling.used);
    if (form_ == LogForm::kBatch) now = std::min(now, group_);
    if (form_ == LogForm::kOptimized && in_order) now = 1;
    const uint64_t begin =
        tail->first + sizeof(Bucket) + filling.used * kCellBytes;
    for (size_t i = 0; i < now; ++i) {
      Indexed& record = records[done + i];
      record.place = begin + i * kCellBytes;
      words_.Store(CellAt(record.place), record.record);
    }
    region_->Flush(CellAt(begin), now * kCellBytes);
    filling.used += now;
    filling.live += now;
    done += now;
    if (form_ == LogForm::kBatch) {
      region_->Drain();
      PutIndex(tail->first, filling.used);
    }
    const bool more = done < records.size();
    if (more) Reached(LabBranch::kRewindGroupCut);
    if (form_ == LogForm::kBatch || in_order || !more) region_->Drain();
  }
}

// --- Removing.

void RecordList::RemoveNodes(absl::Span<const Indexed> records) {
  for (const Indexed& record : records) {
    list_.Remove(record.place);
    space_->Give(record.place, 1);
  }
}

void RecordList::LeaveBucket(uint64_t place) {
  const auto bucket = std::prev(buckets_.upper_bound(place));
  --bucket->second.live;
  if (bucket->second.live > 0 || bucket->first == tail_) return;
  Reached(LabBranch::kRewindBucketLeaves);
  const uint64_t node = bucket->second.node;
  list_.Remove(node);
  space_->Give(node, 1);
  space_->Give(bucket->first, UnitsFor(BucketBytes(bucket_)));
  buckets_.erase(bucket);
}

void RecordList::Remove(absl::Span<const Indexed> records) {
  if (records.empty()) return;
  if (form_ == LogForm::kSimple) {
    RemoveNodes(records);
    return;
  }
  std::vector<uint64_t> places;
  for (const Indexed& record : records) places.push_back(record.place);
  std::sort(places.begin(), places.end());
  for (size_t i = 0; i < places.size(); ++i) {
    words_.Store(CellAt(places[i]), 0);
    const bool last_of_line =
        i + 1 == places.size() ||
        places[i] / kUnitBytes != places[i + 1] / kUnitBytes;
    if (last_of_line) region_->Flush(CellAt(places[i]), kCellBytes);
  }
  region_->Drain();
  for (uint64_t place : places) LeaveBucket(place);
}

// --- Recovery.

absl::StatusOr<RecordList::Found> RecordList::ReadBucket(
    uint64_t bucket) const {
  if (space_->Contains(bucket, sizeof(Bucket))) {
    Found found{};
    ASSIGN_OR_RETURN(found.cells, words_.Read(&At(bucket)->cells));
    ASSIGN_OR_RETURN(found.counted, words_.Read(&At(bucket)->index));
    if (form_ != LogForm::kBatch) found.counted = found.cells;
    // None is of no cells: in format 1 that is a line that is lost.
    if (found.cells > 0 &&
        found.cells <= space_->size() * kUnitBytes / kCellBytes &&
        space_->Contains(bucket, BucketBytes(found.cells)) &&
        found.counted <= found.cells) {
      return found;
    }
  }
  return absl::DataLossError(absl::StrCat(
      "the log is damaged: no bucket of records begins at offset ", bucket));
}

absl::StatusOr<std::vector<uint64_t>> RecordList::Scan() const {
  ASSIGN_OR_RETURN(const auto linked, list_.Walk());
  std::vector<uint64_t> records;
  std::map<uint64_t, uint64_t> ends;  // of buckets
  for (const LinkedList::Linked& one : linked) {
    if (form_ == LogForm::kSimple) {
      records.push_back(one.element);
      continue;
    }
    const uint64_t bucket = one.element;
    ASSIGN_OR_RETURN(const Found found, ReadBucket(bucket));
    // Together they are no larger than the log.
    const uint64_t end = bucket + BucketBytes(found.cells);
    const auto next = ends.upper_bound(bucket);
    if ((next != ends.end() && next->first < end) ||
        (next != ends.begin() && std::prev(next)->second > bucket)) {
      return absl::DataLossError(
          absl::StrCat("the log is damaged: its bucket at offset ", bucket,
                       " lies where another one does"));
    }
    ends.emplace(bucket, end);
    const auto* const cells = CellAt(bucket + sizeof(Bucket));
    for (size_t i = 0; i < found.counted; ++i) {
      ASSIGN_OR_RETURN(const uint64_t record, words_.Read(&cells[i]));
      if (record != 0) records.push_back(record);
    }
  }
  return records;
}

}  // namespace kamino::engine
