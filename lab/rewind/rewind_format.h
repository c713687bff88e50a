// Layout of REWIND's log in a heap's log area; lab/docs/rewind_log.md
// explains it. Numbers here are on media: never change them without a new heap
// version. What names a place is its offset from the region's start, 0: none.
#ifndef KAMINO_LAB_REWIND_REWIND_FORMAT_H_
#define KAMINO_LAB_REWIND_REWIND_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::engine::rewind_format {

// All space of the log is handed out in these.
inline constexpr size_t kUnitBytes = 64;

// Words that are said to be checked are as checked_words.h says, those of 0
// too; the others are in what has a check, or recovery does not need them.

// A doubly linked list of which one operation at a time may be under way.
// All checked.
struct ListState {
  uint64_t head;       // Node
  uint64_t tail;       // Node
  uint64_t to_append;  // Node; not 0: appending it is to be done again
  uint64_t to_remove;  // Node; not 0: removing it is to be done again
};

struct Node {
  uint64_t next;     // checked: Node
  uint64_t prior;    // checked: Node
  uint64_t element;  // checked
  uint64_t unused[5];
};

// Followed by `cells` checked words; each names a record, or is 0.
struct Bucket {
  uint64_t cells;  // checked
  uint64_t index;  // checked; form batch: so many of them count
  uint64_t unused[6];
};

// A node of the tree of records, which is ordered by (transaction, id).
struct TreeNode {
  uint64_t left;    // checked
  uint64_t right;   // checked
  uint64_t height;  // checked
  // Never change.
  uint64_t transaction;
  uint64_t id;
  uint64_t record;  // checked
  uint64_t unused[2];
};

// How a word of the tree was, or that a change of the tree is complete.
struct WordRecord {
  uint64_t kind;     // WordKind
  uint64_t address;  // of the word
  uint64_t old_value;
  uint64_t check;  // XXH3 of the fields above, seeded with its own offset
  uint64_t unused[4];
};

enum class WordKind : uint64_t { kWord = 1, kEnd = 2 };

// Two layers: the most words of one change of the tree, in a log area of so
// many bytes: enough for a tree of all records that it has room for, and for
// more than one operation on a smaller tree. Where records begin follows.
inline constexpr size_t kSmallLog = 256u << 10;
constexpr size_t MostWords(size_t log_bytes) {
  return log_bytes < kSmallLog ? 128 : 384;
}
// Limit of a bucket of the list of words.
inline constexpr size_t kMostCells = 64;

// Lies beside the list; all words are checked.
struct Marks {
  uint64_t floor;          // a transaction whose end has an id below: no redo
  uint64_t last_sequence;  // bits 47..0; of those whose ends are gone
  uint64_t root;           // TreeNode
};

// The first bytes of the log area.
struct LogHeader {
  ListState plain_list;  // of format kPlain; `head` of kChecked: log_format.cc
  ListState list;        // of records; with two layers, of the tree's words
  Marks plain_marks;     // of format kPlain; last_sequence has all 64 bits
  uint64_t format;       // checked: LogFormat; 0: kPlain
  Marks marks;
  uint64_t sequence_high;  // checked; bits 63..48 of marks.last_sequence
};

enum class LogFormat : uint64_t {
  kPlain = 1,  // of release 0.1.0: words that are checked now are the numbers
  kChecked = 2,
};

enum class RecordType : uint8_t {
  kUpdate = 1,        // old bytes, new ones, or both
  kCompensation = 2,  // an update was taken back, or is about to be
  kEnd = 3,
  kCheckpoint = 4,
  kDelete = 5,  // an update of the header of a block that is freed
};

inline constexpr uint8_t kHasOld = 1;
inline constexpr uint8_t kHasNew = 2;
inline constexpr uint8_t kAborted = 4;  // of an end: everything is taken back

// Followed by the old bytes, then the new ones; of a compensation by a
// Compensation, of an end by an End.
struct RecordHeader {
  uint64_t id;  // ascending over all transactions
  uint64_t transaction;
  uint64_t address;  // of the first byte, in the region
  uint32_t length;   // bytes of each, old and new
  uint8_t type;      // RecordType
  uint8_t flags;
  uint16_t unused;
  // XXH3 of the fields above; its seed is XXH3 of what follows, xor the heap's
  // uuid, folded, xor the record's offset.
  uint64_t check;
};

struct Compensation {
  uint64_t undo_id;      // of the update
  uint64_t undo_record;  // where it lies; its old bytes are stored
};

struct End {
  uint64_t sequence;
};

static_assert(sizeof(Node) == kUnitBytes);
static_assert(sizeof(Bucket) == kUnitBytes);
static_assert(sizeof(TreeNode) == kUnitBytes);
static_assert(sizeof(WordRecord) == kUnitBytes);
static_assert(sizeof(LogHeader) == 2 * kUnitBytes);
static_assert(offsetof(LogHeader, plain_marks) == kUnitBytes);
static_assert(offsetof(LogHeader, format) == kUnitBytes + 24);
static_assert(sizeof(RecordHeader) == 40);
static_assert(offsetof(RecordHeader, check) == 32);
static_assert(sizeof(RecordHeader) + sizeof(Compensation) <= kUnitBytes);

}  // namespace kamino::engine::rewind_format

#endif  // KAMINO_LAB_REWIND_REWIND_FORMAT_H_
