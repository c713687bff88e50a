#include "lab/tests/crash/archapt_image.h"

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

}  // namespace kamino::engine::crash
