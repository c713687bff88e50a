// A wrap on its way to the log: a transaction's stores, or stores outside of
// any.
#ifndef KAMINO_LAB_WRAP_WRAP_H_
#define KAMINO_LAB_WRAP_WRAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/transaction.h"
#include "lab/wrap/wrap_format.h"

namespace kamino::engine {

// Where some of a wrap's records lie.
struct LogPiece {
  uint64_t offset = 0;  // in the region, a multiple of a line
  uint64_t bytes = 0;
  ObjectId block = kNullObject;  // of the heap, that it is; else a bucket
};

// The stores of one wrap. Its owner's, and not thread-safe, until it is handed
// over.
struct Wrap {
  bool open() const { return !pieces.empty(); }
  // Room for more records, in bytes.
  size_t free() const { return room - records.size(); }
  // Room for records in a piece.
  size_t CapacityOf(size_t piece) const {
    return pieces[piece].bytes -
           (piece == 0 ? sizeof(wrap_format::Marker) : 0) -
           sizeof(wrap_format::Link);
  }
  void AddPiece(const LogPiece& added) {
    pieces.push_back(added);
    room += CapacityOf(pieces.size() - 1);
  }

  // A bucket first; none: it is not open.
  std::vector<LogPiece> pieces;
  // All of them, for the marker's check and the retirement: the log is read by
  // recovery alone.
  std::vector<std::byte> records;
  size_t room = 0;     // for them in the pieces
  size_t written = 0;  // of them to the pieces
  // The piece that what comes next is written to, and where its records begin
  // among all.
  size_t piece = 0;
  size_t piece_begin = 0;

  uint64_t sequence = 0;         // of the close; 0: it has not closed
  uint64_t commit_sequence = 0;  // 0: anonymous
  std::vector<ObjectId> freed;   // blocks that it has made free
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_WRAP_WRAP_H_
