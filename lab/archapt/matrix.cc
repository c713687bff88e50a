#include "lab/archapt/matrix.h"

// Lines are short: calls of the library would take as long as hashing.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "lab/archapt/archapt_format.h"

namespace kamino::engine {
namespace {

constexpr size_t kWords = 8;
using Line = std::array<uint64_t, kWords>;

void Add(const Line& line, Line* sum) {
  for (size_t i = 0; i < kWords; ++i) (*sum)[i] += line[i];
}
void Subtract(const Line& line, Line* sum) {
  for (size_t i = 0; i < kWords; ++i) (*sum)[i] -= line[i];
}

// Where each part of the sums begins.
struct SumsLayout {
  SumsLayout(uint64_t columns, uint64_t rows)
      : row_sums(columns * sizeof(Line)),
        column_hashes(row_sums + rows * sizeof(Line)),
        row_hashes(column_hashes + columns * sizeof(uint64_t)) {}

  uint64_t row_sums;
  uint64_t column_hashes;
  uint64_t row_hashes;
};

// A matrix as it is now: its lines, and their sums and hashes by row and
// column.
class Lines {
 public:
  Lines(const Matrix& matrix, uint64_t seed) : matrix_(matrix) {
    const uint64_t base =
        XXH3_64bits_withSeed(&matrix.number, sizeof(matrix.number), seed);
    for (size_t j = 0; j < matrix.columns.size(); ++j) {
      column_seeds_.push_back(
          XXH3_64bits_withSeed(&matrix.columns[j].id, sizeof(ObjectId),
                               base + j * archapt_format::kColumnStep));
    }
    column_sums.resize(matrix.columns.size());
    column_hashes.resize(matrix.columns.size());
    row_sums.resize(matrix.rows);
    row_hashes.resize(matrix.rows);
    for (size_t j = 0; j < matrix.columns.size(); ++j) Include(j);
  }

  // Behind an object's end all is zero, and stays so.
  bool Holds(uint64_t row, size_t column) const {
    return row < LinesFor(matrix_.columns[column].bytes.size());
  }
  size_t BytesAt(uint64_t row, size_t column) const {
    return std::min<size_t>(sizeof(Line), matrix_.columns[column].bytes.size() -
                                              row * sizeof(Line));
  }
  Line At(uint64_t row, size_t column) const {
    Line line{};
    if (!Holds(row, column)) return line;
    const size_t bytes = BytesAt(row, column);
    if (bytes == sizeof(Line)) {
      std::memcpy(line.data(), From(row, column), sizeof(Line));
    } else {
      std::memcpy(line.data(), From(row, column), bytes);
    }
    return line;
  }
  std::byte* From(uint64_t row, size_t column) const {
    return matrix_.columns[column].bytes.data() + row * sizeof(Line);
  }
  uint64_t HashOf(const Line& line, uint64_t row, size_t column) const {
    return XXH3_64bits_withSeed(
        line.data(), sizeof(Line),
        column_seeds_[column] + row * archapt_format::kRowStep);
  }

  // Replaces a line in the sums and hashes.
  void Exchange(uint64_t row, size_t column, const Line& before,
                const Line& after) {
    const uint64_t hash =
        HashOf(after, row, column) - HashOf(before, row, column);
    row_hashes[row] += hash;
    column_hashes[column] += hash;
    for (Line* sum : {&row_sums[row], &column_sums[column]}) {
      Subtract(before, sum);
      Add(after, sum);
    }
  }

  std::vector<Line> column_sums;
  std::vector<Line> row_sums;
  std::vector<uint64_t> column_hashes;
  std::vector<uint64_t> row_hashes;

 private:
  // Most of the cost of a matrix.
  void Include(size_t column) {
    Line sum{};
    uint64_t hashes = 0;
    for (uint64_t i = 0; i < matrix_.rows; ++i) {
      const Line line = At(i, column);
      const uint64_t hash = HashOf(line, i, column);
      row_hashes[i] += hash;
      hashes += hash;
      Add(line, &row_sums[i]);
      Add(line, &sum);
    }
    column_sums[column] = sum;
    column_hashes[column] = hashes;
  }

