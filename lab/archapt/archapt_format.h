// Layout of Archapt's log in a heap's log area; lab/docs/archapt.md
// explains it. Numbers here are on media: never change them without a new heap
// version. Offsets are bytes from the region's start.
#ifndef KAMINO_LAB_ARCHAPT_ARCHAPT_FORMAT_H_
#define KAMINO_LAB_ARCHAPT_ARCHAPT_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::engine::archapt_format {

inline constexpr size_t kLineBytes = 64;

// The first line of the log area, of checked words (checked_word.h).
struct LogHeader {
  uint64_t tail;  // number of the first line that recovery needs
  // Set by the last recovery, or from a commit record that the tail has passed.
  uint64_t watermark;
  // Number of the first line of a commit record, the newest one when this was
  // stored. If it is not in front of the tail, that record is there, or lost.
  uint64_t newest_commit;
  // Set by the last recovery: places in the order of commits up to this one may
  // have been given before. New ones are larger.
  uint64_t given;
  uint64_t unused[4];
};

// Where a matrix is described. The ids of its columns follow.
struct SlotHeader {
  // Checked word, and of 0 too: the matrix's number; 0: none is here.
  uint64_t sealed;
  // The same: a bit for each column that is lost for good.
  uint64_t lost;
  uint64_t block;  // of the heap, that its sums lie in
  uint32_t columns;
  uint32_t rows;
  uint64_t sums_check;  // XXH3 of the sums
  uint64_t unused[2];
  // XXH3 of the fields from block to unused; its seed is that of the ids, xor
  // the matrix's number, the heap's uuid, folded, and the slot's offset.
  uint64_t check;
};

// Steps of the hashes of a matrix's lines; lab/docs/archapt.md.
inline constexpr uint64_t kColumnStep = 0x9e3779b97f4a7c15;
inline constexpr uint64_t kRowStep = 0xd1342543de82ef95;

inline constexpr size_t kMostColumns = 32;
inline constexpr size_t kSlotBytes =
    sizeof(SlotHeader) + kMostColumns * sizeof(uint64_t);

enum class RecordType : uint8_t {
  kUpdate = 1,     // old bytes
  kCommitted = 2,  // numbers of transactions, which are committed physically
  kAborted = 3,    // the transaction is taken back
};

// The first bytes of a record, which begins with a line and takes whole ones.
// Its data follows, in the ring's first lines where its last ones have no room.
struct RecordHeader {
  // Checked word (checked_word.h): the number of its first line, ascending for
  // ever. Its seed is the XXH3 of the fields from transaction to
  // type_and_batch, whose own seed is the heap's uuid, folded.
  uint64_t line;
  uint64_t transaction;  // ascending since the last recovery; of a commit: 0
  // Update: of the first byte in the region. Commit: the watermark.
  uint64_t address;
  uint32_t length;  // bytes of its data
  // Bits 31..24 RecordType; 23..0 lines since the first record that became
  // durable with this one.
  uint32_t type_and_batch;
  // XXH3 of the fields above; its seed is that of the data, if there is any,
  // xor the heap's uuid, folded.
  uint64_t check;
};

inline constexpr uint32_t kBatchMask = (1u << 24) - 1;

static_assert(sizeof(LogHeader) == kLineBytes);
static_assert(sizeof(SlotHeader) == kLineBytes);
static_assert(offsetof(SlotHeader, block) == 16);
static_assert(offsetof(SlotHeader, check) == 56);
static_assert(kSlotBytes % kLineBytes == 0);
static_assert(sizeof(RecordHeader) == 40);
static_assert(offsetof(RecordHeader, check) == 32);

}  // namespace kamino::engine::archapt_format

#endif  // KAMINO_LAB_ARCHAPT_ARCHAPT_FORMAT_H_
