#include "tests/engine/crash/archapt_image.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace kamino::engine::crash {
namespace {

constexpr int kCheckBits = 16;  // of a checked word
constexpr size_t kLine = 64;
constexpr size_t kSlot = 320;
constexpr size_t kHeader = 16;  // of a block

template <typename T>
T Read(const std::byte* image, size_t at) {
  T value;
  std::memcpy(&value, image + at, sizeof(value));
  return value;
}

}  // namespace

std::vector<CodedObjects> MatricesOf(const std::byte* image) {
  constexpr size_t kLogOffset = 168;
  const auto log = Read<uint64_t>(image, kLogOffset);
  const auto log_bytes = Read<uint64_t>(image, kLogOffset + 8);
  std::vector<CodedObjects> matrices;
  for (size_t slot = 0; slot < log_bytes / 8 / kSlot; ++slot) {
    const size_t at = log + kLine + slot * kSlot;
    const bool sealed = (Read<uint64_t>(image, at) >> kCheckBits) != 0;
    const bool lost = (Read<uint64_t>(image, at + 8) >> kCheckBits) != 0;
    if (!sealed || lost) continue;
    CodedObjects matrix;
    for (uint32_t j = 0; j < Read<uint32_t>(image, at + 24); ++j) {
      const auto id = Read<uint64_t>(image, at + kLine + j * 8);
      const uint64_t units =
          Read<uint64_t>(image, id - kHeader) & 0xffffffffffull;
      matrix.columns.push_back({id, units * kLine - kHeader});
    }
    matrices.push_back(std::move(matrix));
  }
  return matrices;
}

std::set<ObjectId> BeyondRepair(const CodedObjects& matrix,
                                const std::byte* image,
                                const std::byte* truth) {
  std::set<std::pair<size_t, size_t>> wrong;  // row, column
  for (size_t j = 0; j < matrix.columns.size(); ++j) {
    const CodedObjects::Column& column = matrix.columns[j];
    for (size_t at = 0; at < column.bytes; at += kLine) {
      const size_t length = std::min(kLine, column.bytes - at);
      if (std::memcmp(image + column.id + at, truth + column.id + at, length) !=
          0) {
        wrong.insert({at / kLine, j});
      }
    }
  }
  const auto alone = [&](const std::pair<size_t, size_t>& one) {
    size_t in_row = 0;
    size_t in_column = 0;
    for (const auto& other : wrong) {
      if (other.first == one.first) ++in_row;
      if (other.second == one.second) ++in_column;
    }
    return in_row == 1 || in_column == 1;
  };
  for (auto next = wrong.begin(); next != wrong.end();) {
    if (alone(*next)) {
      wrong.erase(next);
      next = wrong.begin();
    } else {
      ++next;
    }
  }
  std::set<ObjectId> beyond;
  for (const auto& [row, column] : wrong) {
    beyond.insert(matrix.columns[column].id);
  }
  return beyond;
}

}  // namespace kamino::engine::crash
