#include "tests/engine/crash/coded_objects.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kamino::engine::crash {
namespace {

constexpr size_t kLine = 64;

}  // namespace

std::set<ObjectId> BeyondRepair(const CodedObjects& coded,
                                const std::byte* image,
                                const std::byte* truth) {
  std::set<std::pair<size_t, size_t>> wrong;  // row, column
  for (size_t j = 0; j < coded.columns.size(); ++j) {
    const CodedObjects::Column& column = coded.columns[j];
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
    beyond.insert(coded.columns[column].id);
  }
  return beyond;
}

}  // namespace kamino::engine::crash