  const Matrix& matrix_;
  std::vector<uint64_t> column_seeds_;
};

class Repairer {
 public:
  using Put = absl::FunctionRef<void(std::byte*, const std::byte*, size_t)>;

  Repairer(const Matrix& matrix, uint64_t seed, const std::byte* sums, Put put)
      : matrix_(matrix),
        layout_(matrix.columns.size(), matrix.rows),
        sums_(sums),
        put_(put),
        lines_(matrix, seed) {}

  Repair Run() {
    bool progress = true;
    while (progress) {
      progress = false;
      for (uint64_t i = 0; i < matrix_.rows; ++i) {
        if (!RowWrong(i)) continue;
        for (size_t j = 0; j < matrix_.columns.size(); ++j) {
          if (ColumnWrong(j) && TryByRow(i, j)) {
            progress = true;
            break;
          }
        }
      }
      for (size_t j = 0; j < matrix_.columns.size(); ++j) {
        if (!ColumnWrong(j)) continue;
        for (uint64_t i = 0; i < matrix_.rows; ++i) {
          if (RowWrong(i) && TryByColumn(i, j)) {
            progress = true;
            break;
          }
        }
      }
    }
    for (size_t j = 0; j < matrix_.columns.size(); ++j) {
      if (ColumnWrong(j)) result_.lost |= uint64_t{1} << j;
    }
    return result_;
  }

 private:
  template <typename T>
  T Stored(uint64_t begin, uint64_t index) const {
    T value;
    std::memcpy(&value, sums_ + begin + index * sizeof(T), sizeof(T));
    return value;
  }

  bool RowWrong(uint64_t i) const {
    return lines_.row_hashes[i] != Stored<uint64_t>(layout_.row_hashes, i);
  }
  bool ColumnWrong(size_t j) const {
    return lines_.column_hashes[j] !=
           Stored<uint64_t>(layout_.column_hashes, j);
  }

  // If only this line of its row, or column, is wrong, it is this much off.
  bool TryByRow(uint64_t i, size_t j) {
    Line off = Stored<Line>(layout_.row_sums, i);
    Subtract(lines_.row_sums[i], &off);
    return Try(i, j, off, lines_.row_hashes[i],
               Stored<uint64_t>(layout_.row_hashes, i));
  }
  bool TryByColumn(uint64_t i, size_t j) {
    Line off = Stored<Line>(0, j);
    Subtract(lines_.column_sums[j], &off);
    return Try(i, j, off, lines_.column_hashes[j],
               Stored<uint64_t>(layout_.column_hashes, j));
  }

  bool Try(uint64_t i, size_t j, const Line& off, uint64_t hash,
           uint64_t right) {
    if (!lines_.Holds(i, j)) return false;
    const Line before = lines_.At(i, j);
    Line after = before;
    Add(off, &after);
    if (after == before ||
        hash - lines_.HashOf(before, i, j) + lines_.HashOf(after, i, j) !=
            right) {
      return false;
    }
    lines_.Exchange(i, j, before, after);
    put_(lines_.From(i, j), reinterpret_cast<const std::byte*>(after.data()),
         lines_.BytesAt(i, j));
    ++result_.repaired_lines;
    return true;
  }

  const Matrix& matrix_;
  const SumsLayout layout_;
  const std::byte* const sums_;
  const Put put_;
  Lines lines_;
  Repair result_;
};

template <typename T>
void Copy(const std::vector<T>& from, std::byte* to) {
  std::memcpy(to, from.data(), from.size() * sizeof(T));
}

}  // namespace

void ComputeSums(const Matrix& matrix, uint64_t seed, std::byte* sums) {
  const Lines lines(matrix, seed);
  const SumsLayout layout(matrix.columns.size(), matrix.rows);
  Copy(lines.column_sums, sums);
  Copy(lines.row_sums, sums + layout.row_sums);
  Copy(lines.column_hashes, sums + layout.column_hashes);
  Copy(lines.row_hashes, sums + layout.row_hashes);
}

Repair RepairMatrix(
    const Matrix& matrix, uint64_t seed, const std::byte* sums,
    absl::FunctionRef<void(std::byte* to, const std::byte* from, size_t length)>
        put) {
  return Repairer(matrix, seed, sums, put).Run();
}

}  // namespace kamino::engine
