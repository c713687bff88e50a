// Sums over objects of which some lines may not be on the medium after a crash
// (section 3.3): which are wrong, and what they were.
//
// A column is an object, its payload filled up with zeros to whole lines and to
// as many rows as the longest has. For each column and each row there is a sum
// of its lines, word by word, by which one line can be made again, and a hash,
// by which wrong lines are noticed. The sums alone would not notice what leaves
// them as they were: two lines that changed places, an amount that went from
// one to another. So hashes are seeded with each line's row, column and object.
#ifndef KAMINO_LAB_ARCHAPT_MATRIX_H_
#define KAMINO_LAB_ARCHAPT_MATRIX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "engine/transaction.h"

namespace kamino::engine {

struct MatrixColumn {
  ObjectId id = kNullObject;
  absl::Span<std::byte> bytes;  // the payload
};

struct Matrix {
  // No two of one opening of the store have the same. Numbers come again after
  // that, when what had them counts no more: a slot's number becomes durable
  // after all that it numbers, and no recovery leaves one to verify.
  uint64_t number = 0;
  std::vector<MatrixColumn> columns;
  uint64_t rows = 0;  // lines of the longest
};

// Lines of 64 bytes that so many bytes take.
constexpr uint64_t LinesFor(uint64_t bytes) { return (bytes + 63) / 64; }

// Bytes of a matrix's column sums, row sums, column hashes and row hashes.
constexpr uint64_t SumsBytes(uint64_t columns, uint64_t rows) {
  return (columns + rows) * (64 + 8);
}

// Stores SumsBytes() at `sums`, which is aligned to 8. `seed` is the heap's.
void ComputeSums(const Matrix& matrix, uint64_t seed, std::byte* sums);

struct Repair {
  uint64_t repaired_lines = 0;
  uint64_t lost = 0;  // a bit for each column that is wrong and stays so
};

// Finds what is wrong by sums that are right, and makes it again where a row or
// a column has one wrong line only, until no more can be. Calls `put` with what
// belongs where, in the payloads.
Repair RepairMatrix(
    const Matrix& matrix, uint64_t seed, const std::byte* sums,
    absl::FunctionRef<void(std::byte* to, const std::byte* from, size_t length)>
        put);

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_MATRIX_H_
